"""kube-scheduler's `Extender`: a web service that filters, scores or binds, in addition to the plugins.

One rule is stricter than upstream: HTTPS without a CA needs `insecure: true`. Without a CA, kube-scheduler silently
skips the verification.

Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types.go, pkg/scheduler/extender.go.
"""

from collections.abc import Set as AbstractSet
from typing import Annotated

from pydantic import Field

from moorage.api.base import ApiModel, ListOf, QualifiedName, Rule, map_list
from moorage.api.duration import GoDuration, parse_duration
from moorage.api.plugin_config import INT32_MAX
from moorage.errors import Location

PATH_LENGTH = 1024
URL_LENGTH = 2048
PEM_LENGTH = 65536
"""Enough for about thirty certificates in base64."""
MANAGED_RESOURCES = 16
DEFAULT_HTTP_TIMEOUT = "5s"
"""Upstream's DefaultExtenderTimeout."""

Verb = Annotated[str, Field(min_length=1, max_length=253)]
FilePath = Annotated[str, Field(min_length=1, max_length=PATH_LENGTH)]
Base64 = Annotated[
    str,
    Field(
        min_length=1,
        max_length=PEM_LENGTH,
        pattern=r"^[A-Za-z0-9+/\s]+={0,2}\s*$",
        json_schema_extra={"format": "byte"},
    ),
]


SERVER_NAME_PATTERN = r"^[A-Za-z0-9_:][-A-Za-z0-9_.:]*$"
"""Matches host names and IP addresses. TLS libraries fail on other characters."""
_USER = r"([^\s/?#@:]+(:[^\s/?#@]*)?@)?"
_HOST = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
_PORT = r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
URL_PREFIX = rf"^https?://{_USER}{_HOST}{_PORT}(/[^\s?#]*)?$"
"""Matches a URL to which a verb can be appended: with a host, a port up to 65535 and a path, but no query."""


class ExtenderTLSConfig(ApiModel):
    """HTTPS settings for an extender. Data fields take precedence over file fields.

    The operator reads the files from its container.
    """

    rules = (
        Rule(
            cel="!has(self.insecure) || !self.insecure || (!has(self.caFile) && !has(self.caData))",
            holds=lambda tls: not (tls.insecure and tls.has_ca),
            message="insecure: true and a CA cannot be used together",
            field="insecure",
        ),
        Rule(
            cel="(has(self.certFile) || has(self.certData)) == (has(self.keyFile) || has(self.keyData))",
            holds=lambda tls: bool(tls.cert_file or tls.cert_data) == bool(tls.key_file or tls.key_data),
            message="a client certificate and its key must be set together",
            locate=lambda tls: [(name,) for name in ("certFile", "certData", "keyFile", "keyData") if tls.sets(name)],
        ),
    )

    insecure: bool = False
    """Whether to accept any certificate of the extender. For tests only."""
    server_name: Annotated[str, Field(min_length=1, max_length=253, pattern=SERVER_NAME_PATTERN)] | None = None
    """Server name that the extender's certificate must have: a host name or an IP address. Default: the host of
    `urlPrefix`."""
    cert_file: FilePath | None = None
    """Path of the client certificate, in PEM format."""
    key_file: FilePath | None = None
    """Path of the key of the client certificate, in PEM format."""
    ca_file: FilePath | None = None
    """Path of the CA certificates that verify the extender's certificate, in PEM format."""
    cert_data: Base64 | None = None
    """Client certificate in PEM format, base64-encoded."""
    key_data: Base64 | None = None
    """Key of the client certificate in PEM format, base64-encoded. Every user who can read this object can read the
    key."""
    ca_data: Base64 | None = None
    """CA certificates that verify the extender's certificate, in PEM format, base64-encoded."""

    def sets(self, name: str) -> bool:
        """Return whether the field with this camelCase name is set."""
        return any(field.alias == name and getattr(self, key) for key, field in type(self).model_fields.items())

    @property
    def has_ca(self) -> bool:
        """Whether there are CA certificates to verify the extender's certificate."""
        return bool(self.ca_file or self.ca_data)


class ExtenderManagedResource(ApiModel):
    """An extended resource that an extender manages."""

    name: QualifiedName
    """Name of the resource, such as example.com/special-gpu."""
    ignored_by_scheduler: bool = False
    """Whether the plugin NodeResourcesFit ignores this resource, so that only the extender checks it."""

    rules = (
        Rule(
            cel=(
                "self.name.contains('/') && !self.name.contains('kubernetes.io/') && !self.name.startsWith('requests.')"
            ),
            holds=lambda resource: is_extended_resource(resource.name),
            message="must be an extended resource, as in example.com/special-gpu",
            field="name",
        ),
    )


class Extender(ApiModel):
    """A web service that the scheduler calls in addition to its plugins."""

    rules = (
        Rule(
            cel="has(self.filterVerb) || has(self.prioritizeVerb) || has(self.bindVerb) || has(self.preemptVerb)",
            holds=lambda extender: bool(
                extender.filter_verb or extender.prioritize_verb or extender.bind_verb or extender.preempt_verb
            ),
            message="an extender needs at least one of filterVerb, prioritizeVerb, bindVerb and preemptVerb",
            reason="FieldValueRequired",
        ),
        Rule(
            cel="!has(self.prioritizeVerb) || (has(self.weight) && self.weight > 0)",
            holds=lambda extender: not extender.prioritize_verb or extender.weight > 0,
            message="an extender with a prioritizeVerb needs a weight above 0",
            field="weight",
        ),
        Rule(
            cel=(
                "!has(self.enableHTTPS) || !self.enableHTTPS || (has(self.tlsConfig) && "
                "((has(self.tlsConfig.insecure) && self.tlsConfig.insecure) || "
                "has(self.tlsConfig.caFile) || has(self.tlsConfig.caData)))"
            ),
            holds=lambda extender: (
                not extender.enable_https
                or (extender.tls_config is not None and (extender.tls_config.insecure or extender.tls_config.has_ca))
            ),
            message="HTTPS needs tlsConfig.caData or caFile, or tlsConfig.insecure: true to go without verification",
            field="tlsConfig",
            reason="FieldValueRequired",
        ),
    )

    url_prefix: Annotated[str, Field(max_length=URL_LENGTH, pattern=URL_PREFIX)]
    """URL of the extender. The scheduler appends a slash and a verb for each call."""
    filter_verb: Verb | None = None
    """Verb of the filter call. If absent, the extender filters no nodes."""
    preempt_verb: Verb | None = None
    """Verb of the preempt call, which can remove candidates for preemption. If absent, there is no such call."""
    prioritize_verb: Verb | None = None
    """Verb of the prioritize call. If absent, the extender scores no nodes."""
    weight: Annotated[int, Field(ge=0, le=INT32_MAX)] = 0
    """Factor for the extender's scores, which are 0 to 10. If `prioritizeVerb` is set, the factor must be above 0."""
    bind_verb: Verb | None = None
    """Verb of the bind call. If absent, moorage binds the pod. Only one extender can bind."""
    enable_https: Annotated[bool, Field(alias="enableHTTPS")] = False
    """Whether to use HTTPS with the settings of `tlsConfig`."""
    tls_config: Annotated[ExtenderTLSConfig | None, Field(alias="tlsConfig")] = None
    """HTTPS settings. Required if `enableHTTPS` is true."""
    http_timeout: Annotated[GoDuration, Field(alias="httpTimeout")] = DEFAULT_HTTP_TIMEOUT
    """Timeout of a call, as a duration such as 500ms, 5s or 1m30s. 0 means 5s."""
    node_cache_capable: bool = False
    """Whether the extender has its own cache of nodes. If true, calls contain only the names of nodes. If false, calls
    contain whole nodes."""
    managed_resources: Annotated[
        tuple[ExtenderManagedResource, ...],
        ListOf,
        Field(max_length=MANAGED_RESOURCES, json_schema_extra=map_list("name")),
    ] = ()
    """Extended resources that the extender manages. The extender is called only for pods that request one of them.
    If empty, the extender is called for all pods."""
    ignorable: bool = False
    """Whether pods are scheduled without the extender when its call fails. If false, the scheduling attempt fails."""

    @property
    def http_timeout_seconds(self) -> float:
        """The timeout of one call in seconds, never 0."""
        return parse_duration(self.http_timeout) or parse_duration(DEFAULT_HTTP_TIMEOUT)

    def is_interested(self, resource_names: AbstractSet[str]) -> bool:
        """Return whether the extender is called for a pod whose containers request or limit these resources.

        An extender without managed resources is called for every pod. Upstream: IsInterested in
        pkg/scheduler/extender.go.
        """
        managed = self.managed_resources
        return not managed or any(resource.name in resource_names for resource in managed)


def is_extended_resource(name: str) -> bool:
    """Return whether a resource is an extended resource (upstream v1helper.IsExtendedResourceName)."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def further_binders(extenders: tuple[Extender, ...]) -> list[Location]:
    """Return the locations of all bind verbs except the first, because only one extender can bind."""
    binders = [index for index, extender in enumerate(extenders) if extender.bind_verb]
    return [("extenders", index, "bindVerb") for index in binders[1:]]


def repeated_resources(extenders: tuple[Extender, ...]) -> list[Location]:
    """Return the locations of resource names that occur earlier in the list of extenders."""
    seen: set[str] = set()
    repeated: list[Location] = []
    for index, extender in enumerate(extenders):
        for position, resource in enumerate(extender.managed_resources):
            if resource.name in seen:
                repeated.append(("extenders", index, "managedResources", position, "name"))
            seen.add(resource.name)
    return repeated

"""kube-scheduler's `Extender`: a web service that filters, ranks, binds or preempts besides the plugins.

Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types.go, pkg/scheduler/extender.go. Stricter than upstream in one
point: HTTPS without a CA must say `insecure: true`, where kube-scheduler silently stops verifying certificates.
"""

from collections.abc import Set as AbstractSet
from typing import Annotated

from pydantic import Field

from moorage.api.base import ApiModel, ListOf, QualifiedName, Rule, map_list
from moorage.api.duration import GoDuration, parse_duration
from moorage.api.plugin_config import INT32_MAX

PATH_LENGTH = 1024
URL_LENGTH = 2048
PEM_LENGTH = 65536
"""Base64 of a bundle of some thirty certificates."""
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


_USER = r"([^\s/?#@:]+(:[^\s/?#@]*)?@)?"
_HOST = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
_PORT = r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
URL_PREFIX = rf"^https?://{_USER}{_HOST}{_PORT}(/[^\s?#]*)?$"
"""An address to which a verb can be appended: a host, a port up to 65535, a path, no query."""


class ExtenderTLSConfig(ApiModel):
    """How an extender is reached over HTTPS. Data wins over files; files are read where moorage runs."""

    rules = (
        Rule(
            cel="!self.insecure || (!has(self.caFile) && !has(self.caData))",
            holds=lambda tls: not (tls.insecure and tls.has_ca),
            message="insecure: true and a CA exclude each other",
            field="insecure",
        ),
        Rule(
            cel="(has(self.certFile) || has(self.certData)) == (has(self.keyFile) || has(self.keyData))",
            holds=lambda tls: bool(tls.cert_file or tls.cert_data) == bool(tls.key_file or tls.key_data),
            message="a client certificate and its key go together",
        ),
    )

    insecure: bool = False
    """True: the extender's certificate is not verified. For tests only."""
    server_name: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """The name that the extender's certificate must carry, where it is not the host of `urlPrefix`."""
    cert_file: FilePath | None = None
    """A file with the client certificate, PEM."""
    key_file: FilePath | None = None
    """A file with the client certificate's key, PEM."""
    ca_file: FilePath | None = None
    """A file with the authorities that the extender's certificate is verified against, PEM."""
    cert_data: Base64 | None = None
    """The client certificate itself: PEM, in base64."""
    key_data: Base64 | None = None
    """The key itself: PEM, in base64. Whoever may read the object may read it."""
    ca_data: Base64 | None = None
    """The authorities themselves: PEM, in base64."""

    @property
    def has_ca(self) -> bool:
        """Whether the extender's certificate can be verified against an authority that was named."""
        return bool(self.ca_file or self.ca_data)


class ExtenderManagedResource(ApiModel):
    """An extended resource that an extender accounts for."""

    name: QualifiedName
    """The resource's name, such as `example.com/special-gpu`."""
    ignored_by_scheduler: bool = False
    """True: NodeResourcesFit no longer looks at this resource; the extender alone accounts for it."""

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
    """A web service that moorage asks besides its own plugins."""

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
            cel="!has(self.prioritizeVerb) || self.weight > 0",
            holds=lambda extender: not extender.prioritize_verb or extender.weight > 0,
            message="an extender with a prioritizeVerb needs a weight above 0",
            field="weight",
        ),
        Rule(
            cel=(
                "!self.enableHTTPS || (has(self.tlsConfig) && "
                "(self.tlsConfig.insecure || has(self.tlsConfig.caFile) || has(self.tlsConfig.caData)))"
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
    """Where the extender is; verbs are appended to it."""
    filter_verb: Verb | None = None
    """The path of the filter call; absent: the extender rules no node out."""
    preempt_verb: Verb | None = None
    """The path of the preempt call; absent: the extender has no say in whose pods make room."""
    prioritize_verb: Verb | None = None
    """The path of the prioritize call; absent: the extender ranks no node."""
    weight: Annotated[int, Field(ge=0, le=INT32_MAX)] = 0
    """What the extender's scores, 0 to 10 each, are multiplied with."""
    bind_verb: Verb | None = None
    """The path of the bind call; absent: moorage binds. At most one extender may bind."""
    enable_https: Annotated[bool, Field(alias="enableHTTPS")] = False
    """True: the extender is spoken to as `tlsConfig` says."""
    tls_config: Annotated[ExtenderTLSConfig | None, Field(alias="tlsConfig")] = None
    """Certificates and authorities for HTTPS."""
    http_timeout: Annotated[GoDuration, Field(alias="httpTimeout")] = DEFAULT_HTTP_TIMEOUT
    """How long a call may take, as a Go duration; 0 means 5s."""
    node_cache_capable: bool = False
    """True: the extender knows the nodes itself, and is sent their names only. False: it is sent whole nodes."""
    managed_resources: Annotated[
        tuple[ExtenderManagedResource, ...],
        ListOf,
        Field(max_length=MANAGED_RESOURCES, json_schema_extra=map_list("name")),
    ] = ()
    """Resources that the extender accounts for; it is then asked only about pods that request one of them."""
    ignorable: bool = False
    """True: when the extender fails, pods are scheduled without it. False: the attempt fails."""

    @property
    def http_timeout_seconds(self) -> float:
        """The timeout of one call, never 0."""
        return parse_duration(self.http_timeout) or parse_duration(DEFAULT_HTTP_TIMEOUT)

    def is_interested(self, resource_names: AbstractSet[str]) -> bool:
        """Return whether the extender is asked about a pod whose containers request or limit these resources.

        An extender without managed resources is asked about every pod. Upstream: IsInterested in
        pkg/scheduler/extender.go.
        """
        managed = self.managed_resources
        return not managed or any(resource.name in resource_names for resource in managed)


def is_extended_resource(name: str) -> bool:
    """Tell whether a name is an extended resource's (upstream v1helper.IsExtendedResourceName)."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def repeated_resources(extenders: tuple[Extender, ...]) -> set[str]:
    """Return the resources that more than one entry of these extenders manages."""
    seen: set[str] = set()
    repeated: set[str] = set()
    for extender in extenders:
        for resource in extender.managed_resources:
            (repeated if resource.name in seen else seen).add(resource.name)
    return repeated

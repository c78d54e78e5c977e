"""Refuses kubeconfigs with fields that moorage cannot honour. Each error names the file and the field."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from yarl import URL

from moorage.errors import CredentialsError
from moorage.runtime.client.proxy import Proxy

if TYPE_CHECKING:
    from moorage.runtime.client.kubeconfig import (
        ChosenContext,
        ExecConfig,
        KubeconfigCluster,
        KubeconfigEntry,
        KubeconfigUser,
    )

T = TypeVar("T")

SCHEMES = frozenset({"http", "https"})
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
INTERACTIVE_MODES = frozenset({"Never", "IfAvailable", "Always"})


def check_context(chosen: ChosenContext) -> None:
    """Raise CredentialsError for the first field that cannot be honoured."""
    _check_cluster(chosen.cluster)
    _check_user(chosen.user)
    if chosen.cluster.value.uses_tls and not chosen.user.value.has_credentials:
        raise CredentialsError(
            f"{chosen.user.where} of the kubeconfig {chosen.user.file} has no credentials; "
            "set token, client-certificate and client-key, or exec"
        )


def check_same_server(first: ChosenContext, chosen: ChosenContext) -> None:
    """Raise CredentialsError if the server or the impersonated user has changed, because that needs a restart."""
    for name in ("server", "proxy_url", "tls_server_name"):
        _check_same(name, first.cluster, chosen.cluster)
    for name in ("as_", "as_uid", "as_groups", "as_user_extra"):
        _check_same(name, first.user, chosen.user)


def _check_same(name: str, first: KubeconfigEntry[T], now: KubeconfigEntry[T]) -> None:
    if getattr(first.value, name) != getattr(now.value, name):
        field = now.field(name.strip("_").replace("_", "-"))
        raise CredentialsError(f"{field} has changed; restart moorage to use it")


def _check_cluster(entry: KubeconfigEntry[KubeconfigCluster]) -> None:
    cluster = entry.value
    _check_server(entry.field("server"), cluster)
    if cluster.proxy_url:
        Proxy.parse(entry.field("proxy-url"), cluster.proxy_url)
    _check_one_of(entry, "certificate-authority")
    if cluster.insecure_skip_tls_verify and (cluster.certificate_authority or cluster.certificate_authority_data):
        raise CredentialsError(
            f"{entry.field('insecure-skip-tls-verify')} is true, but certificate-authority is set too; remove one"
        )


def _check_server(field: str, cluster: KubeconfigCluster) -> None:
    example = "an address such as https://10.0.0.1:6443"
    try:
        url = URL(cluster.address)
        is_valid = bool(cluster.server) and url.scheme in SCHEMES and bool(url.host) and url.port != 0
    except ValueError as error:
        raise CredentialsError(f"{field} must be {example}, not {cluster.server!r}: {error}") from error
    if url.user is not None:
        raise CredentialsError(f"{field} holds a user; set username and password of the user instead")
    if not is_valid:
        raise CredentialsError(f"{field} must be {example}, not {cluster.server!r}")


def _check_one_of(entry: KubeconfigEntry[KubeconfigCluster] | KubeconfigEntry[KubeconfigUser], name: str) -> None:
    attribute = name.replace("-", "_")
    if getattr(entry.value, attribute) and getattr(entry.value, f"{attribute}_data"):
        raise CredentialsError(f"{entry.field(name)} and {name}-data are both set; remove one")


def _check_user(entry: KubeconfigEntry[KubeconfigUser]) -> None:
    user = entry.value
    _check_one_of(entry, "client-certificate")
    _check_one_of(entry, "client-key")
    if user.has_certificate != bool(user.client_key or user.client_key_data):
        raise CredentialsError(f"{entry.field('client-certificate')} and client-key must be set together")
    if (user.token or user.token_file) and (user.username or user.password):
        token = entry.field("token" if user.token else "tokenFile")
        raise CredentialsError(f"{token} and username are both set; remove one")
    if user.auth_provider is not None:
        raise CredentialsError(
            f"{entry.field('auth-provider')} is not supported; use exec with a credential plugin, such as kubelogin"
        )
    if user.exec:
        _check_exec(entry, user.exec)


def _check_exec(entry: KubeconfigEntry[KubeconfigUser], config: ExecConfig) -> None:
    if not config.command or not config.api_version:
        raise CredentialsError(f"{entry.field('exec')} must set command and apiVersion")
    if config.api_version not in EXEC_VERSIONS:
        raise CredentialsError(
            f"{entry.field('exec.apiVersion')} must be {' or '.join(EXEC_VERSIONS)}, not {config.api_version!r}; "
            "update the plugin"
        )
    mode = config.interactive_mode or ("IfAvailable" if config.api_version != EXEC_VERSIONS[0] else "")
    if mode not in INTERACTIVE_MODES:
        raise CredentialsError(f"{entry.field('exec.interactiveMode')} must be Never or IfAvailable, not {mode!r}")
    if mode == "Always":
        raise CredentialsError(
            f"{entry.field('exec.interactiveMode')} is Always, but moorage has no terminal; use another plugin"
        )
    if not all(variable.name for variable in config.env):
        raise CredentialsError(f"{entry.field('exec.env')} has a variable without a name")

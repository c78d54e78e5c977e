"""Refuses fields of a kubeconfig that moorage cannot honour, by file and field, before they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from moorage.errors import CredentialsError

if TYPE_CHECKING:
    from moorage.runtime.client.kubeconfig import ChosenContext, KubeconfigCluster, KubeconfigEntry, KubeconfigUser

SCHEMES = frozenset({"http", "https"})


def check_context(chosen: ChosenContext) -> None:
    """Raise CredentialsError for the first field that cannot be honoured."""
    _check_cluster(chosen.cluster)
    _check_user(chosen.user)


def _check_cluster(entry: KubeconfigEntry[KubeconfigCluster]) -> None:
    _check_address(entry.field("server"), entry.value.server, "an address such as https://10.0.0.1:6443")
    if entry.value.proxy_url:
        _check_address(entry.field("proxy-url"), entry.value.proxy_url, "an HTTP proxy such as http://10.0.0.1:3128")


def _check_user(entry: KubeconfigEntry[KubeconfigUser]) -> None:
    user = entry.value
    has_certificate = bool(user.client_certificate or user.client_certificate_data)
    if has_certificate != bool(user.client_key or user.client_key_data):
        raise CredentialsError(f"{entry.field('client-certificate')} and client-key must be set together")
    if user.auth_provider is not None:
        raise CredentialsError(
            f"{entry.field('auth-provider')} is not supported; use exec with a credential plugin, such as kubelogin"
        )
    if user.exec and not (user.exec.command and user.exec.api_version):
        raise CredentialsError(f"{entry.field('exec')} must set command and apiVersion")
    if user.exec and user.exec.interactive_mode == "Always":
        raise CredentialsError(
            f"{entry.field('exec')} has interactiveMode Always, but moorage has no terminal; use a plugin without it"
        )


def _check_address(field: str, address: str, example: str) -> None:
    try:
        url = urlsplit(address)
        is_valid = url.scheme in SCHEMES and bool(url.hostname) and url.port != 0
    except ValueError as error:
        raise CredentialsError(f"{field} must be {example}, not {address!r}: {error}") from error
    if not is_valid:
        raise CredentialsError(f"{field} must be {example}, not {address!r}")

"""Reads the credentials of a kubeconfig's user: from the kubeconfig, from files that it names, or from a plugin."""

from __future__ import annotations

import logging
import os
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from moorage.errors import CredentialsError
from moorage.runtime.client.authentication import basic, bearer, read_bearer
from moorage.runtime.client.exec_plugin import PluginCluster, run_plugin
from moorage.runtime.tls.pem import Pem
from moorage.runtime.tls.tls_contexts import ClientTls

if TYPE_CHECKING:
    from moorage.runtime.client.exec_plugin import PluginCredential
    from moorage.runtime.client.kubeconfig import (
        ChosenContext,
        ExecConfig,
        KubeconfigCluster,
        KubeconfigEntry,
        KubeconfigUser,
    )
    from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

EXPIRY_SKEW_SECONDS = 120.0
"""A plugin's credential is replaced this long before it expires."""
EXPIRY_SKEW_SHARE = 0.25
"""For a credential with a short life, this share of its life is used instead of EXPIRY_SKEW_SECONDS."""
CLUSTER_EXTENSION = "client.authentication.k8s.io/exec"
"""The extension of a cluster that becomes the `config` of its PluginCluster."""
NEVER, ALWAYS = float("inf"), float("-inf")


@dataclass(frozen=True, slots=True)
class Identity:
    """A user's credentials as they were last read."""

    header: str | None
    """The value of Authorization; None if the header is not sent."""
    tls: ClientTls
    stale_at: float
    """The time to read the credentials again even if no file has changed, in seconds since the epoch."""


async def identity_of(chosen: ChosenContext, clock: Clock) -> Identity:
    """Read the credentials of the context, or run its plugin. Raise CredentialsError if that fails."""
    identity = await _plugin_identity(chosen, clock) if chosen.runs_plugin else _written_identity(chosen)
    if chosen.cluster.value.uses_tls:
        identity.tls.read()
    return identity


def _written_identity(chosen: ChosenContext) -> Identity:
    entry, user = chosen.user, chosen.user.value
    certificate = _pem(entry, "client-certificate", user.client_certificate_data, user.client_certificate)
    key = _pem(entry, "client-key", user.client_key_data, user.client_key)
    return Identity(_header_of(entry), _tls_of(chosen.cluster, certificate, key), ALWAYS if user.token_file else NEVER)


def _header_of(entry: KubeconfigEntry[KubeconfigUser]) -> str | None:
    """Return the Authorization header.

    Prefer the token file. If the file cannot be read, use the token in the kubeconfig.
    """
    user = entry.value
    if user.token_file:
        try:
            return read_bearer(Path(entry.path(user.token_file)))
        except CredentialsError as error:
            if not user.token:
                raise
            logger.debug("%s is used: %s", entry.field("token"), error)
    if user.token:
        return bearer(entry.field("token"), user.token)
    if user.username or user.password:
        return basic(user.username, user.password)
    return None


async def _plugin_identity(chosen: ChosenContext, clock: Clock) -> Identity:
    entry, config = chosen.user, chosen.user.value.exec
    assert config
    field, started = entry.field("exec"), clock.time()
    cluster = _plugin_cluster(chosen.cluster) if config.provide_cluster_info else None
    try:
        credential = await run_plugin(_with_path(entry, config), cluster)
    except CredentialsError as error:
        raise CredentialsError(f"{field}: {error}") from error
    certificate, key = _plugin_certificate(field, credential)
    return Identity(
        header=bearer(f"the token of {field}", credential.token) if credential.token else None,
        tls=_tls_of(chosen.cluster, certificate, key),
        stale_at=NEVER if credential.expires_at is None else _renewal_time(started, credential.expires_at),
    )


def _renewal_time(started: float, expires_at: float) -> float:
    """Return when to replace a credential: EXPIRY_SKEW_SECONDS before it expires, or later if its life is short."""
    life_seconds = max(expires_at - started, 0.0)
    return expires_at - min(EXPIRY_SKEW_SECONDS, life_seconds * EXPIRY_SKEW_SHARE)


def _with_path(entry: KubeconfigEntry[KubeconfigUser], config: ExecConfig) -> ExecConfig:
    """Resolve a command with a slash against the kubeconfig's folder, as in kubectl. Leave other commands unchanged."""
    return replace(config, command=entry.path(config.command)) if os.sep in config.command else config


def _plugin_cluster(entry: KubeconfigEntry[KubeconfigCluster]) -> PluginCluster:
    cluster = entry.value
    authority = _authority_of(entry)
    return PluginCluster(
        server=cluster.server,
        tls_server_name=cluster.tls_server_name,
        insecure_skip_tls_verify=cluster.insecure_skip_tls_verify,
        certificate_authority_data=b64encode(authority.read()).decode() if authority else "",
        proxy_url=cluster.proxy_url,
        disable_compression=cluster.disable_compression,
        config=next((one.extension for one in cluster.extensions if one.name == CLUSTER_EXTENSION), None),
    )


def _plugin_certificate(field: str, credential: PluginCredential) -> tuple[Pem | None, Pem | None]:
    if not credential.certificate or not credential.key:
        return None, None
    pems = (("certificate", credential.certificate), ("key", credential.key))
    certificate, key = (Pem(f"the {name} of {field}", data=b64encode(pem.encode()).decode()) for name, pem in pems)
    return certificate, key


def _tls_of(entry: KubeconfigEntry[KubeconfigCluster], certificate: Pem | None, key: Pem | None) -> ClientTls:
    return ClientTls(_authority_of(entry), certificate, key, verify=not entry.value.insecure_skip_tls_verify)


def _authority_of(entry: KubeconfigEntry[KubeconfigCluster]) -> Pem | None:
    cluster = entry.value
    return _pem(entry, "certificate-authority", cluster.certificate_authority_data, cluster.certificate_authority)


def _pem(
    entry: KubeconfigEntry[KubeconfigCluster] | KubeconfigEntry[KubeconfigUser], name: str, data: str, path: str
) -> Pem | None:
    """Return the PEM of a field; None if the field is not set. Data is preferred to a file, as in client-go."""
    if data:
        return Pem(entry.field(f"{name}-data"), data=data)
    return Pem(entry.field(name), path=entry.path(path)) if path else None

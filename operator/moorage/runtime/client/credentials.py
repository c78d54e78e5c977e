"""Who we are to the API server: kubeconfig or service account, brought to one plain form.

The only module that imports `kubernetes`, and only once it is needed. No model of it leaves this module.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from moorage.errors import CredentialsError
from moorage.runtime.client.exec_plugin import run_plugin
from moorage.runtime.client.kubeconfig import (
    AUTHORITY_DATA,
    CERTIFICATE_DATA,
    CLUSTER,
    USER,
    check_cluster,
    check_files,
    check_user,
    field_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
REREAD_SECONDS = 60.0
"""How old a token may get before it is read again; client-go rereads projected tokens each minute."""
EXPIRY_SKEW_SECONDS = 120.0
"""How long before its expiry a plugin's token is replaced."""
DEFAULT_NAMESPACE = "default"


class Tokens(Protocol):
    """Where the Authorization header comes from."""

    async def current(self) -> str | None:
        """Return the header's value, None where none is sent."""

    async def renew(self) -> str | None:
        """Read it anew: the API server has answered 401."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """What a TLS context is made of."""

    ca_file: str | None = None
    """None: the system's authorities."""
    cert_file: str | None = None
    key_file: str | None = None
    verify: bool = True
    ca_source: str = ""
    """Where `ca_file` was written from, for users; empty where it is a file of theirs. So is `cert_source`."""
    cert_source: str = ""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The API server's address, and what opens it."""

    server: str
    """Without a trailing slash, such as `https://10.0.0.1:6443`."""
    tokens: Tokens
    tls: TlsFiles | None = None
    """None for plain HTTP."""
    tls_server_name: str | None = None
    proxy: str | None = None
    namespace: str = DEFAULT_NAMESPACE
    """The service account's namespace, or the context's."""


async def load_credentials(
    kubeconfig: str | None, clock: Clock, *, context: str | None = None, environ: Mapping[str, str] = os.environ
) -> Credentials:
    """Find credentials: the file that is named, else `$KUBECONFIG`, else the service account, else `~/.kube/config`.

    Raises CredentialsError with the place that was looked at and what is wrong there.
    """
    chosen = kubeconfig or environ.get("KUBECONFIG")
    if chosen:
        return await _from_kubeconfig(chosen, context, clock)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return _from_service_account(environ, clock)
    home = Path(environ.get("HOME", ""), ".kube", "config")
    if not home.is_file():  # noqa: ASYNC240 - once, at the start
        raise CredentialsError(
            f"no API server is known: there is no --kubeconfig, no $KUBECONFIG, no {home}, and this is no pod"
        )
    return await _from_kubeconfig(str(home), context, clock)


class StaticToken:
    """A header that never changes; None for none."""

    def __init__(self, header: str | None) -> None:
        """Hold the header's value, such as `Bearer abc`."""
        self._header = header

    async def current(self) -> str | None:
        """Return it."""
        return self._header

    async def renew(self) -> str | None:
        """Return it: there is no other."""
        return self._header


class FileToken:
    """A bearer token in a file that somebody else rotates."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Read `path` when it is first asked for, and again each REREAD_SECONDS."""
        self._path = path
        self._clock = clock
        self._header: str | None = None
        self._read_at = 0.0

    async def current(self) -> str | None:
        """Return the header of the token as it was at most REREAD_SECONDS ago."""
        if self._header is not None and self._clock.monotonic() - self._read_at < REREAD_SECONDS:
            return self._header
        return await self.renew()

    async def renew(self) -> str | None:
        """Read the file now; an unreadable one leaves the last token in use."""
        self._read_at = self._clock.monotonic()
        try:
            token = self._path.read_text(encoding="utf-8").strip()
        except OSError as error:
            if self._header is None:
                raise CredentialsError(f"the token file {self._path} cannot be read: {error.strerror}") from error
            logger.warning("The token file %s cannot be read, the last token stays in use: %s", self._path, error)
            return self._header
        if token:
            self._header = f"Bearer {token}"
        return self._header


class KubeconfigToken:
    """The token of a kubeconfig user: written there, from a token file, or given by a plugin (exec, OIDC)."""

    def __init__(self, path: str, context: str | None, clock: Clock) -> None:
        """Nothing is read yet: see `load`."""
        self._path = path
        self._context = context
        self._clock = clock
        self._header: str | None = None
        self._stale_at = float("inf")

    async def load(self) -> _Loaded:
        """Read the kubeconfig, run its plugin, keep the token, and return what was found."""
        loaded = await _read_kubeconfig(self._path, self._context, self._clock.time())
        header = loaded.configuration.api_key.get("BearerToken")
        self._header = header and header.strip()  # token files end with a newline
        self._stale_at = self._clock.monotonic() + loaded.good_for_seconds
        return loaded

    async def current(self) -> str | None:
        """Return the header; one that can change or expires is looked up again in time."""
        if self._clock.monotonic() < self._stale_at:
            return self._header
        return await self.renew()

    async def renew(self) -> str | None:
        """Read everything again; what cannot be read leaves the last token in use."""
        self._stale_at = self._clock.monotonic() + REREAD_SECONDS
        try:
            await self.load()
        except CredentialsError as error:
            logger.warning("The last token stays in use: %s", error)
        return self._header


def _from_service_account(environ: Mapping[str, str], clock: Clock) -> Credentials:
    from kubernetes.aio.client import Configuration
    from kubernetes.aio.config.config_exception import ConfigException
    from kubernetes.aio.config.incluster_config import InClusterConfigLoader

    token, authority = SERVICE_ACCOUNT / "token", SERVICE_ACCOUNT / "ca.crt"
    configuration = Configuration()
    try:
        loader = InClusterConfigLoader(str(token), str(authority), try_refresh_token=False, environ=environ)  # type: ignore[no-untyped-call]
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    except ConfigException as error:
        raise CredentialsError(f"the service account under {SERVICE_ACCOUNT} is unusable: {error}") from error
    namespace = SERVICE_ACCOUNT / "namespace"
    return Credentials(
        server=configuration.host.rstrip("/"),
        tokens=FileToken(token, clock),
        tls=TlsFiles(ca_file=str(authority)),
        namespace=namespace.read_text(encoding="utf-8").strip() if namespace.is_file() else DEFAULT_NAMESPACE,
    )


async def _from_kubeconfig(path: str, context: str | None, clock: Clock) -> Credentials:
    tokens = KubeconfigToken(path, context, clock)
    loaded = await tokens.load()
    configuration = loaded.configuration
    tls = TlsFiles(
        ca_file=configuration.ssl_ca_cert,
        cert_file=configuration.cert_file,
        key_file=configuration.key_file,
        verify=configuration.verify_ssl,
        ca_source=loaded.ca_source,
        cert_source=loaded.cert_source,
    )
    server = configuration.host.rstrip("/")
    return Credentials(
        server=server,
        tokens=tokens,
        tls=tls if server.startswith("https://") else None,
        tls_server_name=configuration.tls_server_name,
        proxy=configuration.proxy,
        namespace=loaded.namespace,
    )


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A kubeconfig's current context, as `kubernetes` reads it."""

    configuration: Any
    namespace: str
    good_for_seconds: float
    """When the token has to be looked up again, from now; infinite where only a 401 would tell."""
    ca_source: str
    """The field that holds the authority; empty where it names a file. So is `cert_source`."""
    cert_source: str


async def _read_kubeconfig(path: str, context: str | None, now: float) -> _Loaded:
    from kubernetes.aio.client import Configuration
    from kubernetes.aio.config.config_exception import ConfigException
    from kubernetes.aio.config.kube_config import KubeConfigLoader, KubeConfigMerger

    check_files(path)
    configuration = Configuration()
    try:
        loader: Any = KubeConfigLoader(KubeConfigMerger(path).config, context, config_base_path=None)  # type: ignore[no-untyped-call]
        node = loader._user  # noqa: SLF001 - the loader takes all that it finds
        user = getattr(node, "value", node) or {}
        cluster = getattr(loader._cluster, "value", loader._cluster)  # noqa: SLF001 - the same
        check_cluster(path, cluster)
        check_user(path, user)
        expires_at = await _ask_plugin(path, user)
        await loader.load_and_set(configuration)
    except (ConfigException, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise CredentialsError(f"the kubeconfig {path} cannot be used: {error}") from error
    namespace = (loader.current_context.get("context") or {}).get("namespace") or DEFAULT_NAMESPACE
    return _Loaded(
        configuration,
        namespace,
        _good_for_seconds(loader, expires_at, now),
        field_of(path, CLUSTER, AUTHORITY_DATA) if cluster.get(AUTHORITY_DATA) else "",
        field_of(path, USER, CERTIFICATE_DATA) if user.get(CERTIFICATE_DATA) else "",
    )


async def _ask_plugin(path: str, user: dict[str, Any]) -> float | None:
    """Put what the user's plugin gives in its place, if there is one; return when that expires, if it does."""
    plugin = user.pop("exec", None)
    if plugin is None or "auth-provider" in user:
        return None
    try:
        credential = await run_plugin(plugin)
    except CredentialsError as error:
        raise CredentialsError(f"the credential plugin of the kubeconfig {path} failed: {error}") from error
    user.pop("tokenFile", None)
    user |= credential.as_user()
    return credential.expires_at


def _good_for_seconds(loader: Any, expires_at: float | None, now: float) -> float:
    """Judge by where the token came from: a plugin that told its expiry, a file or provider, or the kubeconfig."""
    if expires_at is not None:
        return max(REREAD_SECONDS, expires_at - now - EXPIRY_SKEW_SECONDS)
    user = loader._user or ()  # noqa: SLF001 - the loader does not say otherwise where the token came from
    return REREAD_SECONDS if "tokenFile" in user or loader.provider else float("inf")

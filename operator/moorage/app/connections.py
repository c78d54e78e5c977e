"""The process's clients of the API server: fenced for scheduling, unfenced for the lease, and a session for kopf."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from ssl import SSLContext
from typing import Any
from urllib.parse import urlsplit

from moorage.runtime.client.credentials import Credentials, load_credentials
from moorage.runtime.client.fence import always
from moorage.runtime.client.kube import KubeClient
from moorage.runtime.client.missing_rights import MissingRights
from moorage.runtime.client.pooled_transport import open_transport
from moorage.runtime.client.rate_limiter import RateLimiter
from moorage.runtime.client.reachability import ObservedTransport, Reachability
from moorage.runtime.client.server_access import AccessAcrossThreads, ServerAccess
from moorage.runtime.client.session_transport import open_session
from moorage.runtime.client.transport import Transport
from moorage.runtime.clock import Clock
from moorage.runtime.extenders.extender_context import ExtenderContext, open_extender_session
from moorage.runtime.metrics.client_metrics import ClientMetrics
from moorage.runtime.metrics.extender_metrics import ExtenderMetrics
from moorage.runtime.pod_reader import read_pod
from moorage.runtime.serving.health_server import is_loopback
from moorage.runtime.tls.tls_contexts import ClientTls
from moorage.settings import Settings

logger = logging.getLogger(__name__)

WATCH_CONNECTIONS = 20
SPARE_CONNECTIONS = 16
"""The number of connections for events, statuses and lists. Watches and bindings have further connections."""
UNFENCED_CONNECTIONS = 2
KOPF_CONNECTIONS = 4


async def find_credentials(settings: Settings, clock: Clock, environ: Mapping[str, str] = os.environ) -> Credentials:
    """Load the credentials that the settings name. Log the API server's address and the proxy."""
    kubeconfig = str(settings.kubeconfig) if settings.kubeconfig else None
    credentials = await load_credentials(kubeconfig, clock, context=settings.context, environ=environ)
    way = f"through the proxy {credentials.proxy}" if credentials.proxy else "without a proxy"
    logger.info("The API server is %s, %s; the credentials are from %s", credentials.server, way, credentials.source)
    if credentials.tls is None and not is_loopback(urlsplit(credentials.server).hostname or ""):
        logger.warning("The connection to %s is not encrypted; use an address with https://", credentials.server)
    if credentials.tls and not credentials.tls().verify:
        logger.warning(
            "The certificate of %s is not verified, because insecure-skip-tls-verify is set; set certificate-authority "
            "instead",
            credentials.server,
        )
    return credentials


class Connections:
    """The connections to one API server; `stack` closes them."""

    def __init__(
        self,
        settings: Settings,
        credentials: Credentials,
        clock: Clock,
        metrics: ClientMetrics,
        stack: AsyncExitStack,
    ) -> None:
        """Let all clients share one `ServerAccess` and one `Reachability`, which logs an outage of the server once.

        Raise CredentialsError if no TLS context can be built.
        """
        self.stack = stack
        self._settings = settings
        self._access = ServerAccess(credentials, clock, strict=settings.tls_strict)
        self._clock = clock
        self._metrics = metrics
        self.reachability = Reachability(credentials.server)
        self.rights = MissingRights()

    async def open_client(self, may_write: Callable[[], bool]) -> KubeClient:
        """Open a rate-limited client for everything except the lease. It writes only if `may_write` returns True."""
        settings = self._settings
        limiter = RateLimiter(settings.qps, settings.burst, self._clock)
        connections = WATCH_CONNECTIONS + settings.parallelism + SPARE_CONNECTIONS
        transport = await self._open_transport(connections, may_write)
        return KubeClient(transport, self._clock, limiter, self._metrics, may_write)

    async def open_unfenced_client(self) -> KubeClient:
        """Open a client that writes on a standby replica too.

        It renews the lease, and authorizes callers of the endpoints.
        """
        transport = await self._open_transport(UNFENCED_CONNECTIONS, always)
        return KubeClient(transport, self._clock, RateLimiter(0, 0, self._clock), self._metrics)

    async def open_extender_context(
        self, client: KubeClient, metrics: ExtenderMetrics, may_write: Callable[[], bool]
    ) -> ExtenderContext:
        """Open the session for extenders, which never get the credentials for the API server."""
        system_tls = ClientTls().context(strict=self._settings.tls_strict)
        return ExtenderContext(
            session=await self.stack.enter_async_context(open_extender_session(system_tls)),
            clock=self._clock,
            metrics=metrics,
            may_write=may_write,
            read_pod=partial(read_pod, client),
            policy_files=self._settings.policy_extender_tls_dir,
            tls_strict=self._settings.tls_strict,
        )

    def kopf_session(self) -> Callable[[], Awaitable[tuple[Any, str]]]:
        """Return a function that opens kopf's session in kopf's event loop. The session shares the credentials."""
        access = AccessAcrossThreads(self._access, asyncio.get_running_loop())

        async def open_kopf_session() -> tuple[Any, str]:
            return open_session(access, KOPF_CONNECTIONS), access.credentials.server

        return open_kopf_session

    async def _open_transport(self, connection_limit: int, may_write: Callable[[], bool]) -> Transport:
        opening = open_transport(self._access, connection_limit, may_write)
        transport = await self.stack.enter_async_context(opening)
        return ObservedTransport(transport, self.reachability, self.rights)


def serving_tls(settings: Settings) -> SSLContext:
    """Return the TLS context of the endpoints, with a self-signed certificate if none is given."""
    from moorage.runtime.serving.certificate import serving_context  # imports cryptography, which only HTTPS needs

    names = [socket.gethostname(), "localhost", "127.0.0.1"]
    if settings.bind_address not in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        names.append(settings.bind_address)
    cert, key = settings.tls_cert_file, settings.tls_private_key_file
    return serving_context(str(cert) if cert else None, str(key) if key else None, names)

"""The process's ways to the API server: fenced for scheduling, unfenced for the lease, and one for kopf's thread."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any

from moorage.runtime.api_resources import POD
from moorage.runtime.client.client_tls import TlsContexts
from moorage.runtime.client.credentials import Credentials, load_credentials
from moorage.runtime.client.kube import KubeClient, RequestObserver, Transport
from moorage.runtime.client.pooled_transport import open_transport
from moorage.runtime.client.rate_limiter import RateLimiter
from moorage.runtime.client.reachability import Reachability, TellingTransport
from moorage.runtime.client.transport import open_session
from moorage.runtime.clock import Clock, SystemClock
from moorage.runtime.extenders.extender_context import ExtenderContext, ExtenderObserver, open_extender_session
from moorage.settings import Settings

WATCHES = 20
SPARE_CONNECTIONS = 16
"""Connections beyond the watches and the binds: events, statuses, lists."""
UNFENCED_CONNECTIONS = 2
KOPF_CONNECTIONS = 4


async def find_credentials(settings: Settings, clock: Clock) -> Credentials:
    """Load the credentials that the settings point at."""
    kubeconfig = str(settings.kubeconfig) if settings.kubeconfig else None
    return await load_credentials(kubeconfig, clock, context=settings.context)


@dataclass(slots=True)
class Connections:
    """Opens clients that all end with `stack`."""

    settings: Settings
    credentials: Credentials
    clock: Clock
    observer: RequestObserver
    stack: AsyncExitStack
    _reachability: Reachability = field(init=False)

    def __post_init__(self) -> None:
        """All clients talk to one server, so they tell of its outages together."""
        self._reachability = Reachability(self.credentials.server)

    async def main_client(self, may_write: Callable[[], bool]) -> KubeClient:
        """Open the client for everything but the lease: within the limits, and fenced by `may_write`."""
        settings = self.settings
        limiter = RateLimiter(settings.qps, settings.burst, self.clock)
        transport = await self._transport(WATCHES + settings.parallelism + SPARE_CONNECTIONS)
        return KubeClient(transport, self.clock, limiter, self.observer, may_write)

    async def unfenced_client(self) -> KubeClient:
        """Open a client without limits and for standbys too: for the lease, and to ask who may read what is served."""
        transport = await self._transport(UNFENCED_CONNECTIONS)
        return KubeClient(transport, self.clock, RateLimiter(0, 0, self.clock), self.observer)

    async def extender_ports(
        self, client: KubeClient, observer: ExtenderObserver, may_write: Callable[[], bool]
    ) -> ExtenderContext:
        """Open the way to extenders, which never see the credentials for the API server."""
        return ExtenderContext(
            session=await self.stack.enter_async_context(open_extender_session()),
            clock=self.clock,
            observer=observer,
            may_write=may_write,
            read_pod=lambda pod: client.get(POD.path(pod.name, pod.namespace)),
        )

    async def _transport(self, connection_limit: int) -> Transport:
        tls = tls_of(self.settings, self.credentials, self.clock)
        transport = await self.stack.enter_async_context(open_transport(self.credentials, connection_limit, tls))
        return TellingTransport(transport, self._reachability)


def tls_of(settings: Settings, credentials: Credentials, clock: Clock) -> TlsContexts | None:
    """Make the TLS contexts for an API server, None where it speaks plain HTTP."""
    return TlsContexts(credentials.tls, clock, strict=settings.tls_strict) if credentials.tls else None


def kopf_session(settings: Settings) -> Callable[[], Awaitable[tuple[Any, str]]]:
    """Return what opens kopf's session, in kopf's own event loop, with credentials of its own."""

    async def open_it() -> tuple[Any, str]:
        clock = SystemClock()
        credentials = await find_credentials(settings, clock)
        tls = tls_of(settings, credentials, clock)
        session = open_session(credentials.tokens, KOPF_CONNECTIONS, tls.current() if tls else None)
        return session, credentials.server

    return open_it


def serving_tls(settings: Settings) -> SSLContext:
    """Make the context that the endpoints are served with, self-signed where no certificate is given."""
    from moorage.runtime.serving.certificate import serving_context

    names = [socket.gethostname(), "localhost", "127.0.0.1"]
    if settings.bind_address not in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        names.append(settings.bind_address)
    cert, key = settings.tls_cert_file, settings.tls_private_key_file
    return serving_context(str(cert) if cert else None, str(key) if key else None, names)

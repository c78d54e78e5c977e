"""The address of the API server and the current credentials. moorage's clients and kopf's session share them.

Tokens, client certificates and authorities change while the process runs. Each request takes the current credentials
from here, so that no client keeps old credentials.
"""

from __future__ import annotations

import asyncio
import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from aiohttp import ClientSSLError

from moorage.runtime.tls.tls_contexts import ClientTls, TlsContexts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from ssl import SSLContext

    from moorage.runtime.client.credentials import Credentials
    from moorage.runtime.clock import Clock

HANDSHAKE_FAILURES = (ssl.SSLError, ClientSSLError)
"""The exceptions for a failed TLS handshake. The request was not sent."""
SYSTEM_TLS = ClientTls()
"""The settings for an HTTPS proxy in front of a server that is reached over plain HTTP."""


class Presented(NamedTuple):
    """The credentials that a request presents."""

    header: str | None
    """The value of Authorization; None if the header is not sent."""
    tls: SSLContext | None
    """The context of the connection, with the client certificate and the trusted authorities; None for plain HTTP."""


class Access(Protocol):
    """The address of the API server, and the current credentials for it."""

    @property
    def credentials(self) -> Credentials:
        """The address, the proxy and the headers."""

    async def current(self) -> Presented:
        """Return the current credentials."""

    async def renewed(self, refused: Presented) -> Presented:
        """Return the credentials to use after the API server rejected `refused`, or the TLS handshake with it failed.

        If the current credentials differ from `refused`, do not read them again.
        """


class HasStatus(Protocol):
    """An HTTP answer."""

    @property
    def status(self) -> int:
        """The HTTP status code."""


A = TypeVar("A", bound=HasStatus)


async def send_authenticated(access: Access, send: Callable[[Presented], Awaitable[A]]) -> A:
    """Call `send` with the current credentials. If they are rejected and renewing changes them, call `send` again."""
    presented = await access.current()
    try:
        answer = await send(presented)
    except HANDSHAKE_FAILURES:
        renewed = await access.renewed(presented)
        if renewed == presented:
            raise
        return await send(renewed)
    if answer.status != HTTPStatus.UNAUTHORIZED:
        return answer
    renewed = await access.renewed(presented)
    return answer if renewed == presented else await send(renewed)


class ServerAccess:
    """The access in the event loop that owns the credentials."""

    def __init__(self, credentials: Credentials, clock: Clock, *, strict: bool = False) -> None:
        """Build the TLS context; raise UnusableTls that names the field. `ClientTls.context` explains `strict`."""
        self.credentials = credentials
        settings = credentials.tls
        if settings is None and credentials.proxy and credentials.proxy.url.scheme == "https":
            settings = _system_tls
        self._contexts: TlsContexts | None = None
        if settings is not None:
            subject = f"The TLS configuration for {credentials.server}"
            self._contexts = TlsContexts(settings, subject, clock, strict=strict)
            self._contexts.current()

    def tls(self) -> SSLContext | None:
        """Return the current TLS context; None for plain HTTP."""
        return self._contexts.current() if self._contexts else None

    async def current(self) -> Presented:
        """Return the current credentials."""
        return Presented(await self.credentials.tokens.current(), self.tls())

    async def renewed(self, refused: Presented) -> Presented:
        """Return the credentials to use after `refused` was rejected."""
        present = await self.current()
        if present != refused:
            return present  # another request has renewed them
        await self.credentials.tokens.renew()
        if self._contexts:
            self._contexts.reload()
        return await self.current()


class AccessAcrossThreads:
    """The access for code in the event loop of another thread. All reads run in the owner's event loop."""

    def __init__(self, access: Access, owner: asyncio.AbstractEventLoop) -> None:
        """Read through `access`, which belongs to the loop `owner`."""
        self.credentials = access.credentials
        self._access = access
        self._owner = owner

    async def current(self) -> Presented:
        """Return the current credentials."""
        return await self._read(self._access.current())

    async def renewed(self, refused: Presented) -> Presented:
        """Return the credentials to use after `refused` was rejected."""
        return await self._read(self._access.renewed(refused))

    async def _read(self, read: Coroutine[object, object, Presented]) -> Presented:
        try:
            future = asyncio.run_coroutine_threadsafe(read, self._owner)
        except RuntimeError as error:  # the owner's loop is closed: the process ends
            read.close()
            raise ConnectionError("the process stops") from error
        return await asyncio.wrap_future(future)


def _system_tls() -> ClientTls:
    return SYSTEM_TLS

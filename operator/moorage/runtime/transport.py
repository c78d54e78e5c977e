"""One way to the API server: connections, TLS and authentication, shared by all clients of the process."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from aiohttp import ClientSession, DummyCookieJar, TCPConnector
from yarl import URL

import moorage
from moorage.errors import CredentialsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp import ClientHandlerType, ClientRequest, ClientResponse, ClientTimeout
    from aiohttp.client import _RequestContextManager
    from aiohttp.typedefs import LooseHeaders

    from moorage.runtime.clock import Clock
    from moorage.runtime.credentials import Credentials, TlsFiles, Tokens

UNAUTHORIZED = 401
IDLE_CONNECTION_SECONDS = 75.0
"""Shorter than the idle limit of any cloud's load balancer (AWS 350 s, Azure 240 s, GCP 600 s)."""
KEEPALIVE_IDLE_SECONDS, KEEPALIVE_INTERVAL_SECONDS, KEEPALIVE_PROBES = 30, 10, 3
"""TCP keep-alive: a dead peer is noticed after a minute, even on a silent watch."""
UNACKNOWLEDGED_MILLISECONDS = 30_000
"""TCP_USER_TIMEOUT: what was sent and not acknowledged for this long breaks the connection."""
RELOAD_SECONDS = 60.0
"""How often the files behind a TLS context are looked at."""


class RequestOptions(TypedDict, total=False):
    """What of aiohttp's options is used."""

    data: bytes
    headers: Mapping[str, str]
    timeout: ClientTimeout
    read_bufsize: int


def open_session(tokens: Tokens, connection_limit: int, tls: ssl.SSLContext | None = None) -> ClientSession:
    """Open a session that authenticates every request. Close it when done.

    `tls` is for requests that bring no context of their own, as those through a `Transport` do.

    Proxy variables of the environment are ignored, and answers come uncompressed: inside a cluster compression costs
    both sides more than it saves.
    """
    headers: LooseHeaders = {
        "User-Agent": f"moorage/{moorage.__version__}",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }
    return ClientSession(
        connector=TCPConnector(
            limit=connection_limit,
            keepalive_timeout=IDLE_CONNECTION_SECONDS,
            socket_factory=_keepalive_socket,
            ssl=tls or True,
        ),
        headers=headers,
        cookie_jar=DummyCookieJar(),
        middlewares=(Authentication(tokens),),
        trust_env=False,
    )


class Transport:
    """A session bound to one API server."""

    def __init__(self, session: ClientSession, credentials: Credentials, tls: TlsContexts | None = None) -> None:
        """Send through `session`, which its opener closes; `tls` is None for plain HTTP."""
        self._session = session
        self._server = credentials.server
        self._server_hostname = credentials.tls_server_name
        self._proxy = credentials.proxy
        self._tls = tls

    def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> _RequestContextManager:
        """Send a request to `path`, which may carry a query; use it as `async with`."""
        return self._session.request(
            method,
            URL(f"{self._server}{path}", encoded=True),
            ssl=self._tls.current() if self._tls else True,
            server_hostname=self._server_hostname,
            proxy=self._proxy,
            **options,
        )


class Authentication:
    """Middleware: sets Authorization on every request and, after a 401, tries once more with a renewed token."""

    def __init__(self, tokens: Tokens) -> None:
        """Take tokens from `tokens`."""
        self._tokens = tokens

    async def __call__(self, request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
        """Send the request."""
        header = await self._tokens.current()
        if header is not None:
            request.headers["Authorization"] = header
        response = await send(request)
        if response.status != UNAUTHORIZED:
            return response
        renewed = await self._tokens.renew()
        if renewed is None or renewed == header:
            return response
        response.release()
        request.headers["Authorization"] = renewed
        return await send(request)


class TlsContexts:
    """The TLS context for the API server, built anew when one of its files changes (authorities rotate)."""

    def __init__(self, files: TlsFiles, clock: Clock, *, strict: bool) -> None:
        """Build contexts from `files`.

        `strict` keeps Python 3.13's VERIFY_X509_STRICT, which the authorities of EKS, GKE and microk8s do not pass.
        """
        self._files = files
        self._clock = clock
        self._strict = strict
        self._stamps = self._modified()
        self._checked_at = clock.monotonic()
        self._context = tls_context(files, strict=strict)

    def current(self) -> ssl.SSLContext:
        """Return the context for a connection that is opened now."""
        now = self._clock.monotonic()
        if now - self._checked_at >= RELOAD_SECONDS:
            self._checked_at = now
            stamps = self._modified()
            if stamps != self._stamps:
                self._stamps, self._context = stamps, tls_context(self._files, strict=self._strict)
        return self._context

    def _modified(self) -> tuple[float, ...]:
        paths = (self._files.ca_file, self._files.cert_file, self._files.key_file)
        return tuple(Path(path).stat().st_mtime if path and Path(path).exists() else 0.0 for path in paths)


def tls_context(files: TlsFiles, *, strict: bool) -> ssl.SSLContext:
    """Build a client's TLS context; raises CredentialsError that names the file that cannot be used."""
    try:
        context = ssl.create_default_context(cafile=files.ca_file)
    except OSError as error:  # ssl.SSLError is one
        raise CredentialsError(f"the certificate authority {files.ca_file} cannot be used: {error}") from error
    if not strict:
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not files.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if files.cert_file:
        try:
            context.load_cert_chain(files.cert_file, files.key_file)
        except OSError as error:
            raise CredentialsError(f"the client certificate {files.cert_file} cannot be used: {error}") from error
    return context


def _keepalive_socket(address: tuple[int, int, int, str, tuple[object, ...]]) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):  # Linux; elsewhere the system's own timing has to do
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_PROBES)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MILLISECONDS)
    return made

"""Writes through a proxy that get no answer. `test_connection_pool` tests such writes without a proxy."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from certificates import Authority
from fakes import FakeClock, StaticTokens, until
from moorage.errors import ApiUnreachable, NotLeader
from moorage.runtime.client.credentials import Credentials
from moorage.runtime.client.pooled_transport import open_transport
from moorage.runtime.client.proxy import Proxy
from moorage.runtime.client.server_access import ServerAccess
from moorage.runtime.client.session_transport import SessionTransport, open_session
from moorage.runtime.client.transport import DEFAULT_LIMITS
from moorage.runtime.tls.tls_contexts import ClientTls

pytestmark = pytest.mark.tls

BODY = b"x" * (900 << 10)
RECEIVE_BUFFER_BYTES = 8 << 10
"""So much less than BODY that most of a write is still unsent when leadership ends."""
Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def proxy_with(handle: Handle, tls: ssl.SSLContext | None = None) -> AsyncIterator[Proxy]:
    """Run a proxy that handles each connection with `handle`."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    server = await asyncio.start_server(handle, limit=1 << 10, ssl=tls, sock=listening)
    try:
        port = listening.getsockname()[1]
        yield Proxy.parse("proxy-url", f"{'https' if tls else 'http'}://127.0.0.1:{port}")
    finally:
        server.close()
        await server.wait_closed()


class FrozenProxy:
    """A proxy that reads only the first byte of a request until `thaw` is set."""

    def __init__(self) -> None:
        self.begun, self.thaw = asyncio.Event(), asyncio.Event()
        self.received = 0
        self.end = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.received += len(await reader.readexactly(1))
        self.begun.set()
        await self.thaw.wait()
        try:
            while piece := await reader.read(1 << 20):
                self.received += len(piece)
            self.end = "closed"
        except ConnectionError:
            self.end = "reset"
        finally:
            writer.close()


async def test_a_write_without_an_answer_is_withdrawn_when_leadership_ends_and_a_read_is_not() -> None:
    arrived, answered, may_write = asyncio.Semaphore(0), asyncio.Event(), True

    async def handle(request: web.Request) -> web.Response:
        arrived.release()
        await answered.wait()
        return web.Response(text=request.method)

    app = web.Application()
    app.router.add_route("*", "/x", handle)
    async with TestServer(app) as server:
        address = str(server.make_url("")).rstrip("/")
        access = ServerAccess(Credentials(address, StaticTokens("Bearer t")), FakeClock())
        async with open_session(access, 2, lambda: may_write) as session:
            transport = SessionTransport(session, address, DEFAULT_LIMITS, lambda: may_write)
            write = asyncio.create_task(transport.exchange("POST", "/x", b"{}", "application/json", 30))
            read = asyncio.create_task(transport.exchange("GET", "/x", b"", "", 30))
            await arrived.acquire()
            await arrived.acquire()
            transport.writes.check()
            await asyncio.sleep(0)
            assert not write.done()
            may_write = False
            transport.writes.check()
            with pytest.raises(ApiUnreachable, match="POST /x: withdrawn, because this replica is not the leader"):
                await write
            answered.set()
            assert (await read).body == b"GET"
            transport.writes.close()


@pytest.mark.parametrize("over_tls", [False, True], ids=["http-proxy", "https-proxy"])
@pytest.mark.parametrize("cause", ["leadership", "cancellation"])
async def test_a_proxy_gets_no_more_bytes_of_a_write_that_was_given_up(
    tmp_path: Path, cause: str, *, over_tls: bool
) -> None:
    """The proxy gets a reset, because it could deliver the rest of the write under another leader."""
    frozen, may_write = FrozenProxy(), True
    authority = Authority(tmp_path / "authority")
    tls = authority.server_context(authority.issue("proxy", "127.0.0.1")) if over_tls else None
    async with proxy_with(frozen.handle, tls) as proxy:
        settings = ClientTls(verify=False)
        credentials = Credentials("http://api.test", StaticTokens(None), tls=lambda: settings, proxy=proxy)
        async with open_transport(ServerAccess(credentials, FakeClock()), 1, lambda: may_write) as transport:
            assert isinstance(transport, SessionTransport)
            write = asyncio.create_task(transport.exchange("POST", "/x", BODY, "application/json", 30))
            await frozen.begun.wait()
            if cause == "leadership":
                may_write = False
                transport.writes.check()
            else:  # aiohttp's timeouts cancel a request too
                write.cancel()
            with pytest.raises((ApiUnreachable, asyncio.CancelledError)):
                await write
            frozen.thaw.set()
            await until(lambda: frozen.end)
    assert frozen.received < len(BODY)
    assert frozen.end == "reset"


async def test_a_write_is_not_sent_if_leadership_ends_while_the_proxy_opens_the_tunnel(tmp_path: Path) -> None:
    authority, may_write, requests = Authority(tmp_path / "authority"), True, b""
    inner = authority.server_context(authority.issue("server", "api.test"))

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal may_write, requests
        try:
            await reader.readuntil(b"\r\n\r\n")
            may_write = False
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await writer.start_tls(inner)
            requests = await reader.read()
        except OSError:
            pass
        finally:
            writer.close()

    async with proxy_with(handle) as proxy:
        settings = ClientTls(verify=False)
        credentials = Credentials("https://api.test", StaticTokens(None), tls=lambda: settings, proxy=proxy)
        async with open_transport(ServerAccess(credentials, FakeClock()), 1, lambda: may_write) as transport:
            with pytest.raises(NotLeader):
                await transport.exchange("POST", "/x", b"{}", "application/json", 30)
    assert requests == b""

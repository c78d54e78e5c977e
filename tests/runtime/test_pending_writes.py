"""Writes without an answer over a session, as they are sent through a proxy; for the pool see test_connection_pool."""

import asyncio

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from fakes import FakeClock, StaticTokens
from moorage.errors import ApiUnreachable
from moorage.runtime.client.credentials import Credentials
from moorage.runtime.client.server_access import ServerAccess
from moorage.runtime.client.session_transport import SessionTransport, open_session
from moorage.runtime.client.transport import DEFAULT_LIMITS


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

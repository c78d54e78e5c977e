"""The REST client over a real connection to a server that answers as the test wants."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from fakes import FakeApi, FakeClock, FakeObserver, Sent
from moorage.errors import ApiUnreachable, Conflict, NotFound, NotLeader, TooManyRequests
from moorage.runtime.client.client_tls import TlsContexts
from moorage.runtime.client.credentials import Credentials, StaticToken, Tokens
from moorage.runtime.client.kube import STRATEGIC_MERGE_PATCH, KubeClient, Transport
from moorage.runtime.client.pooled_transport import open_transport
from moorage.runtime.client.rate_limiter import RateLimiter
from moorage.runtime.client.transport import HttpTransport, open_session

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
OpenTransport = Callable[..., AbstractAsyncContextManager[Transport]]


@dataclass
class Peer:
    """A client of a server that runs `handler`, and what the server saw."""

    client: KubeClient
    clock: FakeClock
    observer: FakeObserver
    requests: list[web.Request] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


@pytest.fixture(params=["pool", "session"])
def transport(request: pytest.FixtureRequest) -> OpenTransport:
    """Both ways to the API server behave alike; a proxy's is the session."""
    return open_transport if request.param == "pool" else over_session


@asynccontextmanager
async def over_session(
    credentials: Credentials, connection_limit: int, tls: TlsContexts | None = None
) -> AsyncIterator[Transport]:
    async with open_session(credentials.tokens, connection_limit) as session:
        yield HttpTransport(session, credentials, tls)


@asynccontextmanager
async def serving(handler: Handler, opened: OpenTransport, tokens: Tokens | None = None) -> AsyncIterator[Peer]:
    clock, observer = FakeClock(auto=True), FakeObserver()
    app = web.Application()

    async def handle(request: web.Request) -> web.StreamResponse:
        peer.requests.append(request)
        peer.bodies.append(await request.read())
        return await handler(request)

    app.router.add_route("*", "/{path:.*}", handle)
    async with TestServer(app) as server:
        credentials = Credentials(str(server.make_url("")).rstrip("/"), tokens or StaticToken("Bearer t"))
        async with opened(credentials, 4) as transport:
            peer = Peer(KubeClient(transport, clock, RateLimiter(0, 0, clock), observer), clock, observer)
            yield peer


def answering(*responses: Callable[[], web.Response]) -> Handler:
    """Answer each request with the next response, the last one again and again."""
    left = list(responses)

    async def handle(request: web.Request) -> web.StreamResponse:
        del request
        return (left.pop(0) if len(left) > 1 else left[0])()

    return handle


def ok() -> web.Response:
    return web.json_response({"ok": True})


class RotatingToken:
    def __init__(self) -> None:
        self.renewed = 0

    async def current(self) -> str:
        return f"Bearer {self.renewed}"

    async def renew(self) -> str:
        self.renewed += 1
        return f"Bearer {self.renewed}"


async def test_requests_are_authenticated_named_and_uncompressed(transport: OpenTransport) -> None:
    async with serving(answering(ok), transport) as peer:
        assert await peer.client.get("/api/v1/pods/p") == b'{"ok": true}'
    headers = peer.requests[0].headers
    assert headers["Authorization"] == "Bearer t"
    assert headers["User-Agent"].startswith("moorage/")
    assert headers["Accept-Encoding"] == "identity"


async def test_writes_carry_their_content_type_and_their_query_as_it_is(transport: OpenTransport) -> None:
    async with serving(answering(ok), transport) as peer:
        await peer.client.patch("/x", b"{}", STRATEGIC_MERGE_PATCH)
        await peer.client.apply("/y", b"{}", "moorage")
    patched, applied = peer.requests
    assert patched.content_type == STRATEGIC_MERGE_PATCH
    assert applied.content_type == "application/apply-patch+yaml"
    assert dict(applied.query) == {"fieldManager": "moorage", "force": "true"}
    assert peer.bodies == [b"{}", b"{}"]


async def test_after_a_401_the_token_is_renewed_and_the_request_sent_once_more(transport: OpenTransport) -> None:
    tokens = RotatingToken()
    async with serving(answering(lambda: web.json_response({}, status=401), ok), transport, tokens) as peer:
        assert await peer.client.create("/x", b'{"a":1}') == b'{"ok": true}'
    assert [request.headers["Authorization"] for request in peer.requests] == ["Bearer 0", "Bearer 1"]
    assert peer.bodies == [b'{"a":1}'] * 2


async def test_refusals_are_typed(transport: OpenTransport) -> None:
    conflict = lambda: web.json_response({"reason": "Conflict", "message": "no"}, status=409)  # noqa: E731
    async with serving(answering(conflict), transport) as peer:
        with pytest.raises(Conflict, match="no"):
            await peer.client.create("/x", b"{}")
    assert peer.observer.named("request")[0][:2] == ("POST", 409)


async def test_429_with_retry_after_is_waited_for_and_repeated(transport: OpenTransport) -> None:
    busy = lambda: web.json_response({}, status=429, headers={"Retry-After": "3"})  # noqa: E731
    async with serving(answering(busy, busy, ok), transport) as peer:
        assert await peer.client.create("/x", b"{}")
    assert peer.clock.slept == [3, 3]


async def test_429_without_retry_after_is_the_callers_to_handle(transport: OpenTransport) -> None:
    async with serving(answering(lambda: web.json_response({}, status=429)), transport) as peer:
        with pytest.raises(TooManyRequests):
            await peer.client.create("/x", b"{}")
    assert len(peer.requests) == 1


async def test_a_lost_answer_is_unreachable_and_the_write_not_repeated(transport: OpenTransport) -> None:
    async def drop(request: web.Request) -> web.StreamResponse:
        assert request.transport
        request.transport.abort()
        return web.Response()

    async with serving(drop, transport) as peer:
        with pytest.raises(ApiUnreachable, match="POST /x"):
            await peer.client.create("/x", b"{}")
    assert len(peer.requests) == 1


async def test_an_answer_that_takes_too_long_is_unreachable(transport: OpenTransport) -> None:
    async def hang(request: web.Request) -> web.StreamResponse:
        del request
        await asyncio.sleep(30)
        return web.Response()

    async with serving(hang, transport) as peer:
        with pytest.raises(ApiUnreachable, match="no answer in time"):
            await peer.client.get("/x", timeout_seconds=0.05)


async def test_nobody_listening_is_unreachable(transport: OpenTransport) -> None:
    async with serving(answering(ok), transport) as peer:
        pass
    async with transport(Credentials("http://127.0.0.1:9", StaticToken(None)), 1) as nowhere:
        client = KubeClient(nowhere, peer.clock, RateLimiter(0, 0, peer.clock), peer.observer)
        with pytest.raises(ApiUnreachable):
            await client.get("/x")
    assert peer.observer.named("request")[-1][1] == 0


async def test_a_watch_yields_the_lines_of_a_read_together_and_ends_with_it(
    transport: OpenTransport,
) -> None:
    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\ntwo\nth")
        await asyncio.sleep(0.02)
        await response.write(b"ree\n")
        return response

    async with serving(stream, transport) as peer:
        batches = [lines async for lines in peer.client.watch("/pods", {"watch": "true"}, 5)]
    assert [line for lines in batches for line in lines] == [b"one", b"two", b"three"]
    assert peer.requests[0].query["watch"] == "true"


async def test_a_silent_watch_is_given_up_after_its_inactivity(transport: OpenTransport) -> None:
    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await asyncio.sleep(30)
        return response

    async with serving(stall, transport) as peer:
        watch = peer.client.watch("/pods", {}, 0.05)
        assert await anext(watch) == [b"one"]
        with pytest.raises(ApiUnreachable, match="no answer in time"):
            await anext(watch)


async def test_a_watch_in_which_nothing_happens_was_answered(transport: OpenTransport) -> None:
    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.sleep(30)
        return response

    async with serving(stall, transport) as peer:
        with pytest.raises(ApiUnreachable, match="no answer in time"):
            await anext(peer.client.watch("/pods", {}, 0.2))
    assert peer.observer.named("request")[-1][:2] == ("WATCH", 200)


async def test_a_refused_watch_is_typed(transport: OpenTransport) -> None:
    async with serving(answering(lambda: web.json_response({"message": "gone"}, status=404)), transport) as peer:
        with pytest.raises(NotFound, match="gone"):
            _ = [lines async for lines in peer.client.watch("/pods", {}, 5)]


async def test_no_write_leaves_once_leadership_is_in_doubt_even_after_waiting_for_the_limiter() -> None:
    api = FakeApi(lambda _: {})
    leads = [True, False]
    client = KubeClient(api, api.clock, RateLimiter(1, 1, api.clock), FakeObserver(), lambda: leads.pop(0))
    await client.create("/x", b"{}")
    with pytest.raises(NotLeader):
        await client.create("/x", b"{}")
    assert len(api.sent) == 1
    assert api.clock.slept == [1]


async def test_reads_need_no_leadership() -> None:
    api = FakeApi(lambda _: {}, may_write=lambda: False)
    assert await api.client().get("/x") == b"{}"


async def test_throttling_is_given_up_after_ten_tries() -> None:
    def busy(sent: Sent) -> object:
        del sent
        raise TooManyRequests("TooManyRequests", "later", 1)

    api = FakeApi(busy)
    with pytest.raises(TooManyRequests):
        await api.client().create("/x", b"{}")
    assert len(api.sent) == 10

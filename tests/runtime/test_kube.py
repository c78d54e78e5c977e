"""The REST client over a real connection to a server whose answers the test sets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from prometheus_client import CollectorRegistry

from fakes import FakeApi, FakeClock, Sent, StaticTokens, client_metrics
from moorage.errors import AnswerTooLong, ApiUnreachable, Conflict, Forbidden, NotFound, NotLeader, TooManyRequests
from moorage.runtime.client.authentication import Tokens
from moorage.runtime.client.credentials import Credentials
from moorage.runtime.client.kube import STRATEGIC_MERGE_PATCH, KubeClient
from moorage.runtime.client.pooled_transport import open_transport
from moorage.runtime.client.proxy import Proxy
from moorage.runtime.client.rate_limiter import RateLimiter
from moorage.runtime.client.server_access import ServerAccess
from moorage.runtime.client.session_transport import SessionTransport, open_session
from moorage.runtime.client.transport import DEFAULT_LIMITS, AnswerLimits, Transport

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
OpenTransport = Callable[..., AbstractAsyncContextManager[Transport]]

LIMITS = AnswerLimits(answer_bytes=300_000, refusal_bytes=100_000)


@dataclass
class Peer:
    """A client of a server that runs `handler`, and the requests that the server received."""

    client: KubeClient
    clock: FakeClock
    registry: CollectorRegistry
    requests: list[web.Request] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def count(self, method: str, code: str) -> float | None:
        """The value of the client's metric of requests."""
        labels = {"method": method, "code": code, "host": "api"}
        return self.registry.get_sample_value("rest_client_requests_total", labels)


@pytest.fixture(params=["pool", "session"])
def transport(request: pytest.FixtureRequest) -> OpenTransport:
    """Each kind of transport. Both must behave in the same way. Requests through a proxy use the session."""
    return open_transport if request.param == "pool" else over_session


@asynccontextmanager
async def over_session(
    access: ServerAccess, connection_limit: int, limits: AnswerLimits = DEFAULT_LIMITS
) -> AsyncIterator[Transport]:
    async with open_session(access, connection_limit) as session:
        yield SessionTransport(session, access.credentials.server, limits)


@asynccontextmanager
async def serving(
    handler: Handler, opened: OpenTransport, tokens: Tokens | None = None, headers: Sequence[tuple[str, str]] = ()
) -> AsyncIterator[Peer]:
    clock, registry = FakeClock(auto=True), CollectorRegistry()
    app = web.Application()

    async def handle(request: web.Request) -> web.StreamResponse:
        peer.requests.append(request)
        peer.bodies.append(await request.read())
        return await handler(request)

    app.router.add_route("*", "/{path:.*}", handle)
    async with TestServer(app) as server:
        address = str(server.make_url("")).rstrip("/")
        credentials = Credentials(address, tokens or StaticTokens("Bearer t"), headers=headers)
        async with opened(ServerAccess(credentials, clock), 4, limits=LIMITS) as transport:
            limiter = RateLimiter(0, 0, clock)
            peer = Peer(KubeClient(transport, clock, limiter, client_metrics(registry)), clock, registry)
            yield peer


def answering(*responses: Callable[[], web.Response]) -> Handler:
    """Answer each request with the next response. Repeat the last response without end."""
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

    async def renew(self) -> None:
        self.renewed += 1


async def test_requests_have_a_token_and_a_user_agent_and_accept_no_compression(transport: OpenTransport) -> None:
    async with serving(answering(ok), transport) as peer:
        assert await peer.client.get("/api/v1/pods/p") == b'{"ok": true}'
    headers = peer.requests[0].headers
    assert headers["Authorization"] == "Bearer t"
    assert headers["User-Agent"].startswith("moorage/")
    assert headers["Accept-Encoding"] == "identity"


async def test_headers_of_the_credentials_may_be_repeated(transport: OpenTransport) -> None:
    headers = [("Impersonate-User", "jane"), ("Impersonate-Group", "dev"), ("Impersonate-Group", "ops")]
    async with serving(answering(ok), transport, headers=headers) as peer:
        await peer.client.get("/x")
        await peer.client.create("/x", b"{}")
    for request in peer.requests:
        assert request.headers["Impersonate-User"] == "jane"
        assert request.headers.getall("Impersonate-Group") == ["dev", "ops"]


async def test_all_requests_go_through_the_proxy() -> None:
    hosts = []

    async def proxy(request: web.Request) -> web.StreamResponse:
        hosts.append(request.host)
        return ok()

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", proxy)
    async with TestServer(app) as server:
        named = Proxy.parse("proxy-url", str(server.make_url("")))
        access = ServerAccess(Credentials("http://api.test", StaticTokens(None), proxy=named), FakeClock())
        async with open_transport(access, 4) as transport:
            assert (await transport.exchange("GET", "/x", b"", "", 5)).status == 200
            assert [read.body async for read in transport.stream("/x", 5)][-1] == b'{"ok": true}'
        async with open_session(access, 1) as session, session.get("http://api.test/x") as response:
            assert response.status == 200
    assert hosts == ["api.test"] * 3


async def test_writes_keep_their_content_type_and_query(transport: OpenTransport) -> None:
    async with serving(answering(ok), transport) as peer:
        await peer.client.patch("/x", b"{}", STRATEGIC_MERGE_PATCH)
        await peer.client.apply("/y", b"{}", "moorage")
    patched, applied = peer.requests
    assert patched.content_type == STRATEGIC_MERGE_PATCH
    assert applied.content_type == "application/apply-patch+yaml"
    assert dict(applied.query) == {"fieldManager": "moorage", "force": "true"}
    assert peer.bodies == [b"{}", b"{}"]


async def test_after_a_401_the_token_is_renewed_and_the_request_is_sent_again(transport: OpenTransport) -> None:
    tokens = RotatingToken()
    async with serving(answering(lambda: web.json_response({}, status=401), ok), transport, tokens) as peer:
        assert await peer.client.create("/x", b'{"a":1}') == b'{"ok": true}'
    assert [request.headers["Authorization"] for request in peer.requests] == ["Bearer 0", "Bearer 1"]
    assert peer.bodies == [b'{"a":1}'] * 2


async def test_a_refusal_raises_the_exception_of_its_status(transport: OpenTransport) -> None:
    conflict = lambda: web.json_response({"reason": "Conflict", "message": "no"}, status=409)  # noqa: E731
    async with serving(answering(conflict), transport) as peer:
        with pytest.raises(Conflict, match="no"):
            await peer.client.create("/x", b"{}")
    assert peer.count("POST", "409") == 1


async def test_a_429_with_retry_after_is_repeated_after_that_time(transport: OpenTransport) -> None:
    busy = lambda: web.json_response({}, status=429, headers={"Retry-After": "3"})  # noqa: E731
    async with serving(answering(busy, busy, ok), transport) as peer:
        assert await peer.client.create("/x", b"{}")
    assert peer.clock.slept == [3, 3]


async def test_a_429_without_retry_after_is_raised(transport: OpenTransport) -> None:
    async with serving(answering(lambda: web.json_response({}, status=429)), transport) as peer:
        with pytest.raises(TooManyRequests):
            await peer.client.create("/x", b"{}")
    assert len(peer.requests) == 1


async def test_a_write_without_an_answer_is_unreachable_and_is_not_repeated(transport: OpenTransport) -> None:
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
        await asyncio.Event().wait()
        return web.Response()

    async with serving(hang, transport) as peer:
        with pytest.raises(ApiUnreachable, match="no answer in time"):
            await peer.client.get("/x", timeout_seconds=0.05)


async def test_a_refused_connection_is_unreachable(transport: OpenTransport) -> None:
    clock, registry = FakeClock(auto=True), CollectorRegistry()
    async with transport(
        ServerAccess(Credentials("http://127.0.0.1:9", StaticTokens(None)), FakeClock()), 1
    ) as nowhere:
        client = KubeClient(nowhere, clock, RateLimiter(0, 0, clock), client_metrics(registry))
        with pytest.raises(ApiUnreachable):
            await client.get("/x")
    labels = {"method": "GET", "code": "<error>", "host": "api"}
    assert registry.get_sample_value("rest_client_requests_total", labels) == 1


async def test_a_watch_yields_the_lines_of_a_read_together_and_ends_with_the_stream(transport: OpenTransport) -> None:
    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\ntwo\nth")
        await response.write(b"ree\n")
        return response

    async with serving(stream, transport) as peer:
        batches = [lines async for lines in peer.client.watch("/pods", {"watch": "true"}, 5)]
    assert [line for lines in batches for line in lines] == [b"one", b"two", b"three"]
    assert peer.requests[0].query["watch"] == "true"


async def test_a_silent_watch_ends_after_its_inactivity_limit(transport: OpenTransport) -> None:
    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await asyncio.Event().wait()
        return response

    async with serving(stall, transport) as peer:
        watch = peer.client.watch("/pods", {}, 0.5)
        assert await anext(watch) == [b"one"]
        with pytest.raises(ApiUnreachable, match="no answer in time"):
            await anext(watch)


async def test_a_watch_without_events_is_counted_as_answered(transport: OpenTransport) -> None:
    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.Event().wait()
        return response

    async with serving(stall, transport) as peer:
        with pytest.raises(ApiUnreachable, match="no answer in time"):
            await anext(peer.client.watch("/pods", {}, 0.5))
    assert peer.count("WATCH", "200") == 1


async def test_an_answer_that_is_too_long_is_not_read_to_its_end(transport: OpenTransport) -> None:
    async with serving(answering(lambda: web.Response(body=b"x" * 1_000_000), ok), transport) as peer:
        with pytest.raises(AnswerTooLong, match="GET /api/v1/pods/p: the answer is longer than 300000 bytes"):
            await peer.client.get("/api/v1/pods/p")
        assert await peer.client.get("/api/v1/pods/p") == b'{"ok": true}'


async def test_a_refusal_that_is_too_long_is_raised_with_its_status(transport: OpenTransport) -> None:
    body = b'{"kind": "Status", "message": "' + b"x" * 1_000_000 + b'"}'
    async with serving(answering(lambda: web.Response(body=body, status=403)), transport) as peer:
        with pytest.raises(Forbidden, match="xxx") as get:
            await peer.client.get("/api/v1/pods/p")
        with pytest.raises(Forbidden, match="xxx") as watch:
            async for _ in peer.client.watch("/api/v1/pods", {}, 5):
                pass
    assert len(str(get.value)) < 2000
    assert len(str(watch.value)) < 2000


async def test_a_refused_watch_raises_the_exception_of_its_status(transport: OpenTransport) -> None:
    async with serving(answering(lambda: web.json_response({"message": "gone"}, status=404)), transport) as peer:
        with pytest.raises(NotFound, match="gone"):
            _ = [lines async for lines in peer.client.watch("/pods", {}, 5)]


async def test_a_write_is_not_sent_if_leadership_ends_while_it_waits_in_the_rate_limiter() -> None:
    api = FakeApi(lambda _: {})
    leads = [True, False]
    client = KubeClient(api, api.clock, RateLimiter(1, 1, api.clock), client_metrics(), lambda: leads.pop(0))
    await client.create("/x", b"{}")
    with pytest.raises(NotLeader):
        await client.create("/x", b"{}")
    assert len(api.sent) == 1
    assert api.clock.slept == [1]


async def test_a_replica_that_does_not_lead_may_read() -> None:
    api = FakeApi(lambda _: {}, may_write=lambda: False)
    assert await api.client().get("/x") == b"{}"


async def test_a_throttled_request_fails_after_ten_tries() -> None:
    def busy(sent: Sent) -> object:
        del sent
        raise TooManyRequests("TooManyRequests", "later", 1)

    api = FakeApi(busy)
    with pytest.raises(TooManyRequests):
        await api.client().create("/x", b"{}")
    assert len(api.sent) == 10

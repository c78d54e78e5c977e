"""Endpoints that other machines can reach use HTTPS. All callers may read health; other paths need authorization."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from fakes import FakeClock
from moorage.errors import ApiUnreachable, CredentialsError
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.serving.certificate import self_signed, serving_context
from moorage.runtime.serving.delegated_auth import ACCESS_REVIEWS, TOKEN_REVIEWS, DelegatedAuth, ReviewLimits
from moorage.runtime.serving.health_server import OPEN_PATHS, EndpointSources, HealthServer, ServingSecurity
from scrape import sample

pytestmark = pytest.mark.tls

ANSWERS = EndpointSources(metrics=lambda: b"metrics", configz=dict, debug_cache=dict)
LIMITS = ReviewLimits(reviews=2, waiting=5, decisions=3)


class Reviews:
    """An API server that knows one user, who may read /metrics."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_gone = False
        self.answers = asyncio.Event()
        """Reviews wait until this event is set."""
        self.answers.set()
        self.in_flight = 0
        self.most_in_flight = 0

    async def create(self, path: str, body: bytes, *, timeout_seconds: float = 0.0) -> bytes:  # noqa: ARG002
        self.asked.append(path)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await self.answers.wait()
        self.in_flight -= 1
        if self.is_gone:
            raise ApiUnreachable("connection refused")
        spec: dict[str, Any] = msgspec.json.decode(body)["spec"]
        if path == TOKEN_REVIEWS:
            known = spec["token"] == "good"
            return msgspec.json.encode({"status": {"authenticated": known, "user": {"username": "prometheus"}}})
        assert path == ACCESS_REVIEWS
        allowed = spec["user"] == "prometheus" and spec["nonResourceAttributes"] == {"path": "/metrics", "verb": "get"}
        return msgspec.json.encode({"status": {"allowed": allowed}})


@pytest.fixture
def reviews() -> Reviews:
    return Reviews()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def metrics() -> ProcessMetrics:
    return ProcessMetrics("api")


Get = Callable[..., Any]


@pytest.fixture
async def get(reviews: Reviews, clock: FakeClock, metrics: ProcessMetrics, tmp_path: Path) -> AsyncIterator[Get]:
    pem = tmp_path / "serving.pem"
    pem.write_bytes(self_signed(["127.0.0.1"], datetime.now(UTC)))
    auth = DelegatedAuth(reviews, clock, OPEN_PATHS, metrics.serving, LIMITS)  # type: ignore[arg-type]
    context = serving_context(str(pem), str(pem), ())
    server = HealthServer(ANSWERS, metrics.serving, ServingSecurity(context=context, middleware=auth.middleware))
    port = await server.start("127.0.0.1", 0)
    trust = ssl.create_default_context(cafile=str(pem))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:

        async def ask(path: str, token: str | None, method: str = "GET") -> tuple[int, str]:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            url = f"https://127.0.0.1:{port}{path}"
            async with session.request(method, url, headers=headers) as response:
                return response.status, await response.text()

        yield ask
    await server.stop()


async def test_health_is_open_to_all_callers(get: Get, reviews: Reviews) -> None:
    assert [(await get(path, None))[0] for path in sorted(OPEN_PATHS)] == [200, 200, 200]
    assert reviews.asked == []


async def test_other_paths_need_a_token_that_the_api_server_knows(get: Get) -> None:
    assert (await get("/metrics", None))[0] == 401
    assert (await get("/metrics", "bad"))[0] == 401


async def test_an_authorized_caller_is_served_and_a_403_names_the_missing_permission(get: Get) -> None:
    assert await get("/metrics", "good") == (200, "metrics")
    status, text = await get("/debug/cache", "good")
    assert status == 403
    assert text == 'Forbidden: user "prometheus" cannot get path "/debug/cache"\n'


async def test_a_request_that_changes_something_needs_another_permission_than_get(get: Get) -> None:
    status, text = await get("/metrics", "good", "POST")
    assert status == 403
    assert text == 'Forbidden: user "prometheus" cannot post path "/metrics"\n'


async def test_a_decision_is_kept_for_ten_seconds(get: Get, reviews: Reviews, clock: FakeClock) -> None:
    await get("/metrics", "good")
    await get("/metrics", "good")
    assert len(reviews.asked) == 2
    await clock.advance(11.0)
    await get("/metrics", "good")
    assert len(reviews.asked) == 4


async def test_without_an_api_server_all_callers_are_refused_and_no_decision_is_kept(
    get: Get, reviews: Reviews
) -> None:
    reviews.is_gone = True
    assert (await get("/metrics", "good"))[0] == 500
    reviews.is_gone = False
    assert (await get("/metrics", "good"))[0] == 200


async def test_few_wrong_tokens_are_reviewed_at_once_and_requests_beyond_the_queue_get_429(
    get: Get, reviews: Reviews, metrics: ProcessMetrics
) -> None:
    reviews.answers.clear()
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(get("/metrics", f"bad-{number}")) for number in range(12)]
        while sum(task.done() for task in asked) < 7:  # noqa: ASYNC110 - they come over real connections
            await asyncio.sleep(0.01)
        reviews.answers.set()
    assert sorted(task.result()[0] for task in asked) == [401] * 5 + [429] * 7
    assert reviews.most_in_flight == 2
    assert sample(metrics, "moorage_serving_refused_total", limit="reviews") == 7


async def test_a_caller_that_was_accepted_does_not_wait_for_the_reviews_of_new_callers(
    get: Get, reviews: Reviews, clock: FakeClock
) -> None:
    await get("/metrics", "good")
    await clock.advance(11.0)
    reviews.answers.clear()
    async with asyncio.TaskGroup() as tasks:
        strangers = [tasks.create_task(get("/metrics", f"bad-{number}")) for number in range(5)]
        while reviews.in_flight < 2:  # noqa: ASYNC110 - they come over real connections
            await asyncio.sleep(0.01)
        known = tasks.create_task(get("/metrics", "good"))
        while reviews.in_flight < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        reviews.answers.set()
    assert known.result() == (200, "metrics")
    assert [stranger.result()[0] for stranger in strangers] == [401] * 5


async def test_wrong_tokens_do_not_displace_accepted_tokens(get: Get, reviews: Reviews) -> None:
    await get("/metrics", "good")
    for number in range(5):
        await get("/metrics", f"bad-{number}")
    asked = len(reviews.asked)
    assert await get("/metrics", "good") == (200, "metrics")
    assert len(reviews.asked) == asked


async def test_simultaneous_requests_of_one_caller_cause_no_more_reviews_than_the_limit(
    get: Get, reviews: Reviews
) -> None:
    await asyncio.gather(*(get("/metrics", "bad") for _ in range(4)))
    assert len(reviews.asked) <= LIMITS.reviews


def test_a_certificate_is_made_if_none_is_given() -> None:
    assert serving_context(None, None, ["localhost", "127.0.0.1"]).minimum_version is ssl.TLSVersion.TLSv1_2


def test_an_unusable_certificate_is_named(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("not PEM", encoding="ascii")
    with pytest.raises(CredentialsError, match=r"wrong\.pem"):
        serving_context(str(wrong), str(wrong), ())

"""`/why`: the caller must be allowed to get the pod; other tenants' pods are counted and not named."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp.test_utils import make_mocked_request

from fakes import FakeClock
from moorage.engine.records.decision_record import ConsideredNode, DecisionOutcome, DecisionRecord, PodName, Preemption
from moorage.engine.records.explanation import Explanation
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.serving.certificate import self_signed, serving_context
from moorage.runtime.serving.delegated_auth import MAX_NAMESPACES, TOKEN_REVIEWS, DelegatedAuth
from moorage.runtime.serving.explanation_turns import ExplanationTurns
from moorage.runtime.serving.health_server import OPEN_PATHS, EndpointSources, HealthServer, ServingSecurity
from moorage.runtime.serving.why_endpoint import WhyEndpoint

pytestmark = pytest.mark.tls

TENANTS = {"ann": {"red"}, "bob": {"blue"}, "root": {"red", "blue"}}


class Reviews:
    """An API server that knows the users of TENANTS by their names as tokens."""

    def __init__(self) -> None:
        self.attributes: list[dict[str, Any]] = []

    async def create(self, path: str, body: bytes) -> bytes:
        spec: dict[str, Any] = msgspec.json.decode(body)["spec"]
        if path == TOKEN_REVIEWS:
            user = spec["token"]
            return msgspec.json.encode({"status": {"authenticated": user in TENANTS, "user": {"username": user}}})
        wanted = spec.get("resourceAttributes")
        if wanted is None:
            return msgspec.json.encode({"status": {"allowed": False}})
        self.attributes.append(wanted)
        assert (wanted["verb"], wanted["resource"]) == ("get", "pods")
        return msgspec.json.encode({"status": {"allowed": wanted["namespace"] in TENANTS[spec["user"]]}})


def explain(namespace: str, name: str, node: str) -> Explanation | None:
    if name != "p":
        return None
    victims = (PodName("red", "own", 1), PodName("blue", "secret", 1))
    preemption = Preemption(node="n1", considered=(ConsideredNode("n1", 2, 1, 0, victims),))
    record = DecisionRecord(
        namespace=namespace,
        name=name,
        uid="u",
        scheduler_name="s",
        outcome=DecisionOutcome.UNSCHEDULABLE,
        preemption=preemption,
        message=node,
    )
    return Explanation(namespace=namespace, name=name, uid="u", scheduler_name="s", records=(record,))


Get = Callable[[str, str | None], Any]


@pytest.fixture
def reviews() -> Reviews:
    return Reviews()


@pytest.fixture
async def get(reviews: Reviews, tmp_path: Path) -> AsyncIterator[Get]:
    pem = tmp_path / "serving.pem"
    pem.write_bytes(self_signed(["127.0.0.1"], datetime.now(UTC)))
    metrics = ProcessMetrics("api")
    auth = DelegatedAuth(reviews, FakeClock(), OPEN_PATHS, metrics.serving)  # type: ignore[arg-type]
    sources = EndpointSources(metrics=lambda: b"", configz=dict, debug_cache=dict, explain=explain)
    security = ServingSecurity(
        context=serving_context(str(pem), str(pem), ()),
        middleware=auth.middleware,
        readable_namespaces=auth.readable_namespaces,
    )
    server = HealthServer(sources, metrics.serving, security)
    port = await server.start("127.0.0.1", 0)
    trust = ssl.create_default_context(cafile=str(pem))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:

        async def ask(path: str, token: str | None) -> tuple[int, str]:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            async with session.get(f"https://127.0.0.1:{port}{path}", headers=headers) as response:
                return response.status, await response.text()

        yield ask
    await server.stop()


async def test_caller_without_a_valid_token_gets_no_answer(get: Get) -> None:
    assert (await get("/why?namespace=red&pod=p", None))[0] == 401
    assert (await get("/why?namespace=red&pod=p", "stranger"))[0] == 401


async def test_caller_who_may_not_get_the_pod_is_refused_with_the_missing_right(get: Get, reviews: Reviews) -> None:
    status, text = await get("/why?namespace=red&pod=p", "bob")
    assert (status, text) == (403, 'Forbidden: user "bob" cannot get pod "red/p"\n')
    assert reviews.attributes == [{"verb": "get", "resource": "pods", "namespace": "red", "name": "p"}]


async def test_caller_who_may_get_the_pod_sees_the_victims_that_the_caller_may_get(get: Get) -> None:
    status, text = await get("/why?namespace=red&pod=p&node=n7", "ann")
    record = json.loads(text)["records"][0]
    (considered,) = record["preemption"]["considered"]
    assert status == 200
    assert considered["victims"] == 2
    assert considered["pods"] == [{"namespace": "red", "name": "own", "priority": 1}]
    assert considered["hiddenPods"] == 1
    assert "secret" not in text
    assert record["message"] == "n7"


async def test_caller_who_may_get_all_pods_sees_all_victims(get: Get) -> None:
    text = (await get("/why?namespace=red&pod=p", "root"))[1]
    assert [pod["name"] for pod in json.loads(text)["records"][0]["preemption"]["considered"][0]["pods"]] == [
        "own",
        "secret",
    ]


async def test_unknown_pod_is_a_404_for_a_caller_who_may_get_pods(get: Get) -> None:
    assert await get("/why?namespace=red&pod=other", "ann") == (404, "pod red/other is not known\n")
    assert (await get("/why?namespace=blue&pod=other", "ann"))[0] == 403


@pytest.mark.parametrize("query", ["", "?namespace=red", "?pod=p", "?namespace=&pod=p", "?namespace=red&pod="])
async def test_query_without_a_pod_needs_a_right_that_tenants_do_not_have(get: Get, query: str) -> None:
    assert (await get(f"/why{query}", "ann"))[0] == 403


async def test_second_parameter_of_the_same_name_cannot_name_another_pod(get: Get) -> None:
    status, text = await get("/why?namespace=red&pod=p&namespace=blue&pod=p", "ann")
    assert (status, json.loads(text)["namespace"]) == (200, "red")


async def test_right_is_asked_about_a_bounded_number_of_namespaces(reviews: Reviews) -> None:
    auth = DelegatedAuth(reviews, FakeClock(), OPEN_PATHS, ProcessMetrics("api").serving)  # type: ignore[arg-type]
    many = {f"n{index:03}" for index in range(100)}
    assert await auth.readable_namespaces("Bearer ann", many) == set()
    assert len(reviews.attributes) == MAX_NAMESPACES


async def test_caller_who_has_gone_takes_no_turn() -> None:
    asked: list[str] = []

    def record(namespace: str, name: str, node: str) -> None:
        asked.append(f"{namespace}/{name}/{node}")

    endpoint = WhyEndpoint(record, lambda _: None, None, ExplanationTurns(FakeClock()))
    gone = make_mocked_request("GET", "/why?namespace=red&pod=p")
    gone.protocol.transport = None  # as aiohttp does when the connection is lost
    await endpoint.answer(gone)
    here = make_mocked_request("GET", "/why?namespace=red&pod=q")
    await endpoint.answer(here)

    assert asked == ["red/q/"]

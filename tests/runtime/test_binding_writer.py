"""Bindings: the answer of the API server may be good, bad or lost."""

from collections.abc import Callable
from typing import Any

import pytest

from builders import pod
from fakes import FakeApi, Sent, fixed_random
from moorage.errors import (
    ApiError,
    ApiUnreachable,
    Conflict,
    Forbidden,
    MoorageError,
    NotFound,
    NotLeader,
    StaleDecision,
)
from moorage.runtime.binding_writer import CONFIRM_SECONDS, BindingWriter

POD = pod("p")
PATH = "/api/v1/namespaces/default/pods/p"


def bound_to(node_name: str, uid: str = POD.uid) -> dict[str, Any]:
    return {"metadata": {"uid": uid}, "spec": {"nodeName": node_name}}


def writer(api: FakeApi) -> BindingWriter:
    return BindingWriter(api.client(), api.clock, fixed_random())


def answering(bind: MoorageError | None, *reads: dict[str, Any] | MoorageError) -> Callable[[Sent], Any]:
    """Answer the binding, and then each read of the pod."""
    left = list(reads)

    def answer(sent: Sent) -> Any:
        result = left.pop(0) if sent.method == "GET" else bind
        if isinstance(result, MoorageError):
            raise result
        return result or {"kind": "Status"}

    return answer


async def test_the_binding_names_pod_uid_and_node() -> None:
    api = FakeApi(answering(None))
    await writer(api).bind(POD, "n1")
    (sent,) = api.sent
    assert (sent.method, sent.path) == ("POST", f"{PATH}/binding")
    assert sent.body == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p", "namespace": "default", "uid": "default/p"},
        "target": {"kind": "Node", "name": "n1"},
    }


async def test_a_web_page_from_a_proxy_is_not_a_successful_binding() -> None:
    page = b"<html>It works!</html>"
    api = FakeApi(lambda sent: page if sent.method == "POST" else bound_to(""))
    with pytest.raises(ApiUnreachable, match="not an answer of an API server"):
        await writer(api).bind(POD, "n1")


AMBIGUOUS = [
    ApiUnreachable("reset"),
    ApiError(500, "InternalError", "oops"),
    ApiError(504, "Timeout", "etcd"),
    Conflict(409, "Conflict", "already assigned to node"),
]


@pytest.mark.parametrize("error", AMBIGUOUS)
async def test_an_ambiguous_binding_succeeded_if_the_pod_is_on_our_node(error: MoorageError) -> None:
    api = FakeApi(answering(error, bound_to("n1")))
    await writer(api).bind(POD, "n1")
    assert [sent.method for sent in api.sent] == ["POST", "GET"]


@pytest.mark.parametrize("error", AMBIGUOUS)
@pytest.mark.parametrize("seen", [bound_to(""), bound_to("n1", "another"), NotFound(404, "", "")])
async def test_an_ambiguous_binding_failed_if_the_pod_is_not_on_our_node(
    error: MoorageError, seen: dict[str, Any] | MoorageError
) -> None:
    api = FakeApi(answering(error, seen))
    with pytest.raises(type(error)):
        await writer(api).bind(POD, "n1")
    assert [sent.method for sent in api.sent] == ["POST", "GET"]


async def test_the_pod_is_read_until_the_api_server_answers_and_the_binding_is_not_repeated() -> None:
    down = ApiUnreachable("down")
    api = FakeApi(answering(ApiUnreachable("reset"), down, ApiError(503, "", "starting"), down, bound_to("n1")))
    await writer(api).bind(POD, "n1")
    assert [sent.method for sent in api.sent] == ["POST", *["GET"] * 4]
    assert len(api.clock.slept) == 3


@pytest.mark.parametrize("error", [Forbidden(403, "Forbidden", "no"), NotFound(404, "NotFound", "gone")])
async def test_a_clear_refusal_is_raised_without_reading_the_pod(error: ApiError) -> None:
    api = FakeApi(answering(error))
    with pytest.raises(type(error)):
        await writer(api).bind(POD, "n1")
    assert len(api.sent) == 1


async def test_a_replica_that_does_not_lead_sends_no_binding() -> None:
    api = FakeApi(answering(None), may_write=lambda: False)
    with pytest.raises(NotLeader):
        await writer(api).bind(POD, "n1")
    assert not api.sent


@pytest.mark.parametrize("error", AMBIGUOUS)
async def test_a_pod_on_another_node_is_a_stale_decision(error: MoorageError) -> None:
    api = FakeApi(answering(error, bound_to("n2")))
    with pytest.raises(StaleDecision, match="pod default/p is already assigned to node n2") as raised:
        await writer(api).bind(POD, "n1")
    assert raised.value.conflict == "bound"


async def test_a_binding_by_an_extender_is_confirmed_when_the_pod_has_the_node() -> None:
    api = FakeApi(answering(None, bound_to(""), bound_to(""), bound_to("n1")))
    await writer(api).confirm(POD, "n1")
    assert [sent.method for sent in api.sent] == ["GET"] * 3


@pytest.mark.parametrize("seen", [bound_to(""), bound_to("n1", "another"), NotFound(404, "", "")])
async def test_a_binding_by_an_extender_fails_if_the_pod_gets_no_node(seen: dict[str, Any] | NotFound) -> None:
    api = FakeApi(answering(None, *[seen] * 100))
    started = api.clock.now
    with pytest.raises(StaleDecision, match="the extender says that it has bound pod default/p, but the pod has no no"):
        await writer(api).confirm(POD, "n1")
    assert CONFIRM_SECONDS <= api.clock.now - started < 3 * CONFIRM_SECONDS

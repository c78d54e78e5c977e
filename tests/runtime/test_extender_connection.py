"""Calls over real connections to servers that answer, fail or hang."""

import json

import pytest
from aiohttp import web

from builders import pod
from extenders.calling import calling, configured, whole_nodes, whole_pod
from extenders.server import FakeExtender, Misbehaviour, answering, endless, half_a_body, hang_up, hanging_up_once
from moorage.errors import ExtenderError
from moorage.runtime.extenders.answer_budget import MAX_ANSWERS_BYTES
from moorage.runtime.extenders.circuit_breaker import BreakerState


async def test_requests_and_answers_of_many_megabytes_are_transferred() -> None:
    annotations = {"metadata": {"annotations": {"padding": "x" * 20_000}}}
    nodes = whole_nodes(*(f"n{index}" for index in range(500)), **annotations)
    async with (
        FakeExtender({"n7": "no"}) as extender,
        calling(configured(extender, nodeCacheCapable=False, prioritizeVerb=None)) as caller,
    ):
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), nodes)

    assert answer.error is None
    assert len(answer.node_names) == 499


async def test_whole_nodes_of_too_many_bytes_are_not_sent() -> None:
    async with (
        FakeExtender() as extender,
        calling(configured(extender, nodeCacheCapable=False), request_bytes=1000) as caller,
    ):
        padding = {"metadata": {"annotations": {"padding": "x" * 600}}}
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1", "n2", **padding))

    assert answer.error
    assert "more than 1000; set nodeCacheCapable: true to send names only" in answer.error
    assert extender.asked == []
    assert caller.extenders.health()[extender.url].error == ""


async def test_an_endless_answer_is_cut_off() -> None:
    async with FakeExtender(misbehave=endless) as extender, calling(configured(extender)) as caller:
        answer = await caller.ask("n1")

    assert answer.error
    assert "the answer is longer than 4" in answer.error


async def test_answers_of_all_extenders_together_are_limited() -> None:
    async with FakeExtender() as extender, calling(configured(extender)) as caller:
        with caller.context.answers.part() as others:
            others.take(MAX_ANSWERS_BYTES - 10)
            refused = await caller.ask("n1")
        health = caller.extenders.health()[extender.url]
        answered = await caller.ask("n1")
        with caller.context.answers.part() as all_of_them:
            all_of_them.take(MAX_ANSWERS_BYTES)

    assert refused.error
    assert f"the answers of all extenders together are longer than {MAX_ANSWERS_BYTES} bytes" in refused.error
    assert health.error == ""  # the answers of other extenders used all bytes
    assert answered.error is None


async def test_an_endless_refusal_is_cut_off() -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        return await endless(request, status=500)

    async with FakeExtender(misbehave=refuse) as extender, calling(configured(extender)) as caller:
        answer = await caller.ask("n1")

    assert answer.error
    assert "answered with status 500 instead of 200" in answer.error
    assert len(answer.error) < 500


@pytest.mark.parametrize(
    "body",
    [
        '{"NodeNames":["n1"' + ',""' * 60_000 + "]}",
        '{"NodeNames":["n1"],"FailedNodes":{' + ",".join(f'"{number}":""' for number in range(60_000)) + "}}",
    ],
    ids=["names", "reasons"],
)
async def test_an_answer_with_too_many_entries_is_refused(body: str) -> None:
    async with FakeExtender(misbehave=answering(body)) as extender, calling(configured(extender)) as caller:
        answer = await caller.ask("n1")

    assert answer.error
    assert "has 6000" in answer.error
    assert "entries, more than 50000" in answer.error


INVALID_ANSWERS: dict[str, tuple[Misbehaviour, str]] = {
    "null": (answering(None), "the answer cannot be decoded: Expected `object`, got `null`"),
    "text": (answering("<html>"), "the answer cannot be decoded: JSON is malformed"),
    "an empty body": (answering(""), "the answer cannot be decoded: Input data was truncated"),
    "a list": (answering([]), "Expected `object`, got `array`"),
    "a name that is null": (answering({"NodeNames": ["n1", None]}), "NodeNames cannot be decoded: Expected `str`"),
    "an unknown node": (answering({"NodeNames": ["n1", "n9"]}), "keeps node 'n9', which was not in the request"),
    "another status": (answering("busy", status=503), "answered with status 503 instead of 200: busy"),
    "another status without a body": (answering("", status=404), "answered with status 404 instead of 200"),
    "a redirection": (answering("", status=307), "answered with status 307 instead of 200"),
    "an error": (answering({"Error": "no idea"}), "answered with an error: no idea"),
    "an error with control characters": (
        answering({"Error": "no\n\x1b[1mroom\x9b"}),
        "answered with an error: no room",
    ),
    "half a body": (half_a_body, "the answer ended too early"),
    "no answer": (hang_up, "closed the connection without an answer"),
}


@pytest.mark.parametrize(("misbehaviour", "reason"), INVALID_ANSWERS.values(), ids=INVALID_ANSWERS)
async def test_an_invalid_answer_fails_the_attempt_and_names_the_address(
    misbehaviour: Misbehaviour, reason: str
) -> None:
    async with FakeExtender(misbehave=misbehaviour) as extender, calling(configured(extender)) as caller:
        answer = await caller.ask("n1", "n2")

    assert answer.error
    assert answer.error.startswith(f"extender {extender.url}/filter: ")
    assert reason.lower() in answer.error.lower()


async def test_an_error_of_megabytes_is_cut() -> None:
    misbehave = answering({"Error": "x" * (3 << 20)})
    async with FakeExtender(misbehave=misbehave) as extender, calling(configured(extender)) as caller:
        answer = await caller.ask("n1")

    assert answer.error
    assert len(answer.error) == 1024


async def test_an_unknown_node_name_of_megabytes_is_cut_in_the_error_and_the_health() -> None:
    misbehave = answering({"NodeNames": ["\u202e" + "x" * (3 << 20)]})
    async with FakeExtender(misbehave=misbehave) as extender, calling(configured(extender)) as caller:
        answer = await caller.ask("n1")
        (health,) = caller.extenders.health().values()

    assert answer.error
    assert len(answer.error) == 1024
    assert len(health.error) <= 1024


@pytest.mark.parametrize("misbehaviour", [answer for answer, _ in INVALID_ANSWERS.values()], ids=INVALID_ANSWERS)
async def test_an_ignorable_extender_that_fails_is_skipped(misbehaviour: Misbehaviour) -> None:
    async with (
        FakeExtender(misbehave=misbehaviour) as bad,
        FakeExtender({"n1": "no"}) as good,
        calling(configured(bad, ignorable=True), configured(good)) as caller,
    ):
        answer = await caller.ask("n1", "n2")

    assert answer.error is None
    assert answer.node_names == {"n2"}


async def test_an_unreachable_extender_is_named_in_the_error() -> None:
    async with FakeExtender() as extender:
        gone = configured(extender)
    async with calling(gone) as caller:
        answer = await caller.ask("n1")

    assert answer.error
    assert "/scheduler/filter: Cannot connect to host localhost" in answer.error


async def test_the_password_of_an_address_is_sent_but_never_shown() -> None:
    async with FakeExtender(misbehave=answering("", status=500)) as extender:
        secret = configured(extender) | {"urlPrefix": extender.url.replace("localhost", "me:hidden@localhost") + "/"}
        async with calling(secret) as caller:
            answer = await caller.ask("n1")

            assert list(caller.extenders.health()) == [extender.url]
    assert answer.error
    assert "hidden" not in answer.error
    assert extender.asked[0].headers["Authorization"].startswith("Basic ")


async def test_a_filter_call_on_a_closed_idle_connection_is_repeated_and_a_bind_call_is_not() -> None:
    async with FakeExtender({"n1": "no"}) as extender, calling(configured(extender, bindVerb="bind")) as caller:
        extender.misbehave = hanging_up_once(extender)
        answer = await caller.ask("n1")
        extender.misbehave = hanging_up_once(extender)
        with pytest.raises(ExtenderError):
            await caller.extenders.bind(pod(), "n1")

    assert answer.failed == {"n1": "no"}
    assert extender.verbs == ["filter", "filter", "bind"]


async def test_the_whole_pod_is_read_before_extenders_are_called() -> None:
    async with FakeExtender() as extender, calling(configured(extender)) as caller:
        caller.cluster.objects[pod().uid] = whole_pod().raw
        answer = await caller.extenders.filter_and_prioritize(pod(), whole_nodes("n1"))

    assert answer.node_names == {"n1"}
    assert extender.asked[0].body["Pod"] == json.loads(whole_pod().raw)


async def test_a_deleted_pod_does_not_count_as_a_failure_of_the_extender() -> None:
    async with FakeExtender() as extender, calling(configured(extender)) as caller:
        answer = await caller.extenders.filter_and_prioritize(pod(), whole_nodes("n1"))

    assert answer.error == 'pods "p" not found (404 NotFound)'
    assert extender.verbs == []
    assert caller.extenders.health()[extender.url].error == ""


async def test_an_answer_with_an_error_does_not_count_as_a_failure_of_the_extender() -> None:
    async with (
        FakeExtender(misbehave=answering({"Error": "this pod is odd"})) as extender,
        calling(configured(extender), failures_to_open=1) as caller,
    ):
        answer = await caller.ask("n1")

        assert "this pod is odd" in (answer.error or "")
        assert caller.extenders.health()[extender.url].state is BreakerState.CLOSED

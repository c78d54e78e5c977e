"""A profile's extenders, asked over real connections to servers that behave, or do not."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from builders import pod
from extenders.calling import Caller, calling, whole_nodes, whole_pod
from extenders.server import FakeExtender, Misbehaviour, answering, endless, half_a_body, hang_up, hanging_up_once
from fakes import until
from moorage.engine.candidate import Candidate
from moorage.errors import ExtenderError, NotLeader
from moorage.model.pods.pod import Pod
from moorage.runtime.extenders.circuit_breaker import BreakerState
from scrape import sample

GPU = "example.com/gpu"
EVERYTHING = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 2, "nodeCacheCapable": True}


def configured(extender: FakeExtender, **fields: Any) -> dict[str, Any]:
    return {"urlPrefix": extender.url, **EVERYTHING, **fields}


@pytest.mark.parametrize("names_only", [True, False])
async def test_filters_and_ranks_in_either_form(*, names_only: bool) -> None:
    async with (
        FakeExtender({"n1": "no"}, {"n2": "never"}, {"n3": 4, "n4": 10}) as extender,
        calling(configured(extender, nodeCacheCapable=names_only)) as caller,
    ):
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1", "n2", "n3", "n4"))

    assert answer.error is None
    assert answer.pod_uid == "default/p"
    assert answer.node_names == {"n3", "n4"}
    assert answer.failed == {"n1": "no"}
    assert answer.unresolvable == {"n2": "never"}
    assert answer.scores == {"n3": 4 * 2 * 10, "n4": 10 * 2 * 10}
    first = extender.asked[0].body
    assert first["Pod"]["metadata"]["name"] == "p"
    assert (first["NodeNames"] is None, first["Nodes"] is None) == (not names_only, names_only)
    assert extender.asked[0].headers["Content-Type"] == "application/json"
    assert "Authorization" not in extender.asked[0].headers


async def test_nodes_of_many_megabytes_go_both_ways() -> None:
    annotations = {"metadata": {"annotations": {"padding": "x" * 20_000}}}
    nodes = whole_nodes(*(f"n{index}" for index in range(500)), **annotations)
    async with (
        FakeExtender({"n7": "no"}) as extender,
        calling(configured(extender, nodeCacheCapable=False, prioritizeVerb=None)) as caller,
    ):
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), nodes)

    assert answer.error is None
    assert len(answer.node_names) == 499


async def test_scores_that_no_total_could_hold_add_nothing_and_are_the_extender_s_error() -> None:
    async with (
        FakeExtender(scores={"n1": 2**63 - 1}) as boundless,
        FakeExtender(scores={"n2": 3}) as usual,
        calling(configured(boundless, weight=2**31 - 1), configured(usual)) as caller,
    ):
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1", "n2"))
        health = caller.extenders.health()

    assert answer.error is None
    assert answer.scores == {"n1": 0, "n2": 3 * 2 * 10}  # all from the other
    assert "of node 'n1', times 21474836470 for its weight, is too large" in health[boundless.url].error
    assert health[usual.url].error == ""


async def test_an_answer_without_end_is_cut_off() -> None:
    async with FakeExtender(misbehave=endless) as extender, calling(configured(extender)) as caller:
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1"))

    assert answer.error
    assert "the answer is longer than 16" in answer.error


async def test_each_is_asked_about_what_the_last_has_left_and_ignorable_ones_come_last() -> None:
    async with (
        FakeExtender({"n1": "first"}) as ignorable,
        FakeExtender({"n2": "second"}) as strict,
        calling(configured(ignorable, ignorable=True), configured(strict)) as caller,
    ):
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1", "n2", "n3", "n4"))

    assert strict.asked[0].body["NodeNames"] == ["n1", "n2", "n3", "n4"]
    assert ignorable.asked[0].body["NodeNames"] == ["n1", "n3", "n4"]
    assert answer.node_names == {"n3", "n4"}
    assert answer.failed == {"n2": "second", "n1": "first"}


async def test_nobody_is_asked_about_no_node_nor_to_rank_a_single_one() -> None:
    async with FakeExtender({"n1": "no", "n2": "no"}) as none, FakeExtender({"n1": "no"}) as one:
        async with calling(configured(none), configured(one)) as caller:
            answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1", "n2"))
        async with calling(configured(one)) as caller:
            await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1", "n2"))

    assert answer.node_names == frozenset()
    assert none.verbs == ["filter"]
    assert one.verbs == ["filter"]


async def test_only_pods_that_name_a_managed_resource_are_asked_about() -> None:
    limited = whole_pod("b", containers=[{"name": "c", "image": "i", "resources": {"limits": {GPU: "1"}}}])
    async with (
        FakeExtender({"n1": "no"}) as extender,
        calling(configured(extender, managedResources=[{"name": GPU}])) as caller,
    ):
        plain = await caller.extenders.filter_and_prioritize(whole_pod("a"), whole_nodes("n1"))
        managed = await caller.extenders.filter_and_prioritize(limited, whole_nodes("n1"))

    assert plain.node_names == {"n1"}
    assert managed.node_names == frozenset()
    assert len(extender.asked) == 1


async def test_rankings_add_up_and_those_that_fail_count_for_nothing() -> None:
    async with FakeExtender(scores={"n1": 1}) as good, FakeExtender(scores={"n1": 3}) as better, FakeExtender() as bad:
        bad.misbehave = answering("oops", status=500)
        rankers = [configured(one, filterVerb=None) for one in (good, better, bad)]
        async with calling(*rankers) as caller:
            answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1", "n2"))

    assert answer.error is None
    assert answer.scores == {"n1": 80, "n2": 0}


RUBBISH: dict[str, tuple[Misbehaviour, str]] = {
    "null": (answering(None), "the answer cannot be decoded: Expected `object`, got `null`"),
    "text": (answering("<html>"), "the answer cannot be decoded: JSON is malformed"),
    "nothing": (answering(""), "the answer cannot be decoded: Input data was truncated"),
    "a list": (answering([]), "Expected `object`, got `array`"),
    "names that are none": (answering({"NodeNames": ["n1", None]}), "NodeNames cannot be decoded: Expected `str`"),
    "a stranger": (answering({"NodeNames": ["n1", "n9"]}), "keeps node 'n9', which was not in the request"),
    "another status": (answering("busy", status=503), "answered with status 503 instead of 200: busy"),
    "an empty status": (answering("", status=404), "answered with status 404 instead of 200"),
    "a redirection": (answering("", status=307), "answered with status 307 instead of 200"),
    "an error": (answering({"Error": "no idea"}), "answered with an error: no idea"),
    "half a body": (half_a_body, "the answer ended too early"),
    "no word": (hang_up, "closed the connection without an answer"),
}


@pytest.mark.parametrize(("misbehaviour", "words"), RUBBISH.values(), ids=RUBBISH)
async def test_rubbish_fails_the_attempt_and_names_the_address(misbehaviour: Misbehaviour, words: str) -> None:
    async with FakeExtender(misbehave=misbehaviour) as extender, calling(configured(extender)) as caller:
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1", "n2"))

    assert answer.error
    assert answer.error.startswith(f"extender {extender.url}/filter: ")
    assert words.lower() in answer.error.lower()


@pytest.mark.parametrize("misbehaviour", [rubbish for rubbish, _ in RUBBISH.values()], ids=RUBBISH)
async def test_an_ignorable_extender_is_done_without(misbehaviour: Misbehaviour) -> None:
    async with (
        FakeExtender(misbehave=misbehaviour) as bad,
        FakeExtender({"n1": "no"}) as good,
        calling(configured(bad, ignorable=True), configured(good)) as caller,
    ):
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1", "n2"))

    assert answer.error is None
    assert answer.node_names == {"n2"}


async def test_an_extender_that_nobody_runs_is_named() -> None:
    async with FakeExtender() as extender:
        gone = configured(extender)
    async with calling(gone) as caller:
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1"))

    assert answer.error
    assert "/scheduler/filter: Cannot connect to host localhost" in answer.error


async def test_an_address_s_password_stays_secret() -> None:
    async with FakeExtender(misbehave=answering("", status=500)) as extender:
        secret = configured(extender) | {"urlPrefix": extender.url.replace("localhost", "me:hidden@localhost") + "/"}
        async with calling(secret) as caller:
            answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1"))

            assert list(caller.extenders.health()) == [extender.url]
    assert answer.error
    assert "hidden" not in answer.error
    assert extender.asked[0].headers["Authorization"].startswith("Basic ")


async def test_a_connection_that_was_closed_idle_is_replaced_once() -> None:
    async with FakeExtender({"n1": "no"}) as extender, calling(configured(extender, bindVerb="bind")) as caller:
        extender.misbehave = hanging_up_once(extender)
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1"))
        extender.misbehave = hanging_up_once(extender)
        with pytest.raises(ExtenderError):
            await caller.extenders.bind(pod(), "n1")

    assert answer.failed == {"n1": "no"}
    assert extender.verbs == ["filter", "filter", "bind"]


async def ask_in_vain(caller: Caller, extender: FakeExtender, *, seconds: float) -> str:
    """Ask an extender that never answers, and let the time pass."""
    calls = len(extender.asked)
    asking = asyncio.create_task(caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1", "n2")))
    await until(lambda: len(extender.asked) > calls)
    await caller.clock.advance(seconds)
    return (await asking).error or ""


async def test_a_call_ends_with_the_extender_s_timeout() -> None:
    async with FakeExtender() as extender, calling(configured(extender, httpTimeout="1500ms")) as caller:
        extender.misbehave = extender.never
        error = await ask_in_vain(caller, extender, seconds=1.5)

        assert error == f"extender {extender.url}/filter: no answer within 1.5 s"
        labels = {"extender": extender.url, "verb": "filter"}
        assert sample(caller.metrics, "moorage_extender_calls_total", **labels, result="timeout") == 1
        assert sample(caller.metrics, "moorage_extender_call_duration_seconds_sum", **labels) == 1.5


async def test_a_cycle_ends_with_the_time_of_all_and_only_its_eater_is_to_blame() -> None:
    async with FakeExtender() as slow, FakeExtender() as second:
        slow.misbehave, second.misbehave = slow.never, second.never
        patient = configured(slow, httpTimeout="4s", ignorable=True)
        async with calling(patient, configured(second, ignorable=True), cycle_seconds=6) as caller:
            asking = asyncio.create_task(caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1")))
            await until(lambda: slow.asked)
            await caller.clock.advance(4)
            await until(lambda: second.asked)
            await caller.clock.advance(2)
            answer = await asking

            assert answer.node_names == {"n1"}
            assert caller.extenders.health()[slow.url].error == "no answer within 4 s"
            assert caller.extenders.health()[second.url].error == ""


async def test_no_extender_is_waited_for_longer_than_the_cycle() -> None:
    async with FakeExtender() as extender:
        extender.misbehave = extender.never
        async with calling(configured(extender, httpTimeout="1h"), cycle_seconds=6) as caller:
            assert "no answer within 6 s" in await ask_in_vain(caller, extender, seconds=6)


async def test_a_failing_extender_is_left_alone_until_a_trial_succeeds() -> None:
    async with (
        FakeExtender(misbehave=answering("", status=500)) as extender,
        calling(configured(extender), failures_to_open=2, open_seconds=10) as caller,
    ):
        asked = [await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1")) for _ in range(3)]

        assert len(extender.asked) == 2
        assert asked[2].error == (
            f"extender {extender.url}/filter: not called for now, because the last calls failed: "
            "answered with status 500 instead of 200"
        )
        health = caller.extenders.health()[extender.url]
        assert (health.state, health.error) == (BreakerState.OPEN, "answered with status 500 instead of 200")

        await caller.clock.advance(10)
        extender.misbehave = None
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1"))

        assert answer.error is None
        assert caller.extenders.health()[extender.url].state is BreakerState.CLOSED
        name = {"extender": extender.url}
        assert sample(caller.metrics, "moorage_extender_circuit_breaker", **name, state="closed") == 1
        calls = {
            result: sample(caller.metrics, "moorage_extender_calls_total", **name, verb="filter", result=result)
            for result in ("error", "refused", "success")
        }
        assert calls == {"error": 2, "refused": 1, "success": 1}


async def test_an_error_in_the_protocol_s_words_is_no_failure_of_the_extender() -> None:
    async with (
        FakeExtender(misbehave=answering({"Error": "this pod is odd"})) as extender,
        calling(configured(extender), failures_to_open=1) as caller,
    ):
        answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1"))

        assert "this pod is odd" in (answer.error or "")
        assert caller.extenders.health()[extender.url].state is BreakerState.CLOSED


async def test_no_more_pods_than_allowed_are_asked_about_at_once_and_waiting_costs_no_time() -> None:
    async with FakeExtender() as extender:
        extender.misbehave = extender.never
        async with calling(configured(extender, httpTimeout="5s"), parallelism=2) as caller:
            nodes = whole_nodes("n1")
            asking = [
                asyncio.create_task(caller.extenders.filter_and_prioritize(whole_pod(f"p{i}"), nodes)) for i in range(3)
            ]
            await until(lambda: len(extender.asked) == 2)
            extender.misbehave = None
            await caller.clock.advance(5)
            answers = await asyncio.gather(*asking)

    assert ["no answer" in (answer.error or "") for answer in answers] == [True, True, False]


async def test_a_pod_that_is_not_known_in_full_is_told_apart_from_a_failing_extender() -> None:
    async with FakeExtender() as extender, calling(configured(extender)) as caller:
        answer = await caller.extenders.filter_and_prioritize(pod(), whole_nodes("n1"))

    assert answer.error == f"extender {extender.url}/filter: not called: the whole object of pod p is not available"


async def test_a_call_that_is_given_up_leaves_the_way_free() -> None:
    async with FakeExtender() as extender, calling(configured(extender), failures_to_open=1) as caller:
        extender.misbehave = extender.never
        asking = asyncio.create_task(caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1")))
        await until(lambda: extender.asked)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        extender.misbehave = None

        assert (await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1"))).error is None


async def test_the_extender_that_binds_binds_instead() -> None:
    async with (
        FakeExtender() as extender,
        calling(configured(extender), configured(extender, bindVerb="bind")) as caller,
    ):
        assert await caller.extenders.bind(pod("p", namespace="x"), "n1")

    assert extender.bound == [{"PodName": "p", "PodNamespace": "x", "PodUID": "x/p", "Node": "n1"}]


async def test_a_failed_bind_is_an_error_or_left_to_the_default() -> None:
    async with FakeExtender(bind_error="full") as extender:
        async with calling(configured(extender, bindVerb="bind")) as caller:
            with pytest.raises(ExtenderError, match="/bind: answered with an error: full"):
                await caller.extenders.bind(pod(), "n1")
        async with calling(configured(extender, bindVerb="bind", ignorable=True)) as caller:
            assert not await caller.extenders.bind(pod(), "n1")
        async with calling(configured(extender, bindVerb="bind", managedResources=[{"name": GPU}])) as caller:
            assert not await caller.extenders.bind(pod(), "n1")

    assert extender.verbs == ["bind", "bind"]


async def test_who_does_not_lead_has_nobody_bind() -> None:
    async with FakeExtender() as extender, calling(configured(extender, bindVerb="bind")) as caller:
        caller.cluster.leads = False
        with pytest.raises(NotLeader, match="pod default/p was not bound"):
            await caller.extenders.bind(pod(), "n1")

    assert extender.asked == []


PLACED = {name: [pod(f"{name}-{i}", node=name) for i in range(2)] for name in ("n1", "n2")}


def objects_of(pods: Iterable[Pod]) -> dict[str, bytes]:
    return {one.uid: b'{"metadata": {"uid": "%s"}}' % one.uid.encode() for one in pods}


CANDIDATES = [Candidate(name, tuple(pods), 1) for name, pods in PLACED.items()]


@pytest.mark.parametrize("names_only", [True, False])
async def test_preemption_spares_nodes_in_either_form(*, names_only: bool) -> None:
    verbs = {"filterVerb": None, "prioritizeVerb": None, "preemptVerb": "preempt"}
    async with (
        FakeExtender(spared={"n1"}) as extender,
        calling(configured(extender, nodeCacheCapable=names_only, **verbs)) as caller,
    ):
        for pods in PLACED.values():
            caller.cluster.objects |= objects_of(pods)
        left = await caller.extenders.preempt(whole_pod(), CANDIDATES, PLACED.__getitem__)

    assert left == CANDIDATES[1:]
    body = extender.asked[0].body
    assert (body["NodeNameToMetaVictims"] is None, body["NodeNameToVictims"] is None) == (not names_only, names_only)


async def test_a_candidate_whose_victim_is_gone_is_none_any_more() -> None:
    async with FakeExtender() as extender:
        configuration = configured(extender, nodeCacheCapable=False, preemptVerb="preempt")
        async with calling(configuration) as caller:
            caller.cluster.objects = {
                one.uid: b'{"metadata": {"uid": "%s"}}' % one.uid.encode() for one in PLACED["n1"]
            }

            left = await caller.extenders.preempt(whole_pod(), CANDIDATES, PLACED.__getitem__)

    assert left == CANDIDATES[:1]


@pytest.mark.parametrize(
    ("victims", "words"),
    [
        ({"n1": {"Pods": [], "NumPDBViolations": 0}}, "keeps node n1 without a victim"),
        ({"n1": None}, "keeps node n1 without a victim"),
        ({"n9": {"Pods": [{"UID": "x"}]}}, "names node 'n9', which is not a candidate"),
        ({"n1": {"Pods": [{"UID": "x"}]}}, "names a victim with the uid 'x', but node n1 has no such pod"),
    ],
)
async def test_impossible_victims_fail_or_are_left_out(victims: Any, words: str) -> None:
    async with FakeExtender(misbehave=answering({"NodeNameToMetaVictims": victims})) as extender:
        configuration = configured(extender, preemptVerb="preempt")
        async with calling(configuration) as caller:
            with pytest.raises(ExtenderError, match=words):
                await caller.extenders.preempt(whole_pod(), CANDIDATES, PLACED.__getitem__)
        async with calling(configuration | {"ignorable": True}) as caller:
            left = await caller.extenders.preempt(whole_pod(), CANDIDATES, PLACED.__getitem__)

    assert left in ([], CANDIDATES)


async def test_an_extender_may_choose_other_victims() -> None:
    chosen = {"n2": {"Pods": [{"UID": PLACED["n2"][1].uid}], "NumPDBViolations": 0}}
    async with (
        FakeExtender(misbehave=answering({"NodeNameToMetaVictims": chosen})) as extender,
        calling(configured(extender, preemptVerb="preempt")) as caller,
    ):
        left = await caller.extenders.preempt(whole_pod(), CANDIDATES, PLACED.__getitem__)

    assert left == [Candidate("n2", (PLACED["n2"][1],), 0)]

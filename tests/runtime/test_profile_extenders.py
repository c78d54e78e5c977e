"""The extenders of a profile: order, interest, scores, and limits."""

import asyncio

import pytest

from builders import pod
from extenders.calling import GPU, calling, configured, whole_nodes, whole_pod
from extenders.server import FakeExtender, answering
from fakes import until
from moorage.errors import ExtenderError, NotLeader


@pytest.mark.parametrize("names_only", [True, False])
async def test_nodes_are_filtered_and_scored_with_names_or_whole_nodes(*, names_only: bool) -> None:
    async with (
        FakeExtender({"n1": "no"}, {"n2": "never"}, {"n3": 4, "n4": 10}) as extender,
        calling(configured(extender, nodeCacheCapable=names_only)) as caller,
    ):
        answer = await caller.ask("n1", "n2", "n3", "n4")

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


async def test_scores_that_could_overflow_a_total_are_ignored_and_count_as_an_error() -> None:
    async with (
        FakeExtender(scores={"n1": 2**63 - 1}) as boundless,
        FakeExtender(scores={"n2": 3}) as usual,
        calling(configured(boundless, weight=2**31 - 1), configured(usual)) as caller,
    ):
        answer = await caller.ask("n1", "n2")
        health = caller.extenders.health()

    assert answer.error is None
    assert answer.scores == {"n1": 0, "n2": 3 * 2 * 10}  # only the scores of the other extender
    assert "of node 'n1', times 21474836470 for its weight, is too large" in health[boundless.url].error
    assert health[usual.url].error == ""


async def test_the_scores_of_many_extenders_together_cannot_overflow_a_total() -> None:
    async with FakeExtender(scores={"n1": 2**54, "n2": -(2**54)}) as greedy:
        many = [configured(greedy, filterVerb=None, weight=1)] * 40
        async with calling(*many) as caller:
            answer = await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1", "n2"))

    assert answer.scores == {"n1": 2**58, "n2": -(2**58)}


async def test_ignorable_extenders_come_last_and_get_the_nodes_that_earlier_extenders_kept() -> None:
    async with (
        FakeExtender({"n1": "first"}) as ignorable,
        FakeExtender({"n2": "second"}) as strict,
        calling(configured(ignorable, ignorable=True), configured(strict)) as caller,
    ):
        answer = await caller.ask("n1", "n2", "n3", "n4")

    assert strict.asked[0].body["NodeNames"] == ["n1", "n2", "n3", "n4"]
    assert ignorable.asked[0].body["NodeNames"] == ["n1", "n3", "n4"]
    assert answer.node_names == {"n3", "n4"}
    assert answer.failed == {"n2": "second", "n1": "first"}


async def test_extenders_are_not_called_without_nodes_and_do_not_score_a_single_node() -> None:
    async with FakeExtender({"n1": "no", "n2": "no"}) as none, FakeExtender({"n1": "no"}) as one:
        async with calling(configured(none), configured(one)) as caller:
            answer = await caller.ask("n1", "n2")
        async with calling(configured(one)) as caller:
            await caller.ask("n1", "n2")

    assert answer.node_names == frozenset()
    assert none.verbs == ["filter"]
    assert one.verbs == ["filter"]


async def test_extenders_are_called_only_for_pods_that_use_a_managed_resource() -> None:
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


async def test_scores_add_up_and_a_failing_extender_adds_no_score() -> None:
    async with FakeExtender(scores={"n1": 1}) as good, FakeExtender(scores={"n1": 3}) as better, FakeExtender() as bad:
        bad.misbehave = answering("oops", status=500)
        configurations = [configured(one, filterVerb=None) for one in (good, better, bad)]
        async with calling(*configurations) as caller:
            answer = await caller.ask("n1", "n2")

    assert answer.error is None
    assert answer.scores == {"n1": 80, "n2": 0}


async def test_extenders_are_called_for_at_most_parallelism_pods_at_once() -> None:
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


async def test_an_extender_with_a_bind_verb_binds_the_pod() -> None:
    async with (
        FakeExtender() as extender,
        calling(configured(extender), configured(extender, bindVerb="bind")) as caller,
    ):
        assert await caller.extenders.bind(pod("p", namespace="x"), "n1")

    assert extender.bound == [{"PodName": "p", "PodNamespace": "x", "PodUID": "x/p", "Node": "n1"}]


async def test_a_failed_bind_is_an_error_unless_the_extender_is_ignorable_or_not_interested() -> None:
    async with FakeExtender(bind_error="full") as extender:
        async with calling(configured(extender, bindVerb="bind")) as caller:
            with pytest.raises(ExtenderError, match="/bind: answered with an error: full"):
                await caller.extenders.bind(pod(), "n1")
        async with calling(configured(extender, bindVerb="bind", ignorable=True)) as caller:
            assert not await caller.extenders.bind(pod(), "n1")
        async with calling(configured(extender, bindVerb="bind", managedResources=[{"name": GPU}])) as caller:
            assert not await caller.extenders.bind(pod(), "n1")

    assert extender.verbs == ["bind", "bind"]


async def test_a_replica_that_does_not_lead_lets_no_extender_bind() -> None:
    async with FakeExtender() as extender, calling(configured(extender, bindVerb="bind")) as caller:
        caller.cluster.leads = False
        with pytest.raises(NotLeader, match="pod default/p was not bound"):
            await caller.extenders.bind(pod(), "n1")

    assert extender.asked == []


async def test_answer_has_each_call_with_its_duration_and_a_summary() -> None:
    async with (
        FakeExtender({"n1": "no"}, scores={"n2": 4}) as good,
        FakeExtender(scores={}) as silent,
        calling(configured(good), configured(silent, filterVerb=None, prioritizeVerb=None, bindVerb="bind")) as caller,
    ):
        answer = await caller.ask("n1", "n2", "n3")

    assert [(call.extender, call.verb, call.answer) for call in answer.calls] == [
        (good.url, "filter", "keeps 2 of 3 nodes"),
        (good.url, "prioritize", "scores 2 of 2 nodes"),
    ]
    assert all(call.seconds >= 0 for call in answer.calls)


async def test_failed_answer_has_the_error_of_the_call() -> None:
    async with FakeExtender({"n1": "no"}) as extender, calling(configured(extender)) as caller:
        extender.misbehave = answering("oops", status=500)
        answer = await caller.ask("n1", "n2")

    assert answer.error is not None
    (call,) = answer.calls
    assert call.verb == "filter"
    assert call.answer == answer.error

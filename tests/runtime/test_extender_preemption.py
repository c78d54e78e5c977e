"""Preempt calls: extenders remove candidates and choose victims."""

from collections.abc import Iterable
from typing import Any

import pytest

from builders import node, pod, snapshot_of
from extenders.calling import calling, configured, whole_pod
from extenders.server import FakeExtender, answering
from moorage.engine.candidate import Candidate
from moorage.engine.preemption.chosen_victims import candidate_of
from moorage.errors import ExtenderError
from moorage.model.pods.pod import Pod

PLACED = {name: [pod(f"{name}-{i}", node=name) for i in range(2)] for name in ("n1", "n2")}
VITAL = pod("vital", node="n1", priority=2_000_001_000)
CANDIDATES = [Candidate(name, tuple(pods), 0) for name, pods in PLACED.items()]
PREEMPTOR = whole_pod(spec={"priority": 10})
SNAPSHOT = snapshot_of(
    [node("n1"), node("n2"), node("n3")], [*PLACED["n1"], *PLACED["n2"], VITAL, pod("other", node="n3")]
)


def choose(node_name: str, uids: Iterable[str], preemptor: Pod = PREEMPTOR) -> Candidate:
    return candidate_of(preemptor, node_name, uids, SNAPSHOT)


def objects_of(pods: Iterable[Pod]) -> dict[str, bytes]:
    return {one.uid: b'{"metadata": {"uid": "%s"}}' % one.uid.encode() for one in pods}


@pytest.mark.parametrize("names_only", [True, False])
async def test_an_extender_that_gets_uids_or_whole_victims_can_remove_candidates(*, names_only: bool) -> None:
    verbs = {"filterVerb": None, "prioritizeVerb": None, "preemptVerb": "preempt"}
    async with (
        FakeExtender(spared={"n1"}) as extender,
        calling(configured(extender, nodeCacheCapable=names_only, **verbs)) as caller,
    ):
        for pods in PLACED.values():
            caller.cluster.objects |= objects_of(pods)
        left = await caller.extenders.preempt(PREEMPTOR, CANDIDATES, choose)

    assert left == CANDIDATES[1:]
    body = extender.asked[0].body
    assert (body["NodeNameToMetaVictims"] is None, body["NodeNameToVictims"] is None) == (not names_only, names_only)


async def test_victims_are_not_sent_if_the_request_would_be_too_long() -> None:
    async with FakeExtender() as extender:
        configuration = configured(extender, nodeCacheCapable=False, preemptVerb="preempt")
        async with calling(configuration, request_bytes=1000) as caller:
            victims = [pod(f"victim-{number}", node="n1") for number in range(100)]
            caller.cluster.objects = {victim.uid: b'{"padding": "%s"}' % (b"x" * 400) for victim in victims}
            with pytest.raises(ExtenderError, match=r"not called: its request would have .* bytes, more than 1000"):
                await caller.extenders.preempt(PREEMPTOR, [Candidate("n1", tuple(victims), 0)], choose)

    assert extender.asked == []
    assert caller.cluster.reads < 30


async def test_a_candidate_with_a_deleted_victim_is_skipped() -> None:
    async with FakeExtender() as extender:
        configuration = configured(extender, nodeCacheCapable=False, preemptVerb="preempt")
        async with calling(configuration) as caller:
            caller.cluster.objects = objects_of(PLACED["n1"])
            left = await caller.extenders.preempt(PREEMPTOR, CANDIDATES, choose)

    assert left == CANDIDATES[:1]


@pytest.mark.parametrize(
    ("victims", "reason"),
    [
        ({"n1": {"Pods": [], "NumPDBViolations": 0}}, "keeps node n1 without a victim"),
        ({"n1": None}, "keeps node n1 without a victim"),
        ({"n9": {"Pods": [{"UID": "x"}]}}, "names node 'n9', which is not a candidate"),
        ({"n3": {"Pods": [{"UID": "default/other"}]}}, "names node 'n3', which is not a candidate"),
        ({"n1": {"Pods": [{"UID": PLACED["n2"][0].uid}]}}, "but node n1 has no such pod"),
        ({"n1": {"Pods": [{"UID": None}]}}, "but node n1 has no such pod"),
        (
            {"n1": {"Pods": [{"UID": PLACED["n1"][0].uid}, {"UID": VITAL.uid}]}},
            "names a victim with the uid 'default/vital', whose priority 2000001000 is not lower",
        ),
        ({"n1": {"Pods": [{"UID": "x"}]}}, "names a victim with the uid 'x', but node n1 has no such pod"),
    ],
)
async def test_invalid_victims_are_an_error_unless_the_extender_is_ignorable(victims: Any, reason: str) -> None:
    async with FakeExtender(misbehave=answering({"NodeNameToMetaVictims": victims})) as extender:
        configuration = configured(extender, preemptVerb="preempt")
        async with calling(configuration) as caller:
            with pytest.raises(ExtenderError, match=reason):
                await caller.extenders.preempt(PREEMPTOR, CANDIDATES, choose)
        async with calling(configuration | {"ignorable": True}) as caller:
            left = await caller.extenders.preempt(PREEMPTOR, CANDIDATES, choose)

    assert left in ([], CANDIDATES)


async def test_an_extender_may_choose_other_victims_but_not_the_number_of_violations() -> None:
    chosen = {"n2": {"Pods": [{"UID": PLACED["n2"][1].uid}] * 2, "NumPDBViolations": -(2**70)}}
    async with (
        FakeExtender(misbehave=answering({"NodeNameToMetaVictims": chosen})) as extender,
        calling(configured(extender, preemptVerb="preempt")) as caller,
    ):
        left = await caller.extenders.preempt(PREEMPTOR, CANDIDATES, choose)

    assert left == [Candidate("n2", (PLACED["n2"][1],), 0)]

"""A canary takes a stable share of the pods of another policy, and returns them when it ends."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import node, pod
from engine.scheduler_driver import add_objects, run_until_idle
from moorage.api.extender import Extender
from moorage.engine.canaries import Canaries
from moorage.engine.messages import BindingFinished, ExtendersAnswered, ProfileChanged, ProfileRefused, ProfileRemoved
from moorage.engine.outcomes import Bind, CallExtenders, Held, Unschedulable
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added, deleted, updated
from moorage.framework.profile import CanaryShare, PolicyReference, Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.pods.pod import Pod
from moorage.model.selectors import LabelSelector, Requirement
from moorage.model.workloads.workload_objects import Namespace

REGISTRY = Registry.discover()
BASE, CANARY = "shop", "shop-next"
TEAM = LabelSelector((Requirement("team", "In", frozenset({"x"})),))


def profile(name: str, **settings: Any) -> Profile:
    policy = PolicyReference(name, f"{name}-uid", 1)
    return REGISTRY.build_profile(ProfileSpec(scheduler_name=name, settings=ProfileSettings(**settings), policy=policy))


def canary(percent: int = 50, of: str = BASE, name: str = CANARY, **settings: Any) -> Profile:
    return profile(name, canary=CanaryShare(of, percent), **settings)


def owned(name: str, owner_uid: str, **fields: Any) -> Pod:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": owner_uid, "controller": True}
    return pod(name, owner=owner, spec={"schedulerName": BASE}, **fields)


def scheduler_with(*profiles: Profile) -> Scheduler:
    return Scheduler(1, profiles)


def add_owned_pods(scheduler: Scheduler, owners: int = 40, **fields: Any) -> list[Pod]:
    pods = [owned(f"p{number}", f"owner-{number}", **fields) for number in range(owners)]
    add_objects(scheduler, node(cpu="1000"), *pods)
    return pods


def binding_policies(scheduler: Scheduler) -> dict[str, str]:
    """Schedule all pods, and return the name of the profile that binds each."""
    return {each.pod.name: each.profile.name for each in run_until_idle(scheduler) if isinstance(each, Bind)}


def waiting(scheduler: Scheduler) -> dict[str, set[str]]:
    """Return the names of the queued pods by schedulerName."""
    found: dict[str, set[str]] = {}
    for queued in scheduler.parts.handlers.queue.parts.pods.values():
        found.setdefault(queued.pod.scheduler_name, set()).add(queued.pod.name)
    return found


def in_share(owner_uid: str, percent: int) -> bool:
    return crc32(owner_uid.encode()) * 100 < percent * 2**32


@given(st.lists(st.uuids(), min_size=1, max_size=30, unique=True), st.integers(0, 100))
def test_pods_are_shared_by_the_hash_of_their_owner(uids: list[UUID], percent: int) -> None:
    scheduler = scheduler_with(profile(BASE), canary(percent))
    add_objects(scheduler, node(cpu="1000"), *(owned(str(uid), str(uid)) for uid in uids))
    expected = {str(uid): CANARY if in_share(str(uid), percent) else BASE for uid in uids}
    assert binding_policies(scheduler) == expected


def test_share_is_close_to_the_percentage() -> None:
    profiles = {each.name: each for each in (profile(BASE), canary(10))}
    canaries = Canaries(profiles)
    canaries.update()
    uids = (str(UUID(int=number * 2**90 + number)) for number in range(10_000))
    routed = Counter(canaries.route(owned("p", uid), lambda *_: True).scheduler_name for uid in uids)
    assert 900 < routed[CANARY] < 1100


def test_all_pods_of_an_owner_go_to_the_same_policy() -> None:
    scheduler = scheduler_with(profile(BASE), canary(50))
    pods = [owned(f"p{number}", f"owner-{number % 2}") for number in range(10)]
    add_objects(scheduler, node(cpu="1000"), *pods)
    found = binding_policies(scheduler)
    assert len({found[f"p{number}"] for number in range(0, 10, 2)}) == 1
    assert len({found[f"p{number}"] for number in range(1, 10, 2)}) == 1


@pytest.mark.parametrize("uid", ["a", "b", "c", "d"])
def test_the_uid_decides_whether_the_canary_gets_a_pod_without_an_owner(uid: str) -> None:
    scheduler = scheduler_with(profile(BASE), canary(50))
    add_objects(scheduler, node(), pod(uid, spec={"schedulerName": BASE}))
    assert binding_policies(scheduler) == {uid: CANARY if in_share(f"default/{uid}", 50) else BASE}


def test_a_canary_always_gets_the_pods_that_have_its_scheduler_name() -> None:
    scheduler = scheduler_with(profile(BASE), canary(0))
    add_objects(scheduler, node(), pod("own", spec={"schedulerName": CANARY}))
    assert binding_policies(scheduler) == {"own": CANARY}


def test_waiting_pods_move_when_the_share_changes_and_return_when_the_canary_ends() -> None:
    scheduler = scheduler_with(profile(BASE))
    names = {each.name for each in add_owned_pods(scheduler, cpu="2000")}
    run_until_idle(scheduler)
    assert waiting(scheduler) == {BASE: names}

    scheduler.apply(ProfileChanged(canary(30)), 1.0)
    few = waiting(scheduler)[CANARY]
    scheduler.apply(ProfileChanged(canary(70)), 1.0)
    more = waiting(scheduler)[CANARY]
    assert set() < few < more < names
    scheduler.apply(ProfileChanged(canary(100)), 1.0)
    assert waiting(scheduler) == {CANARY: names}
    scheduler.apply(ProfileRemoved(CANARY), 1.0)

    assert waiting(scheduler) == {BASE: names}
    outcomes = run_until_idle(scheduler)
    assert not [each for each in outcomes if isinstance(each, Held)]
    assert {each.profile.name for each in outcomes if isinstance(each, Unschedulable)} == {BASE}


@pytest.mark.parametrize("paused", [canary(100, paused=True), canary(0)])
def test_a_paused_or_empty_canary_takes_no_pods(paused: Profile) -> None:
    scheduler = scheduler_with(profile(BASE), canary(100))
    names = {each.name for each in add_owned_pods(scheduler, cpu="2000")}
    assert waiting(scheduler) == {CANARY: names}

    scheduler.apply(ProfileChanged(paused), 1.0)

    assert waiting(scheduler) == {BASE: names}


def test_pods_are_held_when_the_other_policy_is_deleted() -> None:
    scheduler = scheduler_with(profile(BASE), canary(100))
    add_owned_pods(scheduler, 3, cpu="2000")
    scheduler.apply(ProfileRemoved(BASE), 1.0)
    held = [each for each in run_until_idle(scheduler) if isinstance(each, Held)]
    assert {each.pod.scheduler_name for each in held} == {BASE}
    assert len(held) == 3


def test_held_pods_go_to_the_canary_when_the_other_policy_is_live_again() -> None:
    scheduler = scheduler_with(canary(100))
    add_owned_pods(scheduler, 3)
    scheduler.apply(ProfileRefused(BASE, "invalid"), 0.0)
    assert binding_policies(scheduler) == {}

    scheduler.apply(ProfileChanged(profile(BASE)), 1.0)

    assert set(binding_policies(scheduler).values()) == {CANARY}


def test_a_canary_takes_no_pods_of_namespaces_that_it_does_not_allow() -> None:
    scheduler = scheduler_with(profile(BASE), canary(100, allowed_namespaces=TEAM))
    scheduler.apply(added("Namespace", Namespace(name="default", labels={"team": "y"})), 0.0)
    names = {each.name for each in add_owned_pods(scheduler, cpu="2000")}
    assert waiting(scheduler) == {BASE: names}

    old, new = Namespace(name="default", labels={"team": "y"}), Namespace(name="default", labels={"team": "x"})
    scheduler.apply(updated("Namespace", old, new), 1.0)
    assert waiting(scheduler) == {CANARY: names}

    scheduler.apply(updated("Namespace", new, old), 2.0)
    assert waiting(scheduler) == {BASE: names}


def test_the_first_of_two_canaries_of_a_policy_takes_pods() -> None:
    first, second = canary(100, name="a"), canary(100, name="b")
    scheduler = scheduler_with(profile(BASE), second, first)
    add_owned_pods(scheduler, 3)
    canaries = scheduler.parts.handlers.canaries

    assert set(binding_policies(scheduler).values()) == {"a"}
    assert canaries.fault_of(first) == ""
    assert canaries.fault_of(second) == f"the policy a is a canary of {BASE} already"
    assert canaries.fault_of(profile("c", canary=CanaryShare("gone", 1))) == "no live policy has the name gone"


def test_a_canary_that_the_loop_has_not_applied_yet_has_no_fault() -> None:
    without = scheduler_with(profile(BASE)).parts.handlers.canaries
    older = scheduler_with(profile(BASE), canary(10)).parts.handlers.canaries
    older.update()

    assert without.fault_of(canary(50)) == ""
    assert older.fault_of(canary(50)) == ""


def test_a_pod_that_waits_for_extenders_moves_too() -> None:
    asking = Extender.model_validate({"urlPrefix": "http://e", "filterVerb": "filter"})
    scheduler = scheduler_with(profile(BASE), canary(100, extenders=(asking,)))
    (asked,) = add_owned_pods(scheduler, 1)
    (question,) = run_until_idle(scheduler)
    assert isinstance(question, CallExtenders)

    scheduler.apply(ProfileRemoved(CANARY), 1.0)
    scheduler.apply(ExtendersAnswered(pod_uid=asked.uid, node_names=frozenset({"n"})), 1.0)

    assert binding_policies(scheduler) == {asked.name: BASE}


def test_a_pod_whose_binding_fails_after_the_end_of_the_canary_returns_to_its_policy() -> None:
    scheduler = scheduler_with(profile(BASE), canary(100))
    add_owned_pods(scheduler, 1)
    (bind,) = run_until_idle(scheduler)
    assert isinstance(bind, Bind)

    scheduler.apply(ProfileRemoved(CANARY), 1.0)
    scheduler.apply(BindingFinished(pod=bind.pod, node_name=bind.node_name, error="refused"), 1.0)
    scheduler.tick(100.0)

    outcome = scheduler.schedule_one(100.0)
    assert isinstance(outcome, Bind)
    assert outcome.profile.name == BASE


def test_a_deleted_pod_leaves_the_queue_of_the_canary() -> None:
    scheduler = scheduler_with(profile(BASE), canary(100))
    (one, *_) = add_owned_pods(scheduler, 2, cpu="2000")
    scheduler.apply(deleted("Pod", one), 1.0)
    assert waiting(scheduler) == {CANARY: {"p1"}}


def test_the_watched_binding_of_a_pod_confirms_the_decision_of_the_canary() -> None:
    scheduler = scheduler_with(profile(BASE), canary(100))
    (one,) = add_owned_pods(scheduler, 1)
    (bind,) = run_until_idle(scheduler)
    assert isinstance(bind, Bind)
    scheduler.apply(BindingFinished(pod=bind.pod, node_name=bind.node_name), 1.0)
    scheduler.apply(updated("Pod", one, owned("p0", "owner-0", node=bind.node_name)), 1.0)
    assert len(scheduler.snapshot.pods_on(0)) == 1
    assert waiting(scheduler) == {}

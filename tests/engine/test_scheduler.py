from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_node, node, node_object, pod
from engine.doubles import SCHEDULER, BrokenFilter, NameFilter, NameScore, Narrower, profile
from moorage.api.extender import Extender
from moorage.engine.messages import (
    BindingFinished,
    CandidatesAnswered,
    ExtendersAnswered,
    ProfileChanged,
    ProfileRefused,
    ProfileRemoved,
    TryAgain,
)
from moorage.engine.outcomes import (
    AskAboutVictims,
    Bind,
    CallExtenders,
    Held,
    HoldReason,
    Outcome,
    SchedulingFailed,
    Skipped,
    Unschedulable,
)
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added, deleted, updated
from moorage.framework.profile import Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.framework.status import Code, error
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.model.selectors import LabelSelector, Requirement
from moorage.model.workloads.workload_objects import PodDisruptionBudget

REGISTRY = Registry.discover()
EXTENDER = Extender(url_prefix="http://extender", filter_verb="filter", prioritize_verb="rank", weight=1)


def kube_profile(name: str = SCHEDULER, **changes: Any) -> Profile:
    return REGISTRY.build_profile(ProfileSpec(scheduler_name=name, settings=ProfileSettings(**changes)))


def scheduler_of(*objects: Node | Pod, profiles: tuple[Profile, ...] = (), seed: int = 1) -> Scheduler:
    scheduler = Scheduler(seed, profiles or (kube_profile(),))
    post(scheduler, *objects)
    return scheduler


def post(scheduler: Scheduler, *objects: Node | Pod, now: float = 0.0) -> None:
    for each in objects:
        scheduler.apply(added(type(each).__name__, each), now)


def run(scheduler: Scheduler, now: float = 0.0) -> list[Outcome]:
    """Schedule until no pod is due."""
    outcomes: list[Outcome] = []
    while (outcome := scheduler.schedule_one(now)) is not None:
        outcomes.append(outcome)
        assert len(outcomes) < 1000, "the queue does not run dry"
    return outcomes


def one(scheduler: Scheduler, kind: type[Any], now: float = 0.0) -> Any:
    outcome = scheduler.schedule_one(now)
    assert isinstance(outcome, kind), outcome
    return outcome


def finish(scheduler: Scheduler, bind: Bind, error: str | None = None, now: float = 0.0) -> None:
    scheduler.apply(BindingFinished(bind.pod, bind.node_name, error), now)


def test_pod_is_bound_to_the_node_that_it_fits_on() -> None:
    bind = one(scheduler_of(node("small", cpu="1"), node("large", cpu="8"), pod("a", cpu="2")), Bind)
    assert (bind.node_name, bind.pod.node_name, bind.attempts) == ("large", "large", 1)
    assert bind.decision.feasible_nodes == 1


def test_burst_is_spread_over_nodes_and_never_overcommits_them() -> None:
    nodes = [node(f"n{number}", cpu="4", pods="3") for number in range(4)]
    scheduler = scheduler_of(*nodes, *(pod(f"p{number}", cpu="1") for number in range(15)))
    outcomes = run(scheduler)
    placed = Counter(outcome.node_name for outcome in outcomes if isinstance(outcome, Bind))
    assert placed == {"n0": 3, "n1": 3, "n2": 3, "n3": 3}
    refused = [outcome for outcome in outcomes if isinstance(outcome, Unschedulable)]
    assert {outcome.message.partition(":")[0] for outcome in refused} == {"0/4 nodes are available"}
    assert len(refused) == 3


@given(
    cpus=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    wanted=st.lists(st.integers(1, 3), max_size=12),
    failures=st.sets(st.integers(0, 11)),
)
@settings(max_examples=50, deadline=None)
def test_no_sequence_of_binds_and_failures_overcommits_a_node(
    cpus: list[int], wanted: list[int], failures: set[int]
) -> None:
    nodes = [node(f"n{number}", cpu=str(cpu)) for number, cpu in enumerate(cpus)]
    scheduler = scheduler_of(*nodes, *(pod(f"p{number}", cpu=str(cpu)) for number, cpu in enumerate(wanted)))
    for number, outcome in enumerate(run(scheduler)):
        if isinstance(outcome, Bind) and number in failures:
            finish(scheduler, outcome, "the API server is away")
    run(scheduler, now=100.0)
    snapshot = scheduler.snapshot
    assert (snapshot.requested("cpu") <= snapshot.allocatable("cpu")).all()


def test_pod_that_fits_nowhere_says_why_in_kube_schedulers_words() -> None:
    refusal = one(scheduler_of(node("n1", cpu="1"), pod("a", cpu="2")), Unschedulable)
    assert refusal.message == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are "
        "available: 1 Preemption is not helpful for scheduling."
    )
    assert refusal.diagnosis.unschedulable_plugins == {"NodeResourcesFit"}
    assert refusal.diagnosis.reasons == {"Insufficient cpu": 1}
    assert not refusal.unchanged


def test_without_nodes_a_pod_waits_for_the_first_one() -> None:
    scheduler = scheduler_of(pod("a"))
    assert one(scheduler, Unschedulable).message == "no nodes available to schedule pods"
    assert run(scheduler, 5.0) == []
    post(scheduler, node("n1"), now=5.0)
    assert one(scheduler, Bind, 5.0).attempts == 2


def test_event_wakes_only_the_pods_that_it_may_help() -> None:
    scheduler = scheduler_of(
        node("n1", cpu="1"), pod("big", cpu="2"), pod("picky", spec={"nodeSelector": {"disk": "ssd"}})
    )
    assert [type(outcome) for outcome in run(scheduler)] == [Unschedulable, Unschedulable]
    scheduler.apply(updated("Node", node("n1", cpu="1"), node("n1", cpu="1", labels={"disk": "ssd"})), 20.0)
    woken = run(scheduler, 20.0)
    assert [outcome.pod.name for outcome in woken if isinstance(outcome, Bind)] == ["picky"]
    assert len(woken) == 1


def test_heartbeat_of_a_node_wakes_nobody() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("big", cpu="2"))
    run(scheduler)
    scheduler.apply(updated("Node", node("n1", cpu="1"), node("n1", cpu="1")), 20.0)
    assert run(scheduler, 20.0) == []


def test_same_message_again_is_marked_as_unchanged() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("big", cpu="2"))
    run(scheduler)
    scheduler.tick(400.0)
    again = one(scheduler, Unschedulable, 400.0)
    assert (again.unchanged, again.attempts) == (True, 2)


def test_failed_binding_gives_the_room_back_and_tries_the_pod_again() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("a", cpu="1"))
    bind = one(scheduler, Bind)
    assert scheduler.snapshot.requested("cpu").tolist() == [1000]
    finish(scheduler, bind, "409 Conflict")
    assert scheduler.snapshot.requested("cpu").tolist() == [0]
    assert run(scheduler, 0.5) == []
    assert one(scheduler, Bind, 3.0).attempts == 2


def test_failed_binding_wakes_a_pod_that_waited_for_the_room() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("a", cpu="1"), pod("b", cpu="1"))
    bind, refusal = run(scheduler)
    assert isinstance(bind, Bind)
    assert isinstance(refusal, Unschedulable)
    finish(scheduler, bind, "404", now=20.0)
    assert one(scheduler, Bind, 20.0).pod.name == "b"


def test_pod_that_vanished_during_its_binding_is_not_tried_again() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    bind = one(scheduler, Bind)
    scheduler.apply(deleted("Pod", pod("a")), 1.0)
    finish(scheduler, bind, "404", now=1.0)
    assert run(scheduler, 100.0) == []
    assert sum(scheduler.pending_pods().values()) == 0


def test_pod_that_the_watch_confirmed_stays_although_its_binding_seemed_to_fail() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("a", cpu="1"))
    bind = one(scheduler, Bind)
    post(scheduler, pod("a", cpu="1", node="n1"))
    finish(scheduler, bind, "the connection was reset")
    assert run(scheduler, 100.0) == []
    assert scheduler.snapshot.requested("cpu").tolist() == [1000]


def test_bound_pod_leaves_nothing_behind_in_the_queue() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    finish(scheduler, one(scheduler, Bind))
    post(scheduler, pod("a", node="n1"))
    assert sum(scheduler.pending_pods().values()) == 0
    assert scheduler.next_wakeup(0.0) is None


def test_pod_bound_by_someone_else_leaves_the_queue() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    post(scheduler, pod("a", node="n1"))
    assert run(scheduler) == []


def test_pod_that_has_run_to_its_end_takes_no_room() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("old", cpu="1", node="n1"), pod("new", cpu="1"))
    assert isinstance(one(scheduler, Unschedulable), Unschedulable)
    done = pod("old", cpu="1", node="n1", phase="Succeeded")
    scheduler.apply(updated("Pod", pod("old", cpu="1", node="n1"), done), 20.0)
    assert one(scheduler, Bind, 20.0).pod.name == "new"


def test_pod_that_is_being_deleted_is_skipped() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    scheduler.apply(updated("Pod", pod("a"), pod("a", terminating=True)), 0.0)
    assert one(scheduler, Skipped).message == "skip schedule deleting pod: default/a"
    assert run(scheduler, 100.0) == []


def test_assumed_pod_that_is_being_deleted_gives_its_room_back() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("a", cpu="1"))
    bind = one(scheduler, Bind)
    scheduler.apply(updated("Pod", pod("a", cpu="1"), pod("a", cpu="1", terminating=True)), 0.0)
    assert scheduler.snapshot.requested("cpu").tolist() == [0]
    finish(scheduler, bind, "409")
    assert run(scheduler, 100.0) == []


def test_fault_of_one_pod_is_its_own() -> None:
    scheduler = scheduler_of(
        node("n1"), pod("broken"), pod("sound"), profiles=(profile(filter=(BrokenFilter(),), score=(NameScore(),)),)
    )
    failed, bind = run(scheduler)
    assert isinstance(failed, SchedulingFailed)
    assert failed.pod.name == "broken"
    assert failed.message == "ZeroDivisionError: somebody's plugin"
    assert isinstance(bind, Bind)


def test_failed_prefilter_is_an_error_with_the_plugins_name() -> None:
    failing = profile(pre_filter=(Narrower(answer=error("no answer")),))
    failed = one(scheduler_of(node("n1"), pod("a"), profiles=(failing,)), SchedulingFailed)
    assert failed.message == 'running PreFilter plugin "Narrower": no answer'


def test_same_seed_makes_the_same_choices_and_another_seed_others() -> None:
    def placements(seed: int) -> list[str]:
        nodes = [node(f"n{number}") for number in range(7)]
        scheduler = scheduler_of(*nodes, *(pod(f"p{number}") for number in range(30)), seed=seed)
        return [outcome.node_name for outcome in run(scheduler) if isinstance(outcome, Bind)]

    assert placements(1) == placements(1)
    assert placements(1) != placements(2)


def test_profile_is_swapped_between_two_cycles() -> None:
    left = profile(score=(NameScore(scores={"left": 100}),))
    right = profile(score=(NameScore(scores={"right": 100}),))
    scheduler = scheduler_of(node("left"), node("right"), pod("a"), pod("b"), profiles=(left,))
    assert one(scheduler, Bind).node_name == "left"
    scheduler.apply(ProfileChanged(right), 0.0)
    assert one(scheduler, Bind).node_name == "right"


def test_edited_profile_tries_its_waiting_pods_at_once() -> None:
    strict = profile(filter=(NameFilter(rejected={"n1": Code.UNSCHEDULABLE_AND_UNRESOLVABLE}),))
    scheduler = scheduler_of(node("n1"), pod("a"), profiles=(strict,))
    one(scheduler, Unschedulable)
    scheduler.apply(ProfileChanged(profile()), 0.1)
    assert one(scheduler, Bind, 0.1).pod.name == "a"


def test_pods_of_an_unknown_scheduler_are_held_in_silence_until_their_profile_comes() -> None:
    scheduler = scheduler_of(node("n1"), pod("a", spec={"schedulerName": "later"}))
    assert run(scheduler) == []
    assert [each.name for each in scheduler.held_pods("later")] == ["a"]
    scheduler.apply(ProfileChanged(kube_profile("later")), 1.0)
    assert one(scheduler, Bind, 1.0).profile.name == "later"
    assert scheduler.held_pods("later") == ()


def test_pods_of_a_removed_profile_wait_and_say_so_once() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    scheduler.apply(ProfileRemoved(SCHEDULER), 0.0)
    waiting = one(scheduler, Held)
    assert (waiting.pod.name, waiting.reason) == ("a", HoldReason.NO_PROFILE)
    assert run(scheduler) == []
    post(scheduler, pod("b"))
    assert one(scheduler, Held).pod.name == "b"
    assert scheduler.pending_pods_by_profile()[SCHEDULER]["held"] == 2


def test_pods_of_a_paused_profile_wait_until_it_goes_on() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"), profiles=(kube_profile(paused=True),))
    assert one(scheduler, Held).reason is HoldReason.PAUSED
    assert run(scheduler) == []
    scheduler.apply(ProfileChanged(kube_profile()), 1.0)
    assert one(scheduler, Bind, 1.0).pod.name == "a"


def test_pods_of_a_refused_policy_say_why_they_wait_once_for_each_refusal() -> None:
    scheduler = scheduler_of(
        node("n1"), pod("a", spec={"schedulerName": "gold"}), pod("b", spec={"schedulerName": "x"})
    )
    told = []
    for refusal in ("it is nonsense", "it is nonsense", "it is still nonsense"):
        scheduler.apply(ProfileRefused("gold", refusal), 0.0)
        waiting = [outcome for outcome in run(scheduler) if isinstance(outcome, Held)]
        told += [(each.pod.name, each.reason.name, each.message) for each in waiting]
    assert told == [("a", "REFUSED", "it is nonsense"), ("a", "REFUSED", "it is still nonsense")]
    scheduler.apply(ProfileChanged(kube_profile("gold")), 1.0)
    assert one(scheduler, Bind, 1.0).pod.name == "a"


def test_held_pods_are_told_when_they_are_held_for_another_reason() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"), profiles=(kube_profile(),))
    reasons = []
    for message in (
        ProfileChanged(kube_profile(paused=True)),
        ProfileRemoved(SCHEDULER),
        ProfileRefused(SCHEDULER, "it is nonsense"),
        ProfileChanged(kube_profile(paused=True)),
        ProfileChanged(kube_profile(paused=True)),
    ):
        scheduler.apply(message, 0.0)
        reasons += [outcome.reason.name for outcome in run(scheduler) if isinstance(outcome, Held)]
    assert reasons == ["PAUSED", "NO_PROFILE", "REFUSED", "PAUSED"]


def test_nothing_is_said_of_pods_that_are_tried_again_or_gone_by_then() -> None:
    gone = pod("b")
    scheduler = scheduler_of(node("n1"), pod("a"), gone, profiles=(kube_profile(paused=True),))
    scheduler.apply(deleted("Pod", gone), 0.0)
    scheduler.apply(ProfileChanged(kube_profile()), 0.0)
    assert [type(outcome) for outcome in run(scheduler)] == [Bind]


def test_pod_whose_profile_goes_during_its_binding_is_held_when_the_binding_fails() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    bind = one(scheduler, Bind)
    scheduler.apply(ProfileRemoved(SCHEDULER), 0.0)
    finish(scheduler, bind, "409")
    assert one(scheduler, Held).pod.name == "a"
    assert [each.name for each in scheduler.held_pods(SCHEDULER)] == ["a"]


def test_preemption_nominates_a_node_and_names_its_victims() -> None:
    scheduler = scheduler_of(
        node("n1", cpu="2"), pod("low", cpu="2", node="n1", priority=1), pod("high", cpu="1", priority=9)
    )
    refusal = one(scheduler, Unschedulable)
    assert refusal.nominated_node_name == "n1"
    assert [victim.name for victim in refusal.victims] == ["low"]
    assert refusal.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert refusal.pod.nominated_node_name == "n1"


def test_room_of_a_nominated_pod_is_kept_from_pods_of_lower_priority() -> None:
    scheduler = scheduler_of(
        node("n1", cpu="2"), pod("low", cpu="2", node="n1", priority=1), pod("high", cpu="1", priority=9)
    )
    one(scheduler, Unschedulable)
    post(scheduler, pod("thief", cpu="2", priority=5))
    scheduler.apply(deleted("Pod", pod("low", cpu="2", node="n1", priority=1)), 20.0)
    placed = [(outcome.pod.name, type(outcome)) for outcome in run(scheduler, 20.0)]
    assert placed == [("high", Bind), ("thief", Unschedulable)]


def test_preemptor_displaces_pods_of_lower_priority_that_were_nominated_to_its_node() -> None:
    scheduler = scheduler_of(node("n1", cpu="2"), pod("low", cpu="2", node="n1", priority=1))
    post(scheduler, pod("middle", cpu="1", priority=5))
    one(scheduler, Unschedulable)
    post(scheduler, pod("high", cpu="2", priority=9))
    refusal = one(scheduler, Unschedulable)
    assert [each.name for each in refusal.displaced] == ["middle"]
    assert [each.name for each in scheduler.snapshot.nominated("n1")] == ["high"]


def test_nominated_node_is_taken_although_others_score_higher() -> None:
    scores = profile(score=(NameScore(scores={"other": 100}),))
    nominated = pod("a", status={"nominatedNodeName": "mine"})
    bind = one(scheduler_of(node("other"), node("mine"), nominated, profiles=(scores,)), Bind)
    assert bind.node_name == "mine"


def test_nomination_survives_an_update_that_does_not_know_of_it_yet() -> None:
    scheduler = scheduler_of(
        node("n1", cpu="2"), pod("low", cpu="2", node="n1", priority=1), pod("high", cpu="1", priority=9)
    )
    one(scheduler, Unschedulable)
    high = pod("high", cpu="1", priority=9)
    scheduler.apply(updated("Pod", high, pod("high", cpu="1", priority=9, labels={"seen": ""})), 1.0)
    assert list(scheduler.snapshot.nominated_nodes) == ["n1"]


def test_nomination_that_is_of_no_use_is_taken_back() -> None:
    hopeless = pod("a", cpu="9", status={"nominatedNodeName": "n1"})
    scheduler = scheduler_of(node("n1", cpu="2"), hopeless)
    assert one(scheduler, Unschedulable).nominated_node_name == ""
    assert not scheduler.snapshot.nominated_nodes


DB = LabelSelector((Requirement("app", "In", frozenset({"db"})),))


def strict_budget(allowed: int) -> PodDisruptionBudget:
    return PodDisruptionBudget(namespace="default", name="db", selector=DB, disruptions_allowed=allowed)


def guarded_node(allowed: int) -> Scheduler:
    """Make a node of 4 CPUs with three pods whose budget allows so many disruptions, for a strict profile."""
    guarded = [pod(f"lo-{n}", cpu="900m", node="n1", labels={"app": "db"}) for n in range(3)]
    scheduler = scheduler_of(node("n1", cpu="4"), *guarded, profiles=(kube_profile(strict_preemption=True),))
    scheduler.apply(added("PodDisruptionBudget", strict_budget(allowed)), 0.0)
    return scheduler


def test_room_that_a_budget_keeps_from_a_pod_is_left_to_others() -> None:
    scheduler = guarded_node(0)
    post(scheduler, pod("hi", cpu="2", priority=9))
    refusal = one(scheduler, Unschedulable)
    assert (refusal.victims, refusal.pod.nominated_node_name) == ((), "")
    post(scheduler, pod("mid", cpu="500m", priority=5))
    assert one(scheduler, Bind).pod.name == "mid"


def test_a_pod_that_a_budget_keeps_out_is_tried_again_when_the_budget_changes() -> None:
    scheduler = guarded_node(0)
    post(scheduler, pod("hi", cpu="2", priority=9))
    one(scheduler, Unschedulable)
    scheduler.apply(updated("PodDisruptionBudget", strict_budget(0), strict_budget(1)), 60.0)
    refusal = one(scheduler, Unschedulable, 60.0)
    assert refusal.nominated_node_name == "n1"
    assert len(refusal.victims) == 1


def test_a_new_budget_wakes_nobody() -> None:
    scheduler = guarded_node(0)
    post(scheduler, pod("hi", cpu="2", priority=9))
    one(scheduler, Unschedulable)
    other = PodDisruptionBudget(namespace="default", name="other", selector=DB, disruptions_allowed=1)
    scheduler.apply(added("PodDisruptionBudget", other), 60.0)
    assert scheduler.schedule_one(60.0) is None


def test_a_nomination_that_came_to_nothing_is_forgotten_and_its_room_offered_to_those_that_wait() -> None:
    scheduler = guarded_node(1)
    post(scheduler, pod("hi", cpu="2", priority=9))
    assert one(scheduler, Unschedulable).nominated_node_name == "n1"
    mid = pod("mid", cpu="500m", priority=5)
    post(scheduler, mid)
    one(scheduler, Unschedulable)

    scheduler.apply(updated("PodDisruptionBudget", strict_budget(1), strict_budget(0)), 60.0)
    scheduler.apply(TryAgain("default/hi", void_nomination="n1"), 60.0)
    assert not scheduler.snapshot.nominated_nodes
    tried = [(outcome.pod.name, type(outcome)) for outcome in run(scheduler, 60.0)]
    assert tried == [("hi", Unschedulable), ("mid", Bind)]


def test_a_later_nomination_outlives_the_failure_of_an_earlier_one() -> None:
    scheduler = guarded_node(1)
    post(scheduler, pod("hi", cpu="2", priority=9))
    one(scheduler, Unschedulable)
    scheduler.apply(TryAgain("default/hi", void_nomination="n2"), 1.0)
    assert list(scheduler.snapshot.nominated_nodes) == ["n1"]


def with_extender(**settings: Any) -> Profile:
    return profile(score=(NameScore(scores={"n1": 50}),), settings={"extenders": (EXTENDER,), **settings})


def test_extenders_are_asked_about_the_nodes_that_pass_and_their_answer_decides() -> None:
    scheduler = scheduler_of(node("n1"), node("n2"), node("n3"), pod("a"), profiles=(with_extender(),))
    call = one(scheduler, CallExtenders)
    assert sorted(call.node_names) == ["n1", "n2", "n3"]
    assert run(scheduler) == []
    answer = ExtendersAnswered(
        pod_uid=call.pod.uid, node_names=frozenset({"n1", "n2"}), failed={"n3": "full"}, scores={"n2": 90}
    )
    scheduler.apply(answer, 1.0)
    assert one(scheduler, Bind, 1.0).node_name == "n2"


def test_pod_that_extenders_turn_down_waits_with_their_reasons() -> None:
    scheduler = scheduler_of(node("n1"), node("n2"), pod("a"), profiles=(with_extender(),))
    call = one(scheduler, CallExtenders)
    answer = ExtendersAnswered(pod_uid=call.pod.uid, failed={"n1": "full"}, unresolvable={"n2": "too old"})
    scheduler.apply(answer, 1.0)
    refusal = one(scheduler, Unschedulable, 1.0)
    assert refusal.message == "0/2 nodes are available: 1 full, 1 too old."
    assert refusal.diagnosis.unschedulable_plugins == {"Extender"}
    scheduler.apply(added("Node", node("n3")), 20.0)
    assert isinstance(one(scheduler, CallExtenders, 20.0), CallExtenders)


def test_failed_extender_is_an_error_of_the_attempt() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"), profiles=(with_extender(),))
    call = one(scheduler, CallExtenders)
    scheduler.apply(ExtendersAnswered(pod_uid=call.pod.uid, error="extender: timeout"), 1.0)
    assert one(scheduler, SchedulingFailed, 1.0).message == "extender: timeout"


def test_answer_for_a_pod_that_is_gone_is_dropped() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"), profiles=(with_extender(),))
    call = one(scheduler, CallExtenders)
    scheduler.apply(deleted("Pod", pod("a")), 1.0)
    scheduler.apply(ExtendersAnswered(pod_uid=call.pod.uid, node_names=frozenset({"n1"})), 1.0)
    assert run(scheduler, 1.0) == []


def test_extenders_are_asked_again_when_the_profile_has_changed_meanwhile() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"), profiles=(with_extender(),))
    call = one(scheduler, CallExtenders)
    scheduler.apply(ProfileChanged(with_extender()), 1.0)
    scheduler.apply(ExtendersAnswered(pod_uid=call.pod.uid, node_names=frozenset({"n1"})), 1.0)
    one(scheduler, CallExtenders, 1.0)


def with_a_say_in_preemption(**changes: Any) -> Profile:
    extender = Extender(url_prefix="http://extender", preempt_verb="preempt")
    return Registry.discover().build_profile(
        ProfileSpec(scheduler_name=SCHEDULER, settings=ProfileSettings(extenders=(extender,), **changes))
    )


def asked_about_victims(**changes: Any) -> tuple[Scheduler, AskAboutVictims]:
    full = [pod(f"low-{name}", node=name, cpu="2", priority=0) for name in ("n1", "n2")]
    nodes, high = (node("n1", cpu="2"), node("n2", cpu="2")), pod("high", cpu="2", priority=9)
    scheduler = scheduler_of(*nodes, *full, high, profiles=(with_a_say_in_preemption(**changes),))
    return scheduler, one(scheduler, AskAboutVictims)


def test_extenders_are_asked_about_victims_and_what_they_leave_is_evicted() -> None:
    scheduler, question = asked_about_victims()
    assert sorted(candidate.node_name for candidate in question.candidates) == ["n1", "n2"]
    left = tuple(candidate for candidate in question.candidates if candidate.node_name == "n2")
    scheduler.apply(CandidatesAnswered(pod_uid=question.pod.uid, candidates=left), 1.0)
    refusal = one(scheduler, Unschedulable, 1.0)
    assert refusal.nominated_node_name == "n2"
    assert [victim.name for victim in refusal.victims] == ["low-n2"]


def test_where_extenders_leave_no_candidate_nobody_is_evicted() -> None:
    scheduler, question = asked_about_victims()
    scheduler.apply(CandidatesAnswered(pod_uid=question.pod.uid), 1.0)
    refusal = one(scheduler, Unschedulable, 1.0)
    assert refusal.victims == ()
    assert refusal.message.endswith("preemption: no candidate node for preemption")


def test_a_candidate_whose_victim_has_gone_meanwhile_is_none() -> None:
    scheduler, question = asked_about_victims()
    scheduler.apply(deleted("Pod", pod("low-n1", node="n1", cpu="2", priority=0)), 1.0)
    scheduler.apply(CandidatesAnswered(pod_uid=question.pod.uid, candidates=tuple(question.candidates)), 1.0)
    assert one(scheduler, Bind, 1.0).node_name == "n1"


def test_a_strict_profile_takes_no_candidate_of_an_extender_that_breaks_a_budget() -> None:
    scheduler, question = asked_about_victims(strict_preemption=True)
    breaking = tuple(replace(candidate, violations=1) for candidate in question.candidates)
    scheduler.apply(CandidatesAnswered(pod_uid=question.pod.uid, candidates=breaking), 1.0)
    assert one(scheduler, Unschedulable, 1.0).victims == ()


def test_a_failed_extender_fails_the_preemption() -> None:
    scheduler, question = asked_about_victims()
    scheduler.apply(CandidatesAnswered(pod_uid=question.pod.uid, error="extender: timeout"), 1.0)
    assert one(scheduler, SchedulingFailed, 1.0).message == "extender: timeout"


def test_next_wakeup_is_the_end_of_a_backoff_or_the_search_for_leftovers() -> None:
    scheduler = scheduler_of(pod("a"))
    assert scheduler.next_wakeup(0.0) == 0.0
    post(scheduler, node("n1"))
    finish(scheduler, one(scheduler, Bind), "409")
    assert scheduler.next_wakeup(0.0) == 2.0


@pytest.mark.parametrize("body", [node_object("n1", cpu="-4"), {"metadata": {"name": "n1"}}])
def test_strange_node_takes_no_pod_and_does_no_harm(body: dict[str, Any]) -> None:
    refusal = one(scheduler_of(make_node(body), pod("a", cpu="1")), Unschedulable)
    assert refusal.message.startswith("0/1 nodes are available: ")

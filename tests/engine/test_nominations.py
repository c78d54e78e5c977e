from builders import node, pod
from engine.doubles import NameScore, profile
from engine.scheduler_driver import add_objects, kube_profile, next_outcome, run_until_idle, scheduler_of
from moorage.engine.messages import TryAgain
from moorage.engine.outcomes import Bind, Unschedulable
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added, deleted, updated
from moorage.model.selectors import LabelSelector, Requirement
from moorage.model.workloads.workload_objects import PodDisruptionBudget


def test_preemption_nominates_a_node_and_returns_the_victims() -> None:
    scheduler = scheduler_of(
        node("n1", cpu="2"), pod("low", cpu="2", node="n1", priority=1), pod("high", cpu="1", priority=9)
    )
    rejected = next_outcome(scheduler, Unschedulable)
    assert rejected.nominated_node_name == "n1"
    assert [victim.name for victim in rejected.victims] == ["low"]
    assert rejected.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert rejected.pod.nominated_node_name == "n1"


def test_pod_of_lower_priority_cannot_use_the_resources_of_a_nominated_pod() -> None:
    scheduler = scheduler_of(
        node("n1", cpu="2"), pod("low", cpu="2", node="n1", priority=1), pod("high", cpu="1", priority=9)
    )
    next_outcome(scheduler, Unschedulable)
    add_objects(scheduler, pod("thief", cpu="2", priority=5))
    scheduler.apply(deleted("Pod", pod("low", cpu="2", node="n1", priority=1)), 20.0)
    placed = [(outcome.pod.name, type(outcome)) for outcome in run_until_idle(scheduler, 20.0)]
    assert placed == [("high", Bind), ("thief", Unschedulable)]


def test_preemption_clears_nominations_of_pods_with_lower_priority_to_the_same_node() -> None:
    scheduler = scheduler_of(node("n1", cpu="2"), pod("low", cpu="2", node="n1", priority=1))
    add_objects(scheduler, pod("middle", cpu="1", priority=5))
    next_outcome(scheduler, Unschedulable)
    add_objects(scheduler, pod("high", cpu="2", priority=9))
    rejected = next_outcome(scheduler, Unschedulable)
    assert [each.name for each in rejected.displaced] == ["middle"]
    assert [each.name for each in scheduler.snapshot.nominated("n1")] == ["high"]


def test_pod_is_bound_to_its_nominated_node_although_another_node_scores_higher() -> None:
    scores = profile(score=(NameScore(scores={"other": 100}),))
    nominated = pod("a", status={"nominatedNodeName": "mine"})
    bind = next_outcome(scheduler_of(node("other"), node("mine"), nominated, profiles=(scores,)), Bind)
    assert bind.node_name == "mine"


def test_nomination_is_kept_if_an_update_of_the_pod_does_not_show_it_yet() -> None:
    scheduler = scheduler_of(
        node("n1", cpu="2"), pod("low", cpu="2", node="n1", priority=1), pod("high", cpu="1", priority=9)
    )
    next_outcome(scheduler, Unschedulable)
    high = pod("high", cpu="1", priority=9)
    scheduler.apply(updated("Pod", high, pod("high", cpu="1", priority=9, labels={"seen": ""})), 1.0)
    assert list(scheduler.snapshot.nominated_nodes) == ["n1"]


def test_nomination_is_cleared_when_preemption_cannot_help() -> None:
    hopeless = pod("a", cpu="9", status={"nominatedNodeName": "n1"})
    scheduler = scheduler_of(node("n1", cpu="2"), hopeless)
    assert next_outcome(scheduler, Unschedulable).nominated_node_name == ""
    assert not scheduler.snapshot.nominated_nodes


DB = LabelSelector((Requirement("app", "In", frozenset({"db"})),))


def strict_budget(allowed: int) -> PodDisruptionBudget:
    return PodDisruptionBudget(namespace="default", name="db", selector=DB, disruptions_allowed=allowed)


def scheduler_with_budget(allowed: int) -> Scheduler:
    """Return a scheduler with a strict profile, a node of 4 CPUs, three pods, and a budget for these pods."""
    guarded = [pod(f"lo-{n}", cpu="900m", node="n1", labels={"app": "db"}) for n in range(3)]
    scheduler = scheduler_of(node("n1", cpu="4"), *guarded, profiles=(kube_profile(strict_preemption=True),))
    scheduler.apply(added("PodDisruptionBudget", strict_budget(allowed)), 0.0)
    return scheduler


def test_pod_that_may_not_preempt_because_of_a_budget_reserves_no_resources() -> None:
    scheduler = scheduler_with_budget(0)
    add_objects(scheduler, pod("hi", cpu="2", priority=9))
    rejected = next_outcome(scheduler, Unschedulable)
    assert (rejected.victims, rejected.pod.nominated_node_name) == ((), "")
    add_objects(scheduler, pod("mid", cpu="500m", priority=5))
    assert next_outcome(scheduler, Bind).pod.name == "mid"


def test_pod_that_may_not_preempt_because_of_a_budget_is_tried_when_the_budget_changes() -> None:
    scheduler = scheduler_with_budget(0)
    add_objects(scheduler, pod("hi", cpu="2", priority=9))
    next_outcome(scheduler, Unschedulable)
    scheduler.apply(updated("PodDisruptionBudget", strict_budget(0), strict_budget(1)), 60.0)
    rejected = next_outcome(scheduler, Unschedulable, 60.0)
    assert rejected.nominated_node_name == "n1"
    assert len(rejected.victims) == 1


def test_added_budget_requeues_no_pod() -> None:
    scheduler = scheduler_with_budget(0)
    add_objects(scheduler, pod("hi", cpu="2", priority=9))
    next_outcome(scheduler, Unschedulable)
    other = PodDisruptionBudget(namespace="default", name="other", selector=DB, disruptions_allowed=1)
    scheduler.apply(added("PodDisruptionBudget", other), 60.0)
    assert scheduler.schedule_one(60.0) is None


def test_try_again_clears_the_invalid_nomination_and_requeues_waiting_pods() -> None:
    scheduler = scheduler_with_budget(1)
    add_objects(scheduler, pod("hi", cpu="2", priority=9))
    assert next_outcome(scheduler, Unschedulable).nominated_node_name == "n1"
    mid = pod("mid", cpu="500m", priority=5)
    add_objects(scheduler, mid)
    next_outcome(scheduler, Unschedulable)

    scheduler.apply(updated("PodDisruptionBudget", strict_budget(1), strict_budget(0)), 60.0)
    scheduler.apply(TryAgain("default/hi", void_nomination="n1"), 60.0)
    assert not scheduler.snapshot.nominated_nodes
    tried = [(outcome.pod.name, type(outcome)) for outcome in run_until_idle(scheduler, 60.0)]
    assert tried == [("hi", Unschedulable), ("mid", Bind)]


def test_try_again_keeps_the_nomination_if_the_invalid_one_was_to_another_node() -> None:
    scheduler = scheduler_with_budget(1)
    add_objects(scheduler, pod("hi", cpu="2", priority=9))
    next_outcome(scheduler, Unschedulable)
    scheduler.apply(TryAgain("default/hi", void_nomination="n2"), 1.0)
    assert list(scheduler.snapshot.nominated_nodes) == ["n1"]

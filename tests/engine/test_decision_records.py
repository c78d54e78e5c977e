import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from builders import node, pod
from engine.doubles import SCHEDULER, ListRecorder
from engine.scheduler_driver import add_objects, finish_binding, kube_profile, run_until_idle
from moorage.engine.messages import KindUnreadable, TryAgain
from moorage.engine.outcomes import Bind, Unschedulable
from moorage.engine.records.best_nodes import best_nodes
from moorage.engine.records.decision_log import DecisionLog, LogLimits
from moorage.engine.records.decision_record import MAX_NODES, DecisionOutcome, DecisionRecord, NodeCount
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import deleted
from moorage.framework.profile import Profile
from moorage.framework.status import Code
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from strategies import clusters
from strategies import pods as drawn_pods


def run(*objects: Node | Pod, log: DecisionLog | None = None, profile: Profile | None = None) -> DecisionLog:
    """Schedule all pods, and return the log."""
    log = log or DecisionLog()
    scheduler = Scheduler(7, (profile or kube_profile(),), log=log)
    add_objects(scheduler, *objects)
    run_until_idle(scheduler)
    return log


def record_of(log: DecisionLog, name: str = "p") -> DecisionRecord:
    return log.find(f"default/{name}")[0]


def test_record_of_a_bound_pod_names_the_node_its_scores_and_the_rejected_nodes() -> None:
    log = run(node("small", cpu="1"), node("free", cpu="8"), node("busy", cpu="4"), pod(cpu="2"))

    record = record_of(log)

    assert (record.outcome, record.node, record.attempt) == (DecisionOutcome.BOUND, "free", 1)
    assert (record.seed, record.cycle, record.total_nodes, record.fitting_nodes) == (7, 1, 3, 2)
    assert record.filters == (NodeCount("NodeResourcesFit", "", 1, ("small",)),)
    assert record.scores is not None
    assert [row.node for row in record.scores.nodes] == ["free", "busy"]
    assert record.scores.margin == record.scores.nodes[0].total - record.scores.nodes[1].total > 0
    assert record.scores.ties == 1


def test_record_of_an_unschedulable_pod_counts_nodes_by_plugin_and_reason() -> None:
    tainted = [node(f"t{index}", taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}]) for index in range(5)]
    log = run(*tainted, node("small", cpu="1"), pod(cpu="2"))

    record = record_of(log)

    assert record.outcome is DecisionOutcome.UNSCHEDULABLE
    assert record.message.startswith("0/6 nodes are available: 1 Insufficient cpu, 5 node(s) had untolerated taint(s).")
    assert record.filters == (
        NodeCount("TaintToleration", "node(s) had untolerated taint(s)", 5, ("t0", "t1", "t2")),
        NodeCount("NodeResourcesFit", "Insufficient cpu", 1, ("small",)),
    )


def test_record_of_a_preemption_has_the_victims_and_the_rule() -> None:
    low = pod("low", namespace="tenant", cpu="1", node="n1", priority=1)
    high = pod("high", cpu="1", node="n2", priority=5)
    log = run(node("n1", cpu="1"), node("n2", cpu="1"), low, high, pod(cpu="1", priority=9))

    preemption = record_of(log).preemption

    assert preemption is not None
    assert (preemption.node, preemption.candidates) == ("n1", 2)
    assert [(each.node, each.victims, each.highest_priority) for each in preemption.considered] == [
        ("n1", 1, 1),
        ("n2", 1, 5),
    ]
    assert [(each.namespace, each.name) for each in preemption.considered[0].pods] == [("tenant", "low")]
    assert preemption.reason == "its most important victim has the lowest priority"
    assert preemption.rejected == ()


def test_record_says_why_preemption_gave_up() -> None:
    log = run(node("n1", cpu="1"), pod(cpu="2", priority=9))

    preemption = record_of(log).preemption

    assert preemption is not None
    assert preemption.node == ""
    assert preemption.reason == "0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    assert preemption.rejected == (NodeCount("", "Preemption is not helpful for scheduling", 1),)


def test_record_names_the_error_of_an_attempt() -> None:
    profile = kube_profile()
    log = DecisionLog()
    scheduler = Scheduler(1, (profile,), log=log)
    add_objects(
        scheduler, node("n1"), pod(spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]})
    )
    run_until_idle(scheduler)
    assert record_of(log).outcome in {DecisionOutcome.UNSCHEDULABLE, DecisionOutcome.ERROR}
    assert record_of(log).message


def test_log_keeps_the_last_attempts_of_the_last_pods() -> None:
    log = DecisionLog(LogLimits(pods=2, attempts=2))
    scheduler = Scheduler(1, (kube_profile(),), log=log)
    add_objects(scheduler, node("n1", cpu="1"), pod("first", cpu="2"), pod("second", cpu="2"))
    run_until_idle(scheduler)
    for number in range(3):
        for name in ("first", "second"):
            scheduler.apply(TryAgain(f"default/{name}"), number * 60.0)
        run_until_idle(scheduler, now=number * 60.0 + 30.0)
    add_objects(scheduler, pod("third", cpu="2"), now=300.0)
    run_until_idle(scheduler, now=300.0)

    assert len(log) == 2
    assert [record.attempt for record in log.find("default/second")] == [4, 3]
    assert not log.find("default/first")
    assert record_of(log, "third").attempt == 1


def test_log_finds_the_new_pod_if_a_pod_was_deleted_and_created_again() -> None:
    log = DecisionLog()
    scheduler = Scheduler(1, (kube_profile(),), log=log)
    old, new = pod(metadata={"uid": "old"}, cpu="9"), pod(metadata={"uid": "new"}, cpu="1")
    add_objects(scheduler, node("n1", cpu="4"), old)
    run_until_idle(scheduler)
    scheduler.apply(deleted("Pod", old), 1.0)
    add_objects(scheduler, new, now=2.0)
    run_until_idle(scheduler, now=2.0)

    assert [record.uid for record in log.find("default/p")] == ["new"]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(5_000, 40_000), st.lists(st.integers(0, 6), max_size=30))
def test_log_stays_within_its_bounds(pods: int, attempts: int, size: int, names: list[int]) -> None:
    log = DecisionLog(LogLimits(pods=pods, attempts=attempts, size_bytes=size))
    for step, number in enumerate(names):
        run(node("n1"), node("n2"), pod(f"p{number}", metadata={"uid": f"u{number}-{step % 3}"}), log=log)
        assert len(log) <= pods
        assert log.size_bytes <= size
        assert all(len(log.find(f"default/p{each}")) <= attempts for each in range(7))


@settings(max_examples=60, deadline=None)
@given(clusters(), st.lists(drawn_pods(), min_size=1, max_size=6), st.data())
def test_decision_that_is_summarized_later_has_the_same_record(
    cluster: tuple[list[Node], list[Pod]], incoming: list[Pod], data: st.DataObject
) -> None:
    nodes, placed = cluster
    early, late = DecisionLog(), DecisionLog()
    schedulers = [Scheduler(3, (kube_profile(),), log=log) for log in (early, late)]
    removed = data.draw(st.lists(st.sampled_from(nodes), max_size=len(incoming)))
    for scheduler in schedulers:
        add_objects(scheduler, *nodes, *placed)
    keys = []
    for index, each in enumerate(incoming):
        named = pod(f"p{index}") if index % 2 else _renamed(each, f"p{index}")
        keys.append(named.key)
        for scheduler in schedulers:
            add_objects(scheduler, named)
            for outcome in run_until_idle(scheduler):
                if isinstance(outcome, Bind):
                    finish_binding(scheduler, outcome)
            if index < len(removed) and scheduler.snapshot.position(removed[index].name) is not None:
                scheduler.apply(deleted("Node", removed[index]), 0.0)
        early.summarize()

    assert [early.find(key) for key in keys] == [late.find(key) for key in keys]


def _renamed(each: Pod, name: str) -> Pod:
    return replace(each, name=name, uid=f"uid-{name}")


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.data())
def test_best_nodes_are_the_first_nodes_of_a_full_sort(totals: list[int], data: st.DataObject) -> None:
    highest = max(totals)
    chosen = data.draw(st.sampled_from([index for index, total in enumerate(totals) if total == highest]))

    found = best_nodes(np.array(totals, np.int64), chosen).tolist()

    assert found[0] == chosen
    assert len(set(found)) == len(found) == min(MAX_NODES, len(totals))
    assert [totals[index] for index in found] == sorted(totals, reverse=True)[:MAX_NODES]


def test_scheduler_makes_the_same_decisions_with_and_without_a_log() -> None:
    objects = [node(f"n{index}") for index in range(5)] + [pod(f"p{index}") for index in range(5)]
    outcomes = []
    for log in (None, DecisionLog()):
        scheduler = Scheduler(7, (kube_profile(),), log=log)
        add_objects(scheduler, *objects)
        outcomes.append([each.node_name for each in run_until_idle(scheduler) if isinstance(each, Bind)])
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[0]) == 5


def test_record_of_a_pod_that_waits_has_the_message_of_the_outcome() -> None:
    log = DecisionLog()
    scheduler = Scheduler(7, (kube_profile(),), log=log)
    add_objects(scheduler, node("n1", cpu="1"), pod(cpu="2"))
    (outcome,) = run_until_idle(scheduler)
    assert isinstance(outcome, Unschedulable)
    assert record_of(log).message == outcome.message


def test_record_has_the_duration_of_each_extension_point_of_its_attempt() -> None:
    log, recorder = DecisionLog(), ListRecorder()
    scheduler = Scheduler(7, (kube_profile(),), recorder, log)
    add_objects(scheduler, node("n1", cpu="4"), node("n2", cpu="4"), pod("fits", cpu="1"), pod("large", cpu="9"))
    assert isinstance(scheduler.schedule_one(0.0), Bind)
    recorder.observe_point("Bind", Code.SUCCESS, SCHEDULER, recorder.now())  # Bind runs after the attempt.
    assert isinstance(scheduler.schedule_one(0.0), Unschedulable)

    durations = record_of(log, "fits").durations
    assert [each.point for each in durations] == ["PreFilter", "Filter", "PreScore", "Score", "Reserve"]
    assert min(each.seconds for each in durations) > 0
    assert [each.point for each in record_of(log, "large").durations] == ["PreFilter", "Filter", "PostFilter"]


def test_record_of_a_failed_attempt_has_no_durations_of_the_previous_attempt() -> None:
    log = DecisionLog()
    scheduler = Scheduler(7, (kube_profile(),), ListRecorder(), log)
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    add_objects(scheduler, node("n1", cpu="4"), pod("fits", cpu="1"), pod("failing", spec={"volumes": [claim]}))
    assert isinstance(scheduler.schedule_one(0.0), Bind)
    scheduler.apply(KindUnreadable("StorageClass", "forbidden", is_refused=True), 0.0)
    scheduler.schedule_one(0.0)

    assert record_of(log, "failing").durations == ()

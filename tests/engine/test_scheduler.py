from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_node, node, node_object, pod
from engine.doubles import BrokenFilter, NameScore, Narrower, profile
from engine.scheduler_driver import add_objects, finish_binding, next_outcome, run_until_idle, scheduler_of
from moorage.engine.outcomes import Bind, SchedulingFailed, Skipped, Unschedulable
from moorage.framework.cluster_events import updated
from moorage.framework.status import error


def test_pod_is_bound_to_the_only_node_that_it_fits_on() -> None:
    bind = next_outcome(scheduler_of(node("small", cpu="1"), node("large", cpu="8"), pod("a", cpu="2")), Bind)
    assert (bind.node_name, bind.pod.node_name, bind.attempts) == ("large", "large", 1)


def test_pods_fill_all_nodes_and_the_remaining_pods_are_unschedulable() -> None:
    nodes = [node(f"n{number}", cpu="4", pods="3") for number in range(4)]
    scheduler = scheduler_of(*nodes, *(pod(f"p{number}", cpu="1") for number in range(15)))
    outcomes = run_until_idle(scheduler)
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
def test_scheduler_never_overcommits_a_node_even_if_bindings_fail(
    cpus: list[int], wanted: list[int], failures: set[int]
) -> None:
    nodes = [node(f"n{number}", cpu=str(cpu)) for number, cpu in enumerate(cpus)]
    scheduler = scheduler_of(*nodes, *(pod(f"p{number}", cpu=str(cpu)) for number, cpu in enumerate(wanted)))
    for number, outcome in enumerate(run_until_idle(scheduler)):
        if isinstance(outcome, Bind) and number in failures:
            finish_binding(scheduler, outcome, "the API server is away")
    run_until_idle(scheduler, now=100.0)
    snapshot = scheduler.snapshot
    assert (snapshot.requested("cpu") <= snapshot.allocatable("cpu")).all()


def test_unschedulable_pod_gets_the_message_of_kube_scheduler() -> None:
    rejected = next_outcome(scheduler_of(node("n1", cpu="1"), pod("a", cpu="2")), Unschedulable)
    assert rejected.message == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are "
        "available: 1 Preemption is not helpful for scheduling."
    )
    assert rejected.diagnosis.unschedulable_plugins == {"NodeResourcesFit"}
    assert rejected.diagnosis.reasons == {"Insufficient cpu": 1}
    assert not rejected.unchanged


def test_pod_without_nodes_is_tried_when_the_first_node_is_added() -> None:
    scheduler = scheduler_of(pod("a"))
    assert next_outcome(scheduler, Unschedulable).message == "no nodes available to schedule pods"
    assert run_until_idle(scheduler, 5.0) == []
    add_objects(scheduler, node("n1"), now=5.0)
    assert next_outcome(scheduler, Bind, 5.0).attempts == 2


def test_event_requeues_only_the_pods_that_it_may_help() -> None:
    scheduler = scheduler_of(
        node("n1", cpu="1"), pod("big", cpu="2"), pod("picky", spec={"nodeSelector": {"disk": "ssd"}})
    )
    assert [type(outcome) for outcome in run_until_idle(scheduler)] == [Unschedulable, Unschedulable]
    scheduler.apply(updated("Node", node("n1", cpu="1"), node("n1", cpu="1", labels={"disk": "ssd"})), 20.0)
    woken = run_until_idle(scheduler, 20.0)
    assert [outcome.pod.name for outcome in woken if isinstance(outcome, Bind)] == ["picky"]
    assert len(woken) == 1


def test_heartbeat_of_a_node_requeues_no_pod() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("big", cpu="2"))
    run_until_idle(scheduler)
    scheduler.apply(updated("Node", node("n1", cpu="1"), node("n1", cpu="1")), 20.0)
    assert run_until_idle(scheduler, 20.0) == []


def test_outcome_is_unchanged_if_the_second_attempt_has_the_same_message() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("big", cpu="2"))
    run_until_idle(scheduler)
    scheduler.tick(400.0)
    again = next_outcome(scheduler, Unschedulable, 400.0)
    assert (again.unchanged, again.attempts) == (True, 2)


def test_pod_that_has_succeeded_frees_its_resources() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("old", cpu="1", node="n1"), pod("new", cpu="1"))
    assert isinstance(next_outcome(scheduler, Unschedulable), Unschedulable)
    done = pod("old", cpu="1", node="n1", phase="Succeeded")
    scheduler.apply(updated("Pod", pod("old", cpu="1", node="n1"), done), 20.0)
    assert next_outcome(scheduler, Bind, 20.0).pod.name == "new"


def test_pod_that_is_being_deleted_is_skipped() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    scheduler.apply(updated("Pod", pod("a"), pod("a", terminating=True)), 0.0)
    assert next_outcome(scheduler, Skipped).message == "skip schedule deleting pod: default/a"
    assert run_until_idle(scheduler, 100.0) == []


def test_exception_in_a_plugin_fails_only_the_attempt_of_its_pod() -> None:
    scheduler = scheduler_of(
        node("n1"), pod("broken"), pod("sound"), profiles=(profile(filter=(BrokenFilter(),), score=(NameScore(),)),)
    )
    failed, bind = run_until_idle(scheduler)
    assert isinstance(failed, SchedulingFailed)
    assert failed.pod.name == "broken"
    assert failed.message == "ZeroDivisionError: broken plugin"
    assert isinstance(bind, Bind)


def test_error_of_a_prefilter_fails_the_attempt_with_the_name_of_the_plugin() -> None:
    failing = profile(pre_filter=(Narrower(answer=error("no answer")),))
    failed = next_outcome(scheduler_of(node("n1"), pod("a"), profiles=(failing,)), SchedulingFailed)
    assert failed.message == 'running PreFilter plugin "Narrower": no answer'


def test_seed_decides_the_choices_of_the_scheduler() -> None:
    def placements(seed: int) -> list[str]:
        nodes = [node(f"n{number}") for number in range(7)]
        scheduler = scheduler_of(*nodes, *(pod(f"p{number}") for number in range(30)), seed=seed)
        return [outcome.node_name for outcome in run_until_idle(scheduler) if isinstance(outcome, Bind)]

    assert placements(1) == placements(1)
    assert placements(1) != placements(2)


def test_next_wakeup_is_the_time_at_which_the_next_backoff_ends() -> None:
    scheduler = scheduler_of(pod("a"))
    assert scheduler.next_wakeup(0.0) == 0.0
    add_objects(scheduler, node("n1"))
    finish_binding(scheduler, next_outcome(scheduler, Bind), "409")
    assert scheduler.next_wakeup(0.0) == 2.0


@pytest.mark.parametrize("body", [node_object("n1", cpu="-4"), {"metadata": {"name": "n1"}}])
def test_node_with_negative_or_no_resources_takes_no_pod(body: dict[str, Any]) -> None:
    rejected = next_outcome(scheduler_of(make_node(body), pod("a", cpu="1")), Unschedulable)
    assert rejected.message.startswith("0/1 nodes are available: ")

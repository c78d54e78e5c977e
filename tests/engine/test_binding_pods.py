import weakref
from dataclasses import dataclass

from builders import node, pod
from engine.doubles import SCHEDULER
from engine.scheduler_driver import add_objects, finish_binding, next_outcome, run_until_idle, scheduler_of
from moorage.engine.messages import ProfileRemoved
from moorage.engine.outcomes import Bind, Held, Unschedulable
from moorage.framework.cluster_events import deleted, updated


@dataclass(eq=False)
class Service:
    name: str = "s"
    namespace: str = "default"


def test_queue_keeps_no_events_for_a_pod_that_is_being_bound() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    next_outcome(scheduler, Bind)
    service = Service()
    reference = weakref.ref(service)
    scheduler.apply(deleted("Service", service), 1.0)
    del service
    assert reference() is None
    assert scheduler.statistics.pending_pods()["binding"] == 1
    assert scheduler.statistics.pending_pods()["inFlight"] == 0


def test_newest_version_of_a_pod_is_tried_after_its_binding_failed() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    bind = next_outcome(scheduler, Bind)
    scheduler.apply(updated("Pod", pod("a"), pod("a", labels={"version": "2"})), 0.0)
    finish_binding(scheduler, bind, "binding volumes: timed out")
    assert next_outcome(scheduler, Bind, 3.0).pod.labels == {"version": "2"}


def test_failed_binding_frees_the_resources_and_requeues_the_pod() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("a", cpu="1"))
    bind = next_outcome(scheduler, Bind)
    assert scheduler.snapshot.requested("cpu").tolist() == [1000]
    finish_binding(scheduler, bind, "409 Conflict")
    assert scheduler.snapshot.requested("cpu").tolist() == [0]
    assert run_until_idle(scheduler, 0.5) == []
    assert next_outcome(scheduler, Bind, 3.0).attempts == 2


def test_failed_binding_requeues_another_pod_that_needs_the_resources() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("a", cpu="1"), pod("b", cpu="1"))
    bind, rejected = run_until_idle(scheduler)
    assert isinstance(bind, Bind)
    assert isinstance(rejected, Unschedulable)
    finish_binding(scheduler, bind, "404", now=20.0)
    assert next_outcome(scheduler, Bind, 20.0).pod.name == "b"


def test_pod_that_was_deleted_before_its_binding_failed_is_not_tried_again() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    bind = next_outcome(scheduler, Bind)
    scheduler.apply(deleted("Pod", pod("a")), 1.0)
    finish_binding(scheduler, bind, "404", now=1.0)
    assert run_until_idle(scheduler, 100.0) == []
    assert sum(scheduler.statistics.pending_pods().values()) == 0


def test_pod_stays_on_its_node_if_the_watch_confirms_it_before_its_binding_fails() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("a", cpu="1"))
    bind = next_outcome(scheduler, Bind)
    add_objects(scheduler, pod("a", cpu="1", node="n1"))
    finish_binding(scheduler, bind, "the connection was reset")
    assert run_until_idle(scheduler, 100.0) == []
    assert scheduler.snapshot.requested("cpu").tolist() == [1000]


def test_bound_pod_is_not_pending() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    finish_binding(scheduler, next_outcome(scheduler, Bind))
    add_objects(scheduler, pod("a", node="n1"))
    assert sum(scheduler.statistics.pending_pods().values()) == 0
    assert scheduler.next_wakeup(0.0) is None


def test_pod_leaves_the_queue_if_another_client_binds_it() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    add_objects(scheduler, pod("a", node="n1"))
    assert run_until_idle(scheduler) == []


def test_assumed_pod_frees_its_resources_if_it_is_being_deleted() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), pod("a", cpu="1"))
    bind = next_outcome(scheduler, Bind)
    scheduler.apply(updated("Pod", pod("a", cpu="1"), pod("a", cpu="1", terminating=True)), 0.0)
    assert scheduler.snapshot.requested("cpu").tolist() == [0]
    finish_binding(scheduler, bind, "409")
    assert run_until_idle(scheduler, 100.0) == []


def test_pod_is_held_if_its_binding_fails_after_its_profile_was_removed() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    bind = next_outcome(scheduler, Bind)
    scheduler.apply(ProfileRemoved(SCHEDULER), 0.0)
    finish_binding(scheduler, bind, "409")
    assert next_outcome(scheduler, Held).pod.name == "a"
    assert scheduler.statistics.pending_pods_by_profile()[SCHEDULER] == {"held": 1}

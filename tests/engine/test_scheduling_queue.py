from typing import Any

import pytest

from builders import node, pod
from engine.doubles import SCHEDULER, Gate, NameFilter, OtherFilter, profile
from moorage.engine.queue.queued_pod_info import QueuedPodInfo, QueueType
from moorage.engine.queue.scheduling_queue import MAX_IN_UNSCHEDULABLE_SECONDS, SchedulingQueue
from moorage.framework.cluster_events import added, updated
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod

NODES = frozenset({"NameFilter"})
SERVICES = frozenset({"OtherFilter"})
NO_PLUGINS: frozenset[str] = frozenset()
NODE_ADDED = added("Node", node("n1"))
SERVICE_ADDED = added("Service", object())


def default_profile(**settings: Any) -> Profile:
    filters = (NameFilter(wakes_on=frozenset({"Node"})), OtherFilter(wakes_on=frozenset({"Service"})))
    return profile(filter=filters, pre_enqueue=(Gate(),), settings=settings)


def queue_of(*pods: Pod, now: float = 0.0, **settings: Any) -> SchedulingQueue:
    queue = SchedulingQueue({SCHEDULER: default_profile(**settings)})
    for each in pods:
        queue.add(each, now)
    return queue


def popped(queue: SchedulingQueue, now: float) -> QueuedPodInfo:
    queued = queue.pop(now)
    assert queued is not None
    return queued


def names(queue: SchedulingQueue, now: float) -> list[str]:
    found = []
    while (queued := queue.pop(now)) is not None:
        found.append(queued.pod.name)
    return found


def queue_type_of(queue: SchedulingQueue, each: Pod) -> QueueType:
    queued = queue.find(each.uid)
    assert queued is not None
    return queued.queue


def test_pods_are_popped_by_priority_then_in_the_order_of_their_addition() -> None:
    queue = queue_of()
    for second, (name, priority) in enumerate([("a", 0), ("b", 5), ("c", 0), ("d", 5)]):
        queue.add(pod(name, priority=priority), float(second))
    assert names(queue, 9.0) == ["b", "d", "a", "c"]


def test_rejected_pod_waits_for_an_event_that_the_rejecting_plugin_is_interested_in() -> None:
    waiting = pod("a")
    queue = queue_of(waiting)
    queue.reject(popped(queue, 0.0), NODES, NO_PLUGINS, 0.0)
    queue.move_on_event(SERVICE_ADDED, 20.0)
    assert queue_type_of(queue, waiting) is QueueType.UNSCHEDULABLE
    assert queue.pop(20.0) is None
    queue.move_on_event(NODE_ADDED, 20.0)
    assert names(queue, 20.0) == ["a"]


def test_retry_requeues_an_unschedulable_pod_after_its_backoff() -> None:
    waiting, other = pod("a"), pod("b")
    queue = queue_of(waiting)
    queue.reject(popped(queue, 0.0), NODES, NO_PLUGINS, 0.0)
    queue.retry(waiting.uid, 0.1)
    assert queue_type_of(queue, waiting) is QueueType.BACKOFF
    queue.add(other, 0.2)
    queue.retry(other.uid, 0.3)
    assert queue_type_of(queue, other) is QueueType.ACTIVE


def test_event_during_the_attempt_requeues_the_pod() -> None:
    queue = queue_of(pod("a"))
    queued = popped(queue, 0.0)
    queue.move_on_event(NODE_ADDED, 0.1)
    queue.reject(queued, NODES, NO_PLUGINS, 0.2)
    assert queued.queue is QueueType.BACKOFF


def test_event_before_the_attempt_does_not_requeue_the_pod() -> None:
    queue = queue_of(pod("a"), pod("b"))
    first = popped(queue, 0.0)
    queue.move_on_event(NODE_ADDED, 0.1)
    second = popped(queue, 0.2)
    queue.reject(second, NODES, NO_PLUGINS, 0.3)
    assert second.queue is QueueType.UNSCHEDULABLE
    queue.reject(first, NODES, NO_PLUGINS, 0.3)
    assert first.queue is QueueType.BACKOFF


def test_requeued_pod_is_popped_after_its_backoff_if_other_pods_are_active() -> None:
    queue = queue_of(pod("a"))
    queue.reject(popped(queue, 0.0), NODES, NO_PLUGINS, 0.0)
    queue.move_on_event(NODE_ADDED, 0.5)
    queue.add(pod("b"), 0.5)
    queue.add(pod("c"), 0.5)
    assert popped(queue, 1.9).pod.name == "b"
    assert popped(queue, 2.0).pod.name == "a"


def test_rejected_pod_is_popped_before_its_backoff_ends_if_no_pod_is_active() -> None:
    queue = queue_of(pod("a"))
    queue.reject(popped(queue, 0.0), NODES, NO_PLUGINS, 0.0)
    queue.move_on_event(NODE_ADDED, 0.1)
    assert popped(queue, 0.1).pod.name == "a"


def test_pod_whose_attempt_failed_is_not_popped_before_its_backoff_ends() -> None:
    queue = queue_of(pod("a"))
    queue.fail(popped(queue, 0.0), 0.0)
    assert queue.pop(1.9) is None
    assert queue.next_backoff_expiry() == 2.0
    assert popped(queue, 2.0).pod.name == "a"


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (9, 10)])
def test_backoff_doubles_up_to_its_maximum(attempts: int, seconds: int) -> None:
    queue = queue_of(pod("a"))
    now = 0.0
    for _ in range(attempts):
        queue.fail(popped(queue, now), now)
        expiry = queue.next_backoff_expiry()
        assert expiry is not None
        started, now = now, expiry
    assert now == started + seconds + 1  # a backoff ends when the second after its expiry begins


def test_profile_sets_the_backoff() -> None:
    queue = queue_of(pod("a"), initial_backoff_seconds=3.0, max_backoff_seconds=4.0)
    queue.fail(popped(queue, 0.0), 0.0)
    assert queue.next_backoff_expiry() == 4.0
    queue.fail(popped(queue, 4.0), 4.0)
    assert queue.next_backoff_expiry() == 9.0


def test_rejection_resets_the_number_of_consecutive_errors() -> None:
    queue = queue_of(pod("a"))
    now = 0.0
    for _ in range(4):
        queue.fail(popped(queue, now), now)
        now += 20.0
    queue.reject(popped(queue, now), NODES, NO_PLUGINS, now)
    queue.move_on_event(NODE_ADDED, now)
    assert queue.next_backoff_expiry() == now + 2.0


def test_pod_skips_its_backoff_if_an_event_helps_its_pending_plugin() -> None:
    waiting = pod("a")
    queue = queue_of(waiting)
    queue.reject(popped(queue, 0.0), NODES, NODES, 0.0)
    queue.move_on_event(NODE_ADDED, 0.1)
    assert queue_type_of(queue, waiting) is QueueType.ACTIVE


def test_pod_that_is_unschedulable_for_too_long_is_requeued() -> None:
    waiting = pod("a")
    queue = queue_of(waiting)
    queue.reject(popped(queue, 0.0), NODES, NO_PLUGINS, 0.0)
    queue.flush_unschedulable_leftover(MAX_IN_UNSCHEDULABLE_SECONDS)
    assert queue_type_of(queue, waiting) is QueueType.UNSCHEDULABLE
    queue.flush_unschedulable_leftover(MAX_IN_UNSCHEDULABLE_SECONDS + 0.1)
    assert queue_type_of(queue, waiting) is QueueType.ACTIVE


def test_gated_pod_is_not_tried_until_an_update_removes_its_gate() -> None:
    gated = pod("a", labels={"held": ""})
    queue = queue_of(gated)
    assert queue.pop(0.0) is None
    queue.move_on_event(NODE_ADDED, 1.0)
    queue.flush_unschedulable_leftover(MAX_IN_UNSCHEDULABLE_SECONDS * 2)
    assert queue_type_of(queue, gated) is QueueType.GATED
    queue.update(updated("Pod", gated, pod("a")), 700.0)
    queued = popped(queue, 700.0)
    assert queued.pod.name == "a"
    assert queued.first_attempt_at == 700.0


def test_update_of_an_unschedulable_pod_replaces_the_pod_in_its_queue() -> None:
    old, new = pod("a", labels={"v": "1"}), pod("a", labels={"v": "2"})
    queue = queue_of(old)
    queue.reject(popped(queue, 0.0), NODES, NO_PLUGINS, 0.0)
    queue.update(updated("Pod", old, new), 1.0)
    assert queue_type_of(queue, new) is QueueType.UNSCHEDULABLE
    queue.move_on_event(NODE_ADDED, 1.0)
    assert popped(queue, 1.0).pod is new


def test_new_version_of_a_pod_is_queued_if_an_update_arrives_during_its_attempt() -> None:
    old, new = pod("a"), pod("a", labels={"v": "2"})
    queue = queue_of(old)
    queued = popped(queue, 0.0)
    queue.update(updated("Pod", old, new), 0.0)
    queue.fail(queued, 0.0)
    assert popped(queue, 5.0).pod is new


def test_pod_is_tried_again_after_its_backoff_if_its_binding_fails() -> None:
    bound = pod("a")
    queue = queue_of(bound)
    queued = popped(queue, 0.0)
    queue.done(bound.uid)
    assert queue.find(bound.uid) is None
    queue.fail(queued, 5.0)
    assert queue_type_of(queue, bound) is QueueType.BACKOFF
    assert popped(queue, 8.0).attempts == 2


def test_pod_whose_binding_failed_does_not_replace_its_newer_version_in_the_queue() -> None:
    first = pod("a")
    queue = queue_of(first)
    queued = popped(queue, 0.0)
    queue.done(first.uid)
    second = pod("a", labels={"v": "2"})
    queue.add(second, 1.0)
    queue.fail(queued, 2.0)
    assert popped(queue, 2.0).pod is second
    assert queue.pop(100.0) is None


@pytest.mark.parametrize("updated_during_the_attempt", [True, False])
def test_status_update_after_a_failed_attempt_does_not_requeue_the_pod(*, updated_during_the_attempt: bool) -> None:
    waiting, reported = pod("a"), pod("a", status={"conditions": [{"type": "PodScheduled", "status": "False"}]})
    queue = SchedulingQueue({SCHEDULER: profile(filter=(NameFilter(wakes_on=frozenset({"Pod"})),))})
    queue.add(waiting, 0.0)
    queued = popped(queue, 0.0)
    if updated_during_the_attempt:
        queue.update(updated("Pod", waiting, reported), 0.0)
    queue.reject(queued, NODES, NO_PLUGINS, 0.0)
    if not updated_during_the_attempt:
        queue.update(updated("Pod", waiting, reported), 0.0)

    assert queue_type_of(queue, waiting) is QueueType.UNSCHEDULABLE
    queue.update(updated("Pod", reported, pod("a", labels={"app": "web"})), 0.0)
    assert queue_type_of(queue, waiting) is not QueueType.UNSCHEDULABLE


def test_deleted_pod_leaves_every_queue() -> None:
    pods = [pod(name) for name in "abc"]
    queue = queue_of(*pods, pod("d", labels={"held": ""}))
    queue.reject(popped(queue, 0.0), NODES, NO_PLUGINS, 0.0)
    queue.fail(popped(queue, 0.0), 0.0)
    for each in (*pods, pod("d")):
        queue.delete(each.uid)
    queue.move_on_event(NODE_ADDED, 100.0)
    assert queue.pop(100.0) is None
    assert not any(queue.counts().values())


def test_counts_have_the_number_of_pods_in_every_queue() -> None:
    queue = queue_of(pod("a"), pod("b"), pod("c"), pod("d", labels={"held": ""}))
    queue.reject(popped(queue, 0.0), NODES, NO_PLUGINS, 0.0)
    queue.fail(popped(queue, 0.0), 0.0)
    assert queue.counts() == {"active": 1, "backoff": 1, "unschedulable": 1, "gated": 1, "inFlight": 0}
    assert queue.counts_by_profile() == {
        SCHEDULER: {"active": 1, "backoff": 1, "unschedulable": 1, "gated": 1},
    }


def test_retry_profile_makes_all_pods_of_the_profile_active_at_once() -> None:
    queue = queue_of(pod("a"), pod("b"))
    queue.reject(popped(queue, 0.0), NODES, NO_PLUGINS, 0.0)
    queue.fail(popped(queue, 0.0), 0.0)
    queue.retry_profile(SCHEDULER, 0.5)
    assert sorted(names(queue, 0.5)) == ["a", "b"]


def test_queue_computes_the_queueing_hint_of_an_event_once_for_pods_of_one_shape() -> None:
    asked: list[str] = []

    class Counting(NameFilter):
        def queueing_hint(self, pod: Pod, event: Any) -> bool:
            asked.append(pod.name)
            return bool(event.kind == "Service")

    queue = SchedulingQueue({SCHEDULER: profile(filter=(Counting(),))})
    for number in range(10):
        queue.add(pod(f"p{number}"), 0.0)
    while (queued := queue.pop(0.0)) is not None:
        queue.reject(queued, frozenset({"Counting"}), NO_PLUGINS, 0.0)
    queue.move_on_event(NODE_ADDED, 20.0)
    assert len(asked) == 1
    queue.move_on_event(SERVICE_ADDED, 20.0)
    assert len(names(queue, 20.0)) == 10


def test_pod_is_active_since_the_event_that_requeued_it() -> None:
    waiting = pod("a")
    queue = queue_of(waiting)
    queue.reject(popped(queue, 0.0), NODES, NO_PLUGINS, 0.0)
    queue.move_on_event(NODE_ADDED, 200.0)
    assert queue_type_of(queue, waiting) is QueueType.ACTIVE
    assert queue.active_since_before(200.0) == []
    newer = pod("a", labels={"v": "2"})
    queue.update(updated("Pod", waiting, newer), 300.0)
    assert [each.pod for each in queue.active_since_before(201.0)] == [newer]

"""The queue agrees with a slow model: a dict of records that each operation searches completely."""

from dataclasses import dataclass, field
from math import floor

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from builders import node, pod
from engine.doubles import SCHEDULER, NameFilter, OtherFilter, profile
from moorage.engine.queue.queued_pod_info import QueuedPodInfo
from moorage.engine.queue.scheduling_queue import MAX_IN_UNSCHEDULABLE_SECONDS, SchedulingQueue
from moorage.framework.cluster_events import ClusterEvent, added

EVENTS = {"Node": added("Node", node("n1")), "Service": added("Service", object())}
WAKES = {"NameFilter": "Node", "OtherFilter": "Service"}
PLUGINS = st.sets(st.sampled_from(sorted(WAKES)), min_size=1).map(frozenset)


@dataclass
class Record:
    uid: str
    priority: int
    queued_at: float
    queue: str = "active"
    rejections: int = 0
    errors: int = 0
    plugins: frozenset[str] = frozenset()
    events: list[str] = field(default_factory=list)
    """The kinds of the events since the pod was popped."""

    def expiry(self) -> int:
        count = self.errors or self.rejections
        return floor(self.queued_at + min(2.0 ** (count - 1), 10.0))

    def key(self) -> tuple[int, float]:
        return -self.priority, self.queued_at


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        filters = (
            NameFilter(wakes_on=frozenset({WAKES["NameFilter"]})),
            OtherFilter(wakes_on=frozenset({WAKES["OtherFilter"]})),
        )
        self.queue = SchedulingQueue({SCHEDULER: profile(filter=filters)})
        self.records: dict[str, Record] = {}
        self.in_flight: dict[str, QueuedPodInfo] = {}
        self.binding: dict[str, QueuedPodInfo] = {}
        self.now = 0.0
        self.next_name = 0

    @rule(priority=st.integers(0, 2))
    def add(self, priority: int) -> None:
        each = pod(f"p{self.next_name}", priority=priority)
        self.next_name += 1
        self.records[each.uid] = Record(each.uid, priority, self.now)
        self.queue.add(each, self.now)

    @rule(seconds=st.sampled_from([0.0, 0.3, 1.0, 2.5, 11.0]))
    def advance(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def pop(self) -> None:
        for record in self.records.values():
            if record.queue == "backoff" and record.expiry() < floor(self.now):
                record.queue = "active"
        active = [record for record in self.records.values() if record.queue == "active"]
        early = [r for r in self.records.values() if r.queue == "backoff" and r.plugins]
        queued = self.queue.pop(self.now)
        if not active and not early:
            assert queued is None
            return
        assert queued is not None
        chosen = self.records[queued.pod.uid]
        if active:
            assert chosen in active
            assert chosen.key() == min(record.key() for record in active)
        else:
            assert chosen in early
            assert (chosen.expiry(), *chosen.key()) == min((r.expiry(), *r.key()) for r in early)
        chosen.queue = "in flight"
        chosen.events = []
        self.in_flight[queued.pod.uid] = queued

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data(), plugins=PLUGINS)
    def reject(self, data: st.DataObject, plugins: frozenset[str]) -> None:
        queued, record = self._choose(data)
        record.rejections += 1
        record.errors = 0
        record.plugins = plugins
        record.queued_at = self.now
        record.queue = "unschedulable"
        self.queue.reject(queued, plugins, frozenset(), self.now)
        if any(WAKES[name] in record.events for name in plugins):
            self._requeue(record)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        self._fail(*self._choose(data))

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data())
    def start_binding(self, data: st.DataObject) -> None:
        queued, record = self._choose(data)
        record.queue = "binding"
        self.binding[record.uid] = queued
        self.queue.done(record.uid)

    @precondition(lambda self: self.binding)
    @rule(data=st.data(), has_failed=st.booleans())
    def finish_binding(self, data: st.DataObject, *, has_failed: bool) -> None:
        uid = data.draw(st.sampled_from(sorted(self.binding)))
        queued = self.binding.pop(uid)
        if has_failed:
            self._fail(queued, self.records[uid])
        else:
            del self.records[uid]

    @precondition(lambda self: self.records)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.records)))
        del self.records[uid]
        self.binding.pop(uid, None)
        self.queue.delete(uid)
        if self.in_flight.pop(uid, None) is not None:
            self.queue.done(uid)

    @rule(kind=st.sampled_from(sorted(EVENTS)))
    def event(self, kind: str) -> None:
        event: ClusterEvent = EVENTS[kind]
        self.queue.move_on_event(event, self.now)
        for record in self.records.values():
            if record.queue == "in flight":
                record.events.append(kind)
            elif record.queue == "unschedulable" and any(WAKES[name] == kind for name in record.plugins):
                self._requeue(record)

    @rule()
    def flush(self) -> None:
        self.now += MAX_IN_UNSCHEDULABLE_SECONDS / 2
        self.queue.flush_unschedulable_leftover(self.now)
        for record in self.records.values():
            if record.queue == "unschedulable" and self.now - record.queued_at > MAX_IN_UNSCHEDULABLE_SECONDS:
                record.queue = "active"

    @invariant()
    def every_pod_without_a_binding_is_in_one_queue(self) -> None:
        counts = self.queue.counts()
        queues = [record.queue for record in self.records.values()]
        assert sum(counts.values()) == len(self.records) - queues.count("binding")
        assert counts["unschedulable"] == queues.count("unschedulable")
        assert counts["inFlight"] == queues.count("in flight")
        assert counts["active"] + counts["backoff"] == queues.count("active") + queues.count("backoff")

    @invariant()
    def the_queue_keeps_the_events_since_the_oldest_pod_in_flight_was_popped(self) -> None:
        kept = max((len(self.records[uid].events) for uid in self.in_flight), default=0)
        assert len(self.queue._in_flight._events) == kept

    def _choose(self, data: st.DataObject) -> tuple[QueuedPodInfo, Record]:
        uid = data.draw(st.sampled_from(sorted(self.in_flight)))
        return self.in_flight.pop(uid), self.records[uid]

    def _fail(self, queued: QueuedPodInfo, record: Record) -> None:
        record.errors += 1
        record.plugins = frozenset()
        record.queued_at = self.now
        record.queue = "backoff"
        self.queue.fail(queued, self.now)

    def _requeue(self, record: Record) -> None:
        record.queue = "backoff" if record.expiry() >= floor(self.now) else "active"


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

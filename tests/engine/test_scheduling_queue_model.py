"""The queue against a slow one: a list of records that is searched anew each time."""

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
REJECTORS = st.sets(st.sampled_from(sorted(WAKES)), min_size=1).map(frozenset)


@dataclass
class Record:
    uid: str
    priority: int
    queued_at: float
    place: str = "active"
    rejections: int = 0
    errors: int = 0
    rejectors: frozenset[str] = frozenset()
    missed: list[str] = field(default_factory=list)

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
        self.trying: dict[str, QueuedPodInfo] = {}
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
            if record.place == "backoff" and record.expiry() < floor(self.now):
                record.place = "active"
        active = [record for record in self.records.values() if record.place == "active"]
        early = [r for r in self.records.values() if r.place == "backoff" and r.rejectors]
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
        chosen.place = "trying"
        chosen.missed = []
        self.trying[queued.pod.uid] = queued

    @precondition(lambda self: self.trying)
    @rule(data=st.data(), rejectors=REJECTORS)
    def reject(self, data: st.DataObject, rejectors: frozenset[str]) -> None:
        queued, record = self._choose(data)
        record.rejections += 1
        record.errors = 0
        record.rejectors = rejectors
        record.queued_at = self.now
        record.place = "parked"
        self.queue.reject(queued, rejectors, frozenset(), self.now)
        if any(WAKES[name] in record.missed for name in rejectors):
            self._wake(record)

    @precondition(lambda self: self.trying)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        queued, record = self._choose(data)
        record.errors += 1
        record.rejectors = frozenset()
        record.queued_at = self.now
        record.place = "backoff"
        self.queue.fail(queued, self.now)

    @precondition(lambda self: self.trying)
    @rule(data=st.data())
    def bound(self, data: st.DataObject) -> None:
        queued, record = self._choose(data)
        del self.records[record.uid]
        self.queue.done(queued.pod.uid)

    @precondition(lambda self: self.records)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.records)))
        del self.records[uid]
        self.queue.delete(uid)
        if self.trying.pop(uid, None) is not None:
            self.queue.done(uid)

    @rule(kind=st.sampled_from(sorted(EVENTS)))
    def event(self, kind: str) -> None:
        event: ClusterEvent = EVENTS[kind]
        self.queue.move_on_event(event, self.now)
        for record in self.records.values():
            if record.place == "trying":
                record.missed.append(kind)
            elif record.place == "parked" and any(WAKES[name] == kind for name in record.rejectors):
                self._wake(record)

    @rule()
    def flush(self) -> None:
        self.now += MAX_IN_UNSCHEDULABLE_SECONDS / 2
        self.queue.flush_leftovers(self.now)
        for record in self.records.values():
            if record.place == "parked" and self.now - record.queued_at > MAX_IN_UNSCHEDULABLE_SECONDS:
                record.place = "active"

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        counts = self.queue.counts()
        assert sum(counts.values()) == len(self.queue) == len(self.records)
        places = [record.place for record in self.records.values()]
        assert counts["unschedulable"] == places.count("parked")
        assert counts["inFlight"] == places.count("trying")
        assert counts["active"] + counts["backoff"] == places.count("active") + places.count("backoff")

    def _choose(self, data: st.DataObject) -> tuple[QueuedPodInfo, Record]:
        uid = data.draw(st.sampled_from(sorted(self.trying)))
        return self.trying.pop(uid), self.records[uid]

    def _wake(self, record: Record) -> None:
        record.place = "backoff" if record.expiry() >= floor(self.now) else "active"


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

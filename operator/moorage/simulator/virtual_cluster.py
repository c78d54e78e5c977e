"""The engine with the nodes of a file and a virtual clock. `VirtualCluster` carries out decisions like the runtime."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from moorage.cluster.snapshot import Snapshot
from moorage.engine.messages import BindingFinished
from moorage.engine.outcomes import Bind, Outcome, SchedulingFailed, Unschedulable
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import ClusterEvent, added, deleted
from moorage.framework.profile import Profile
from moorage.model.decode import Decoder
from moorage.model.pods.pod import Pod
from moorage.simulator.file_objects import PodTemplates

POD = "Pod"
LACK_OF_ROOM = ("Insufficient ", "Too many pods")
"""The first words of the reasons with which NodeResourcesFit rejects nodes."""


class VirtualCluster:
    """A cluster in which a pod runs as soon as it is bound, and a victim is gone as soon as it is evicted."""

    def __init__(
        self, profile: Profile, events: Iterable[ClusterEvent], seed: int, *, may_preempt: bool = True
    ) -> None:
        """Start with the objects of `events`. `may_preempt` is False if no pod has a priority."""
        self._may_preempt = may_preempt
        decoder = Decoder()
        self.templates = PodTemplates(decoder, profile.name)
        self._scheduler = Scheduler(seed, [profile])
        self._placed: dict[str, Pod] = {}
        for event in events:
            self._scheduler.apply(event, 0.0)
            if event.kind == POD:
                self._placed[event.new.uid] = event.new

    @property
    def snapshot(self) -> Snapshot:
        """The nodes in the order of the file; valid until the next call."""
        return self._scheduler.snapshot

    def add(self, pod: Pod, now: float) -> None:
        """Add a pod that waits for a node."""
        self._scheduler.apply(added(POD, pod), now)

    def remove(self, pod: Pod, now: float) -> bool:
        """Delete a pod; return whether it had a node."""
        placed = self._placed.pop(pod.uid, None)
        self._scheduler.apply(deleted(POD, placed or pod), now)
        return placed is not None

    def next_outcome(self, now: float) -> Outcome | None:
        """Try the next pod, and carry out the decision. Return None if no pod is ready."""
        outcome = self._scheduler.schedule_one(now)
        match outcome:
            case Bind():
                self._scheduler.apply(BindingFinished(outcome.pod, outcome.node_name), now)
                # Only the choice of victims reads the start time. Without preemption, the engine is faster if it gets
                # the same pod.
                running = replace(outcome.pod, start_time=now) if self._may_preempt else outcome.pod
                self._placed[running.uid] = running
                self._scheduler.apply(added(POD, running), now)
            case Unschedulable():
                self._evict(outcome.victims, now)
        return outcome

    def _evict(self, victims: Iterable[Pod], now: float) -> None:
        for victim in victims:
            self.remove(victim, now)


def reason_of(outcome: Outcome | None) -> str:
    """Return the reason why a pod was not placed.

    Return the reason that rejects the most nodes. Prefer reasons about missing resources, because they concern the
    nodes that the pod may run on.
    """
    match outcome:
        case Unschedulable():
            diagnosis = outcome.diagnosis
            if diagnosis.reasons:
                room = {reason: nodes for reason, nodes in diagnosis.reasons.items() if reason.startswith(LACK_OF_ROOM)}
                return min((room or diagnosis.reasons).items(), key=lambda each: (-each[1], each[0]))[0]
            return "; ".join(diagnosis.pre_filter.reasons) or outcome.message
        case SchedulingFailed():
            return f"error: {outcome.message}"
        case _:
            return "the pod was not tried"

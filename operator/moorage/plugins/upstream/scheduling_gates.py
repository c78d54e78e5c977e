"""SchedulingGates: keeps a pod out of the active queue until its last scheduling gate is removed.

Upstream: pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.framework.extension_points import PreEnqueuePlugin
from moorage.framework.status import SUCCESS, Status, unresolvable

if TYPE_CHECKING:
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod


class SchedulingGates(PreEnqueuePlugin):
    """Keeps pods with `spec.schedulingGates` out of the active queue."""

    interests = frozenset({"Pod"})

    def pre_enqueue(self, pod: Pod) -> Status:
        """Return SUCCESS for a pod without gates, otherwise a rejection that names the gates."""
        if not pod.scheduling_gates:
            return SUCCESS
        return unresolvable(f"waiting for scheduling gates: [{' '.join(pod.scheduling_gates)}]")

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether the pod's new version has no gates."""
        return event.new is not None and event.new.uid == pod.uid and not event.new.scheduling_gates

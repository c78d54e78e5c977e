"""PrioritySort: orders the active queue.

Upstream: pkg/scheduler/framework/plugins/queuesort/priority_sort.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.framework.extension_points import QueueSortPlugin

if TYPE_CHECKING:
    from moorage.model.pods.pod import Pod


class PrioritySort(QueueSortPlugin):
    """Sorts pods by priority, highest first. Of pods with equal priority, the one that waits longest comes first."""

    def sort_key(self, pod: Pod, queued_at: float) -> tuple[float, ...]:
        """Return the negated priority and the time at which the pod last entered the queue."""
        return (-pod.priority, queued_at)

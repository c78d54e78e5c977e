"""A pod in the scheduling queue, with the data that the queue keeps between attempts.

Upstream: pkg/scheduler/framework/types.go (QueuedPodInfo).
"""

from dataclasses import dataclass
from enum import Enum

from moorage.model.pods.pod import Pod


class QueueType(Enum):
    """The part of the scheduling queue that holds a pod. The values are kube-scheduler's names, except inFlight."""

    ACTIVE = "active"  # ready for an attempt
    BACKOFF = "backoff"  # tried again after its backoff
    UNSCHEDULABLE = "unschedulable"  # rejected; waits for an event
    GATED = "gated"  # rejected by a PreEnqueue plugin; waits for an event
    IN_FLIGHT = "inFlight"  # its attempt has begun and not ended


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A pod in the scheduling queue, or a pod that is being bound and returns to the queue if its binding fails."""

    pod: Pod
    queued_at: float
    """When the pod last entered the queue, in seconds."""
    queue: QueueType = QueueType.UNSCHEDULABLE
    ready_at: float = 0.0
    """When the pod last became active, in seconds."""
    first_attempt_at: float | None = None
    """When the pod first became active, in seconds; the time while it is gated does not count."""
    attempts: int = 0
    unschedulable_count: int = 0
    """The number of attempts that ended in a rejection."""
    consecutive_errors: int = 0
    """The number of attempts in a row that ended in an error."""
    unschedulable_plugins: frozenset[str] = frozenset()
    """The plugins that rejected the pod in its last attempt, or that gate it now."""
    pending_plugins: frozenset[str] = frozenset()
    """The unschedulable plugins that answered Pending. An event that interests one of these requeues the pod without
    backoff."""
    was_flushed: bool = False
    """Whether the queue last requeued the pod because it was unschedulable for too long."""
    message: str = ""
    """The message of the last attempt that failed."""

    @property
    def backoff_count(self) -> int:
        """The number of failures that determines the backoff: errors in a row, or rejections if there are none."""
        return self.consecutive_errors or self.unschedulable_count

    @property
    def has_error(self) -> bool:
        """Whether the last attempt ended in an error, not in a rejection."""
        return not self.unschedulable_plugins and self.consecutive_errors > 0

"""A waiting pod, with what the queue remembers of it between attempts."""

from dataclasses import dataclass
from enum import Enum

from moorage.model.pods.pod import Pod


class QueueType(Enum):
    """Where a waiting pod is; the values are kube-scheduler's names of its queues."""

    ACTIVE = "active"  # ready to be tried
    BACKOFF = "backoff"  # ready, but its last failure is too recent
    UNSCHEDULABLE = "unschedulable"  # rejected; waits for an event
    GATED = "gated"  # held back by a PreEnqueue plugin; waits for an event
    IN_FLIGHT = "inFlight"  # being tried, or bound


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A pod in the scheduling queue. Only the queue writes to it."""

    pod: Pod
    queued_at: float
    """When it last entered the queue, in seconds."""
    place: QueueType = QueueType.UNSCHEDULABLE
    ready_at: float = 0.0
    """When it last became ready to be tried."""
    first_attempt_at: float | None = None
    """When it first was ready to be tried; time behind gates does not count."""
    attempts: int = 0
    unschedulable_count: int = 0
    """Attempts that ended in a rejection; with the errors below, they make the backoff."""
    consecutive_errors: int = 0
    """Attempts in a row that ended in an error."""
    rejectors: frozenset[str] = frozenset()
    """The plugins that turned it away last time, or hold it back now."""
    pending: frozenset[str] = frozenset()
    """Those of them that only asked it to wait."""
    message: str = ""
    """What the last attempt ended with."""

    @property
    def backoff_count(self) -> int:
        """How often the backoff has been earned: errors count by themselves while they last."""
        return self.consecutive_errors or self.unschedulable_count

    @property
    def has_failed(self) -> bool:
        """Whether the last attempt ended in an error, and not in a verdict."""
        return not self.rejectors and self.consecutive_errors > 0

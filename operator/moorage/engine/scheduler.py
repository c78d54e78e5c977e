"""The scheduler: the main path, from an event to an outcome.

It is driven from outside: `apply` tells it what happened, `schedule_one` tries the pod at the head of the queue, `tick`
lets time pass. It performs no I/O, and never waits; what has to be done is returned (`moorage.engine.outcomes`).
"""

from collections.abc import Iterable, Mapping

from moorage.engine.inbox import Message
from moorage.engine.outcomes import Outcome
from moorage.framework.profile import Profile
from moorage.model.pod import Pod


class Scheduler:
    """Decides where pods run. All times are seconds of one clock that never goes back."""

    def __init__(self, seed: int, profiles: Iterable[Profile] = ()) -> None:
        """Start with an empty cluster. `seed` decides between nodes that are equally good."""
        raise NotImplementedError

    def apply(self, message: Message, now: float) -> None:
        """Take in one thing that happened."""
        raise NotImplementedError

    def schedule_one(self, now: float) -> Outcome | None:
        """Try the pod that is due; None where no pod is. Never raises: a fault becomes `SchedulingFailed`."""
        raise NotImplementedError

    def tick(self, now: float) -> None:
        """Bring back pods whose backoff is over, and those that have waited too long for an event."""
        raise NotImplementedError

    def next_wakeup(self, now: float) -> float | None:
        """Return when `tick` next has something to do, None for never; `now` where a pod is due already."""
        raise NotImplementedError

    def pending_pods(self) -> Mapping[str, int]:
        """Return the number of waiting pods by queue: active, backoff, unschedulable, gated."""
        raise NotImplementedError

    def pending_pods_of(self, scheduler_name: str) -> Mapping[str, int]:
        """Return the same for the pods of one profile, and `held` for those that nobody tries."""
        raise NotImplementedError

    def held_pods(self, scheduler_name: str) -> tuple[Pod, ...]:
        """Return the pods that wait because their profile is gone, paused, or has never been there."""
        raise NotImplementedError

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The live profiles by schedulerName."""
        raise NotImplementedError

"""A scheduler that starts with the state of another scheduler makes the same decisions."""

from dataclasses import dataclass

import pytest

from moorage.engine.engine_state import capture, restore
from moorage.engine.messages import Message
from moorage.engine.outcomes import Outcome
from moorage.engine.scheduler import Scheduler
from moorage.recording.outcome_records import write_outcome
from recording.random_history import PROFILES, RandomHistory


@dataclass
class Twins:
    """Two schedulers that receive the same calls and must return equal outcomes."""

    one: Scheduler
    other: Scheduler
    decisions: int = 0

    def apply(self, message: Message, now: float) -> None:
        self.one.apply(message, now)
        self.other.apply(message, now)

    def tick(self, now: float) -> None:
        self.one.tick(now)
        self.other.tick(now)
        assert self.one.next_wakeup(now) == self.other.next_wakeup(now)

    def schedule_one(self, now: float) -> Outcome | None:
        outcome, other = self.one.schedule_one(now), self.other.schedule_one(now)
        assert write_outcome(outcome) == write_outcome(other)
        self.decisions += outcome is not None
        return outcome


@pytest.mark.parametrize("seed", range(5))
def test_a_restored_scheduler_decides_like_the_original(seed: int) -> None:
    original = Scheduler(seed, PROFILES)
    history = RandomHistory(seed, original)
    history.start()
    history.run(150 + 100 * seed)
    restored = Scheduler(seed)
    restore(restored.parts, capture(original.parts))
    twins = Twins(original, restored)
    history.engine = twins
    history.run(300)
    assert twins.decisions > 50
    assert restored.statistics.pending_pods() == original.statistics.pending_pods()


def test_a_state_does_not_change_with_the_scheduler() -> None:
    original = Scheduler(1, PROFILES)
    history = RandomHistory(1, original)
    history.start()
    history.run(200)
    state = capture(original.parts)
    attempts = [queued.attempts for queued in state.queue.pods]
    history.run(100)
    assert [queued.attempts for queued in state.queue.pods] == attempts

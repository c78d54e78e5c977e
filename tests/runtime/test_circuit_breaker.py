"""The circuit breaker's states."""

from fakes import FakeClock
from moorage.runtime.extenders.circuit_breaker import BreakerState, CircuitBreaker


class Watched:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.changes: list[BreakerState] = []
        self.breaker = CircuitBreaker(self.clock, 2, 10, self.changes.append)

    def open(self) -> CircuitBreaker:
        self.breaker.failed("down")
        self.breaker.failed("down")
        return self.breaker


def test_a_breaker_opens_after_several_failures_in_a_row() -> None:
    watched = Watched()
    for verdict in (watched.breaker.failed, lambda _: watched.breaker.succeeded(), watched.breaker.failed):
        verdict("down")
    assert watched.breaker.admits()

    watched.breaker.failed("still down")

    assert watched.breaker.state is BreakerState.OPEN
    assert not watched.breaker.admits()
    assert watched.breaker.error == "still down"
    assert watched.changes == [BreakerState.OPEN]


def test_a_half_open_breaker_admits_one_call_and_closes_if_the_call_succeeds() -> None:
    watched = Watched()
    breaker = watched.open()
    watched.clock.now += 10

    assert breaker.admits()
    assert not breaker.admits()
    breaker.succeeded()
    assert breaker.admits()
    assert breaker.error == ""
    assert watched.changes == [BreakerState.OPEN, BreakerState.HALF_OPEN, BreakerState.CLOSED]


def test_a_failed_trial_opens_the_breaker_again_for_the_whole_time() -> None:
    watched = Watched()
    breaker = watched.open()
    watched.clock.now += 10
    assert breaker.admits()
    watched.clock.now += 5
    breaker.failed("down")

    watched.clock.now += 9
    assert not breaker.admits()
    watched.clock.now += 1
    assert breaker.admits()
    assert watched.changes == [
        BreakerState.OPEN,
        BreakerState.HALF_OPEN,
        BreakerState.OPEN,
        BreakerState.HALF_OPEN,
    ]


def test_a_breaker_admits_another_trial_after_a_trial_was_abandoned() -> None:
    watched = Watched()
    breaker = watched.open()
    watched.clock.now += 10
    assert breaker.admits()
    breaker.abandoned()

    assert breaker.admits()


def test_late_failures_of_earlier_calls_do_not_keep_the_breaker_open_longer() -> None:
    watched = Watched()
    breaker = watched.open()
    watched.clock.now += 6
    breaker.failed("late")
    watched.clock.now += 4

    assert breaker.admits()

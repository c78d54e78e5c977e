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


def test_opens_after_failures_in_a_row_only() -> None:
    watched = Watched()
    for verdict in (watched.breaker.failed, lambda _: watched.breaker.succeeded(), watched.breaker.failed):
        verdict("down")
    assert watched.breaker.admits()

    watched.breaker.failed("still down")

    assert watched.breaker.state is BreakerState.OPEN
    assert not watched.breaker.admits()
    assert watched.breaker.error == "still down"
    assert watched.changes == [BreakerState.OPEN]


def test_a_half_open_breaker_admits_one_call_and_its_success_closes_it() -> None:
    watched = Watched()
    breaker = watched.open()
    watched.clock.now += 10

    assert breaker.admits()
    assert not breaker.admits()
    breaker.succeeded()
    assert breaker.admits()
    assert breaker.error == ""
    assert watched.changes == [BreakerState.OPEN, BreakerState.HALF_OPEN, BreakerState.CLOSED]


def test_a_failed_trial_opens_it_for_as_long_again() -> None:
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


def test_a_trial_that_is_given_up_makes_room_for_another() -> None:
    watched = Watched()
    breaker = watched.open()
    watched.clock.now += 10
    assert breaker.admits()
    breaker.abandoned()

    assert breaker.admits()


def test_failures_of_calls_that_began_before_do_not_prolong_the_pause() -> None:
    watched = Watched()
    breaker = watched.open()
    watched.clock.now += 6
    breaker.failed("late")
    watched.clock.now += 4

    assert breaker.admits()

from fakes import fixed_random
from moorage.runtime.backoff import ExponentialBackoff


def test_delays_double_up_to_the_maximum_with_jitter_below_the_nominal_delay() -> None:
    backoff = ExponentialBackoff(1, 10, fixed_random())
    for nominal in (1, 2, 4, 8, 10, 10):
        assert nominal / 2 <= backoff.next_seconds() <= nominal
    assert backoff.failures == 6


def test_a_reset_starts_again_from_the_first_delay() -> None:
    backoff = ExponentialBackoff(1, 10, fixed_random())
    for _ in range(5):
        backoff.next_seconds()
    backoff.reset()
    assert backoff.failures == 0
    assert backoff.next_seconds() <= 1

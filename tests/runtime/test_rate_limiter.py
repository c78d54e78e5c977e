import logging

import pytest

from fakes import FakeClock
from moorage.runtime.client.rate_limiter import RateLimiter


async def test_burst_passes_at_once_and_the_rest_at_the_rate() -> None:
    clock = FakeClock(auto=True)
    limiter = RateLimiter(qps=10, burst=3, clock=clock)
    waits = [await limiter.acquire() for _ in range(6)]
    assert waits[:3] == [0, 0, 0]
    assert waits[3:] == pytest.approx([0.1, 0.1, 0.1])


async def test_idle_time_fills_the_bucket_up_to_the_burst() -> None:
    clock = FakeClock(auto=True)
    limiter = RateLimiter(qps=10, burst=2, clock=clock)
    for _ in range(2):
        await limiter.acquire()
    clock.now += 3600
    assert [await limiter.acquire() for _ in range(2)] == [0, 0]
    assert await limiter.acquire() > 0


async def test_waiters_are_served_in_order_of_arrival() -> None:
    clock = FakeClock(auto=False)
    limiter = RateLimiter(qps=1, burst=1, clock=clock)
    assert [limiter._reserve() for _ in range(4)] == pytest.approx([0, 1, 2, 3])


async def test_a_rate_of_zero_means_no_limit() -> None:
    limiter = RateLimiter(qps=0, burst=0, clock=FakeClock())
    assert [await limiter.acquire() for _ in range(1000)] == [0] * 1000


async def test_only_the_first_of_many_long_waits_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock(auto=True)
    limiter = RateLimiter(qps=0.5, burst=1, clock=clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            await limiter.acquire()
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert "Throttling request" in messages[0]

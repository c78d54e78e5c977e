import asyncio

from fakes import FakeClock, settle
from moorage.runtime.wakeup import Wakeup


async def waiting(wakeup: Wakeup, seconds: float | None) -> "asyncio.Task[None]":
    task = asyncio.create_task(wakeup.wait(seconds))
    await settle()
    return task


async def test_a_wait_ends_at_the_signal_or_after_the_timeout() -> None:
    clock = FakeClock()
    wakeup = Wakeup(clock)
    by_time = await waiting(wakeup, 2.0)
    await clock.advance(1.9)
    assert not by_time.done()
    await clock.advance(0.1)
    assert by_time.done()
    by_signal = await waiting(wakeup, 2.0)
    wakeup.signal()
    await settle()
    assert by_signal.done()
    endless = await waiting(wakeup, None)
    await clock.advance(1000)
    assert not endless.done()
    wakeup.signal()
    await endless


async def test_a_signal_before_the_wait_ends_only_the_next_wait() -> None:
    clock = FakeClock()
    wakeup = Wakeup(clock)
    wakeup.signal()
    wakeup.signal()
    assert (await waiting(wakeup, 5.0)).done()
    second = await waiting(wakeup, 5.0)
    assert not second.done()
    await clock.advance(5)
    assert second.done()


async def test_a_cancelled_wait_leaves_no_task() -> None:
    wakeup = Wakeup(FakeClock())
    task = await waiting(wakeup, 5.0)
    task.cancel()
    await settle()
    assert asyncio.all_tasks() == {asyncio.current_task()}

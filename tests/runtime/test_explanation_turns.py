"""The turns of explanations, on a fake clock."""

import asyncio

import pytest

from fakes import FakeClock
from moorage.runtime.serving.explanation_turns import MAX_WAITING, SHARE, ExplanationTurns, TooManyQuestions


async def test_explanations_use_only_their_share_of_the_time() -> None:
    clock = FakeClock(auto=True)
    turns, used, started = ExplanationTurns(clock), 0.0, clock.monotonic()
    for _ in range(20):
        async with turns.turn():
            await clock.sleep(0.5)
            used += 0.5
    assert used / (clock.monotonic() - started) <= SHARE * 1.1


async def test_only_one_explanation_runs_and_few_wait() -> None:
    turns, running, most, goes_on = ExplanationTurns(FakeClock()), 0, 0, asyncio.Event()

    async def explain() -> None:
        nonlocal running, most
        async with turns.turn():
            running += 1
            most = max(most, running)
            await goes_on.wait()
            running -= 1

    waiting = [asyncio.create_task(explain()) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyQuestions):
        await explain()
    goes_on.set()
    await asyncio.gather(*waiting)
    await explain()
    assert most == 1

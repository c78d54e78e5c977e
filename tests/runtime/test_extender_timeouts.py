"""Time limits of calls, and the circuit breaker after failures."""

import asyncio

from extenders.calling import Caller, calling, configured
from extenders.server import FakeExtender, answering
from fakes import until
from moorage.runtime.extenders.circuit_breaker import BreakerState
from scrape import sample


async def ask_without_answer(caller: Caller, extender: FakeExtender, *, seconds: float) -> str:
    """Call an extender that never answers, and move the clock."""
    calls = len(extender.asked)
    asking = asyncio.create_task(caller.ask("n1", "n2"))
    await until(lambda: len(extender.asked) > calls)
    await caller.clock.advance(seconds)
    return (await asking).error or ""


async def test_a_call_ends_after_the_timeout_of_the_extender() -> None:
    async with FakeExtender() as extender, calling(configured(extender, httpTimeout="1500ms")) as caller:
        extender.misbehave = extender.never
        error = await ask_without_answer(caller, extender, seconds=1.5)

        assert error == f"extender {extender.url}/filter: no answer within 1.5 s"
        labels = {"extender": extender.url, "verb": "filter"}
        assert sample(caller.metrics, "moorage_extender_calls_total", **labels, result="timeout") == 1
        assert sample(caller.metrics, "moorage_extender_call_duration_seconds_sum", **labels) == 1.5


async def test_an_extender_that_had_less_time_than_its_timeout_is_not_reported_as_failed() -> None:
    async with FakeExtender() as slow, FakeExtender() as second:
        slow.misbehave, second.misbehave = slow.never, second.never
        patient = configured(slow, httpTimeout="4s", ignorable=True)
        async with calling(patient, configured(second, ignorable=True), cycle_seconds=6) as caller:
            asking = asyncio.create_task(caller.ask("n1"))
            await until(lambda: slow.asked)
            await caller.clock.advance(4)
            await until(lambda: second.asked)
            await caller.clock.advance(2)
            answer = await asking

            assert answer.node_names == {"n1"}
            assert caller.extenders.health()[slow.url].error == "no answer within 4 s"
            assert caller.extenders.health()[second.url].error == ""


async def test_a_call_takes_at_most_the_time_of_the_cycle() -> None:
    async with FakeExtender() as extender:
        extender.misbehave = extender.never
        async with calling(configured(extender, httpTimeout="1h"), cycle_seconds=6) as caller:
            assert "no answer within 6 s" in await ask_without_answer(caller, extender, seconds=6)


async def test_a_failing_extender_is_called_again_only_after_a_pause() -> None:
    async with (
        FakeExtender(misbehave=answering("", status=500)) as extender,
        calling(configured(extender), failures_to_open=2, open_seconds=10) as caller,
    ):
        asked = [await caller.ask("n1") for _ in range(3)]

        assert len(extender.asked) == 2
        assert asked[2].error == (
            f"extender {extender.url}/filter: not called for now, because the last calls failed: "
            "answered with status 500 instead of 200"
        )
        health = caller.extenders.health()[extender.url]
        assert (health.state, health.error) == (BreakerState.OPEN, "answered with status 500 instead of 200")

        await caller.clock.advance(10)
        extender.misbehave = None
        answer = await caller.ask("n1")

        assert answer.error is None
        assert caller.extenders.health()[extender.url].state is BreakerState.CLOSED
        name = {"extender": extender.url}
        assert sample(caller.metrics, "moorage_extender_circuit_breaker", **name, state="closed") == 1
        calls = {
            result: sample(caller.metrics, "moorage_extender_calls_total", **name, verb="filter", result=result)
            for result in ("error", "refused", "success")
        }
        assert calls == {"error": 2, "refused": 1, "success": 1}


async def test_a_cancelled_call_does_not_open_the_circuit_breaker() -> None:
    async with FakeExtender() as extender, calling(configured(extender), failures_to_open=1) as caller:
        extender.misbehave = extender.never
        asking = asyncio.create_task(caller.ask("n1"))
        await until(lambda: extender.asked)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        extender.misbehave = None

        assert (await caller.ask("n1")).error is None

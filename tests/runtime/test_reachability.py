import asyncio
import logging
from collections.abc import AsyncGenerator

import pytest

from moorage.errors import ApiUnreachable
from moorage.runtime.client.kube import Answer
from moorage.runtime.client.reachability import Reachability, TellingTransport

SERVER = "https://10.0.0.1:6443"


class Scripted:
    """A transport that does as it is told: a status to answer with, or None for no answer; one for each request."""

    def __init__(self, *script: int | None) -> None:
        self._script = list(script)

    async def exchange(self, method: str, path: str, body: bytes, content_type: str, timeout_seconds: float) -> Answer:
        del method, body, content_type, timeout_seconds
        return self._next(path)

    async def stream(self, path: str, inactivity_seconds: float) -> AsyncGenerator[Answer, None]:
        del inactivity_seconds
        yield self._next(path)
        yield self._next(path)

    def _next(self, path: str) -> Answer:
        status = self._script.pop(0)
        if status is None:
            raise ApiUnreachable(f"{path}: refused")
        return Answer(status, b"")


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


async def ask(transport: TellingTransport, times: int) -> None:
    for number in range(times):
        try:
            await transport.exchange("GET", f"/{number}", b"", "", 1)
        except ApiUnreachable:
            continue


def levels(told: pytest.LogCaptureFixture) -> list[str]:
    return [record.levelname for record in told.records]


async def test_an_outage_is_told_once_and_its_end_once(told: pytest.LogCaptureFixture) -> None:
    await ask(TellingTransport(Scripted(200, *[None] * 5, 500, 200), Reachability(SERVER)), 8)
    assert levels(told) == ["WARNING", "INFO"]
    assert told.messages[0] == f"The API server {SERVER} does not answer; trying again, for ever: /3: refused"


async def test_single_connections_that_are_reset_are_no_outage(told: pytest.LogCaptureFixture) -> None:
    await ask(TellingTransport(Scripted(None, None, 200, None, 200), Reachability(SERVER)), 5)
    assert levels(told) == []


async def test_credentials_that_are_not_taken_are_told_once(told: pytest.LogCaptureFixture) -> None:
    await ask(TellingTransport(Scripted(*[401] * 5, 403), Reachability(SERVER)), 6)
    assert levels(told) == ["WARNING", "INFO"]
    assert "does not take our credentials (401)" in told.messages[0]


async def test_transports_that_share_a_reachability_tell_it_together(told: pytest.LogCaptureFixture) -> None:
    reachability = Reachability(SERVER)
    for _ in range(4):
        await ask(TellingTransport(Scripted(None), reachability), 1)
    assert levels(told) == ["WARNING"]


async def test_a_stream_that_breaks_off_is_no_outage(told: pytest.LogCaptureFixture) -> None:
    transport = TellingTransport(Scripted(200, None), Reachability(SERVER))
    with pytest.raises(ApiUnreachable):
        [read async for read in transport.stream("/watch", 1)]
    assert levels(told) == []


@pytest.mark.parametrize(("others_answer", "expected"), [(True, []), (False, ["WARNING"])])
async def test_watches_that_time_out_together_are_an_outage_only_where_nothing_else_answers(
    told: pytest.LogCaptureFixture,
    others_answer: bool,  # noqa: FBT001 - a case
    expected: list[str],
) -> None:
    reachability = Reachability(SERVER)
    begun = asyncio.Barrier(4)

    class Together(Scripted):
        async def stream(self, path: str, inactivity_seconds: float) -> AsyncGenerator[Answer, None]:
            await begun.wait()
            await begun.wait()
            if inactivity_seconds:
                raise ApiUnreachable(f"{path}: no answer in time") from TimeoutError()
            yield Answer(200, b"")

    transport = TellingTransport(Together(), reachability)
    watches = [asyncio.ensure_future(anext(transport.stream("/watch", 90))) for _ in range(3)]
    await begun.wait()
    if others_answer:
        reachability.answered(200)
    await begun.wait()
    ended = await asyncio.gather(*watches, return_exceptions=True)
    assert [type(error) for error in ended] == [ApiUnreachable] * 3
    assert levels(told) == expected


async def test_a_stream_that_does_not_open_is_one(told: pytest.LogCaptureFixture) -> None:
    transport = TellingTransport(Scripted(None, None, None), Reachability(SERVER))
    for _ in range(3):
        with pytest.raises(ApiUnreachable):
            [read async for read in transport.stream("/watch", 1)]
    assert levels(told) == ["WARNING"]

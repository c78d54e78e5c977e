import asyncio
import logging
from collections.abc import AsyncGenerator

import pytest

from moorage.errors import ApiUnreachable
from moorage.runtime.client.missing_rights import MissingRights
from moorage.runtime.client.reachability import ObservedTransport, Reachability
from moorage.runtime.client.transport import Answer

SERVER = "https://10.0.0.1:6443"


class Scripted:
    """A transport that answers each request with the next status of a script. None means that no answer comes."""

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
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


async def ask(transport: ObservedTransport, times: int) -> None:
    for number in range(times):
        try:
            await transport.exchange("GET", f"/{number}", b"", "", 1)
        except ApiUnreachable:
            continue


def levels(log: pytest.LogCaptureFixture) -> list[str]:
    return [record.levelname for record in log.records]


async def test_an_outage_is_logged_once_and_its_end_once(log: pytest.LogCaptureFixture) -> None:
    await ask(ObservedTransport(Scripted(200, *[None] * 5, 500, 200), Reachability(SERVER), MissingRights()), 8)
    assert levels(log) == ["WARNING", "INFO"]
    assert log.messages[0] == f"The API server {SERVER} does not answer; retrying until it does: /3: refused"


async def test_single_reset_connections_are_not_an_outage(log: pytest.LogCaptureFixture) -> None:
    await ask(ObservedTransport(Scripted(None, None, 200, None, 200), Reachability(SERVER), MissingRights()), 5)
    assert levels(log) == []


async def test_rejected_credentials_are_logged_once(log: pytest.LogCaptureFixture) -> None:
    await ask(ObservedTransport(Scripted(*[401] * 5, 403), Reachability(SERVER), MissingRights()), 6)
    assert levels(log) == ["WARNING", "INFO"]
    assert "rejects the credentials (401)" in log.messages[0]


async def test_transports_that_share_a_reachability_log_an_outage_once(log: pytest.LogCaptureFixture) -> None:
    reachability = Reachability(SERVER)
    for _ in range(4):
        await ask(ObservedTransport(Scripted(None), reachability, MissingRights()), 1)
    assert levels(log) == ["WARNING"]


async def test_a_stream_that_breaks_after_its_first_read_is_not_an_outage(log: pytest.LogCaptureFixture) -> None:
    transport = ObservedTransport(Scripted(200, None), Reachability(SERVER), MissingRights())
    with pytest.raises(ApiUnreachable):
        [read async for read in transport.stream("/watch", 1)]
    assert levels(log) == []


@pytest.mark.parametrize(("others_answer", "expected"), [(True, []), (False, ["WARNING"])])
async def test_watches_that_time_out_together_are_an_outage_only_if_no_other_request_is_answered(
    log: pytest.LogCaptureFixture,
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

    transport = ObservedTransport(Together(), reachability, MissingRights())
    watches = [asyncio.ensure_future(anext(transport.stream("/watch", 90))) for _ in range(3)]
    await begun.wait()
    if others_answer:
        reachability.record_answer(200)
    await begun.wait()
    ended = await asyncio.gather(*watches, return_exceptions=True)
    assert [type(error) for error in ended] == [ApiUnreachable] * 3
    assert levels(log) == expected


async def test_a_stream_that_does_not_open_is_an_outage(log: pytest.LogCaptureFixture) -> None:
    transport = ObservedTransport(Scripted(None, None, None), Reachability(SERVER), MissingRights())
    for _ in range(3):
        with pytest.raises(ApiUnreachable):
            [read async for read in transport.stream("/watch", 1)]
    assert levels(log) == ["WARNING"]

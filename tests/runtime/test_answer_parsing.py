"""The time that parsing answers of extenders takes, with a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from extenders.calling import calling, configured
from extenders.server import FakeExtender
from moorage.runtime.extenders.answer_parsing import MAX_INTERIM_ANSWERS, LimitedResponseHandler, ParsingTime

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
BODY = b"x" * 100_000


@dataclass
class SlowClock:
    """A clock that each look at it moves by `step` seconds."""

    step: float = 0.0
    seconds: float = 100.0

    def __call__(self) -> float:
        self.seconds += self.step
        return self.seconds


@dataclass
class RecordedLoop:
    """The running event loop, but it only records callbacks for later."""

    loop: asyncio.AbstractEventLoop
    later: list[Callable[[], None]] = field(default_factory=list)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        self.later.append(callback)
        return self.loop.call_later(seconds, lambda: None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loop, name)


class FakeTransport(asyncio.Transport):
    """A transport that knows only whether it reads, and whether it is closed."""

    reads = True
    closed = False

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def close(self) -> None:
        self.closed = True


@dataclass
class Connection:
    """A connection that waits for an answer."""

    clock: SlowClock
    loop: RecordedLoop
    transport: FakeTransport
    protocol: LimitedResponseHandler


def connection() -> Connection:
    clock, loop, transport = SlowClock(), RecordedLoop(asyncio.get_running_loop()), FakeTransport()
    protocol = LimitedResponseHandler(loop, ParsingTime(clock))  # type: ignore[arg-type]
    protocol.connection_made(transport)
    protocol.set_response_params(read_bufsize=1 << 20)
    return Connection(clock, loop, transport, protocol)


async def test_an_ordinary_answer_is_parsed_at_once() -> None:
    made = connection()
    made.protocol.data_received(HEAD + BODY)
    _, payload = await made.protocol.read()

    assert payload.total_bytes == len(BODY)
    assert made.transport.reads
    assert made.loop.later == []


async def test_an_answer_that_is_slow_to_parse_waits_and_then_continues() -> None:
    made = connection()
    made.clock.step = 1.0
    made.protocol.data_received(HEAD + BODY)
    _, payload = await made.protocol.read()
    parsed = payload.total_bytes
    reads_meanwhile = made.transport.reads

    made.clock.step = 0.0
    made.clock.seconds += 1_000.0
    made.loop.later.pop()()

    assert 0 < parsed < len(BODY)
    assert not reads_meanwhile
    assert payload.total_bytes == len(BODY)
    assert made.transport.reads


async def test_bytes_that_wait_are_forgotten_with_the_connection() -> None:
    made = connection()
    made.clock.step = 1.0
    made.protocol.data_received(HEAD + BODY)
    _, payload = await made.protocol.read()
    parsed = payload.total_bytes

    made.protocol.connection_lost(None)

    assert payload.total_bytes == parsed


async def test_an_answer_waits_while_its_reader_is_slow() -> None:
    made = connection()
    made.protocol.data_received(HEAD)
    _, payload = await made.protocol.read()
    made.protocol.pause_reading()
    made.protocol.data_received(BODY)
    parsed = payload.total_bytes

    made.protocol.resume_reading()
    made.loop.later.pop()()

    assert parsed == 0
    assert payload.total_bytes == len(BODY)
    assert made.transport.reads


async def test_a_few_interim_answers_are_allowed() -> None:
    made = connection()
    made.protocol.data_received(b"HTTP/1.1 100 Continue\r\n\r\n" * MAX_INTERIM_ANSWERS + HEAD)

    codes = [(await made.protocol.read())[0].code for _ in range(MAX_INTERIM_ANSWERS + 1)]

    assert codes == [100] * MAX_INTERIM_ANSWERS + [200]


async def test_interim_answers_without_end_fail_the_call() -> None:
    async def interim(request: web.Request) -> web.StreamResponse:
        assert request.transport
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)
        return web.json_response({"NodeNames": ["n1"]})

    async with FakeExtender(misbehave=interim) as extender, calling(configured(extender)) as caller:
        answer = await caller.ask("n1")

    assert answer.error
    assert "too many interim answers" in answer.error

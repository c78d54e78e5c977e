"""Limits the time that parsing the answers of extenders takes in the event loop.

An extender can send an endless answer whose bytes are expensive to parse: interim answers (1xx), chunks of one byte,
extensions of chunks. A limit on the length of an answer does not stop such an answer. Without this module, 16 such
answers blocked the event loop for 16 s, so that the replica lost its Lease.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from aiohttp import TCPConnector
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

if TYPE_CHECKING:
    from collections.abc import Callable

SHARE = 0.1
"""Parsing expensive answers uses at most this share of the event loop's time. aiohttp needs about the same time again
to pass the parsed data on."""
SAVED_SECONDS = 0.1
"""The unused time that is saved for later answers."""
FREE_SECONDS = 0.02
"""The time that each answer may use in any case. It is enough for several megabytes of an ordinary answer."""
PIECE_BYTES = 1 << 14
"""The number of bytes that are parsed at once. This takes a millisecond for the most expensive answer."""
MAX_INTERIM_ANSWERS = 5
"""The number of interim answers (1xx) before the final answer; the limit of Go's client."""


class ParsingTime:
    """The time of the event loop that expensive answers may use together."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Read the time from `now`, in seconds."""
        self.now = now
        self._free_at = now()

    def pause(self) -> float:
        """Return the seconds until the next piece may be parsed; 0 or less if it may be parsed now."""
        return self._free_at - self.now() - SAVED_SECONDS / SHARE

    def spend(self, seconds: float) -> None:
        """Count the time of a piece."""
        self._free_at = max(self._free_at, self.now()) + seconds / SHARE


class _TooManyInterimAnswers(Exception):  # noqa: N818 - becomes an HttpProcessingError at once
    """An extender sent more than MAX_INTERIM_ANSWERS interim answers."""


class LimitedResponseHandler(ResponseHandler):
    """The protocol of one connection. It parses answers in pieces, and expensive answers with pauses."""

    def __init__(self, loop: asyncio.AbstractEventLoop, time: ParsingTime) -> None:
        """Share `time` with the other connections."""
        super().__init__(loop)
        self._parsing_time = time
        self._pieces: deque[bytes] = deque()
        self._used_seconds = 0.0
        self._interim_answers = 0
        self._resumption: asyncio.TimerHandle | None = None

    def set_response_params(self, **parameters: Any) -> None:
        """Prepare for the answer to the next request."""
        self._used_seconds, self._interim_answers = 0.0, 0
        super().set_response_params(**parameters)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Pass on the head of an answer. Refuse an endless number of interim answers."""
        message, _ = data
        if message.code < 200:  # noqa: PLR2004 - the first status of a final answer
            self._interim_answers += 1
            if self._interim_answers > MAX_INTERIM_ANSWERS:
                raise _TooManyInterimAnswers
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        """Parse the bytes that the connection received, now or later."""
        if not data:  # aiohttp continues with bytes that it has already
            super().data_received(data)
            return
        self._pieces.extend(data[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES))
        if self._resumption is None:
            self._parse()

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 - the signature of aiohttp
        """Continue after the reader of the answer has caught up.

        aiohttp calls this method for each chunk that it reads, even if nothing is paused.
        """
        if not self._reading_paused:
            return
        if not self._pieces:
            super().resume_reading(resume_parser)
            return
        self._reading_paused = False
        self._parse_piece(b"")  # the bytes that the parser has kept
        self._continue_after(0.0)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Forget the waiting bytes.

        The connection reads nothing while bytes wait, so moorage has closed it, not the extender.
        """
        self._forget_pieces()
        super().connection_lost(exc)

    def _parse(self) -> None:
        self._resumption = None
        while self._pieces and not self._reading_paused:
            pause = self._parsing_time.pause()
            if pause > 0 and self._used_seconds > FREE_SECONDS:
                self._continue_after(pause)
                return
            self._parse_piece(self._pieces.popleft())
        if self._pieces:
            self._pause_transport_reading()
        elif not self._reading_paused and not self._buffer_paused:
            self._resume_transport_reading()

    def _continue_after(self, seconds: float) -> None:
        self._pause_transport_reading()
        if self._resumption is None:
            self._resumption = self._loop.call_later(seconds, self._parse)

    def _forget_pieces(self) -> None:
        self._pieces.clear()
        if self._resumption:
            self._resumption.cancel()
            self._resumption = None

    def _parse_piece(self, piece: bytes) -> None:
        started = self._parsing_time.now()
        try:
            super().data_received(piece)
        except _TooManyInterimAnswers:
            self._forget_pieces()
            if self.transport:
                self.transport.close()
            self.set_exception(HttpProcessingError(code=0, message="too many interim answers (status 1xx)"))
        seconds = self._parsing_time.now() - started
        self._used_seconds += seconds
        self._parsing_time.spend(seconds)


class LimitedConnector(TCPConnector):
    """A connector whose connections share the time for parsing answers."""

    def __init__(self, **settings: Any) -> None:
        """Take the settings of TCPConnector."""
        super().__init__(**settings)
        loop = asyncio.get_running_loop()
        # aiohttp has no public setting for the protocol. A test shows that connections have this one.
        self._factory = cast(
            "partial[ResponseHandler]", partial(LimitedResponseHandler, loop=loop, time=ParsingTime(loop.time))
        )

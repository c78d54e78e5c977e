"""A kept-alive HTTP/1.1 connection. It sends one request at a time, and holds the whole answer in memory.

This module exists for speed. moorage sends two writes for each pod that it binds. The two writes cost 290 us of CPU
with this module, and 650 us with aiohttp's ClientSession (tests/benchmarks/bind_loop.py). httptools parses the answers.
This module must not parse HTTP itself.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from moorage.runtime.client.pending_writes import WITHDRAWN
from moorage.runtime.client.sockets import reset
from moorage.runtime.client.transport import DEFAULT_LIMITS, FIRST_REFUSAL, Answer, LongAnswer

if TYPE_CHECKING:
    from asyncio import BaseTransport, Future, TimerHandle, Transport
    from ssl import SSLContext

    from moorage.runtime.client.transport import AnswerLimits

FIRST_FINAL_STATUS = 200
FRAMING_HEADERS = frozenset({b"content-length", b"transfer-encoding"})
"""An answer without any of these headers ends when the connection ends."""


class HttpConnection(asyncio.Protocol):
    """A connection to a server. `loop.create_connection` creates it. asyncio and httptools call its methods."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, tls: SSLContext | None = None, limits: AnswerLimits = DEFAULT_LIMITS
    ) -> None:
        """`tls` is the TLS context of the connection."""
        self.tls = tls
        self.is_reusable = True
        """Whether the connection may be used for another request."""
        self.opened_at = loop.time()
        self.idle_since = self.opened_at
        self.answered = 0
        """Number of answers received."""
        self._loop = loop
        self._transport: Transport | None = None
        self._parser = HttpResponseParser(self)
        self._limits = limits
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._retry_after: str | None = None
        self._is_framed = False
        self._has_head = False
        self._waiter: Future[Answer] | None = None
        self._deadline = 0.0
        self._timer: TimerHandle | None = None

    async def exchange(self, request: bytes, timeout_seconds: float) -> Answer:
        """Send a request and return its answer. If that fails, close the connection and raise an OSError."""
        if self._transport is None:
            raise ConnectionResetError("the connection was closed")
        waiter: Future[Answer] = self._loop.create_future()
        self._waiter = waiter
        self._expect_by(self._loop.time() + timeout_seconds)
        self._transport.write(request)
        try:
            return await waiter
        except BaseException:
            self.close()
            raise
        finally:
            self._waiter = None
            self.idle_since = self._loop.time()

    def withdraw(self) -> None:
        """Fail the pending request and reset the connection.

        After the reset, the operating system sends no more bytes of the request.
        """
        self._fail(ConnectionResetError(WITHDRAWN))

    def close(self) -> None:
        """Close the connection.

        A pending request fails. The operating system sends no more of its bytes.
        """
        self.is_reusable = False
        if self._transport is None:
            return
        if self._waiter is not None:
            reset(self._transport)
        else:
            self._transport.abort()

    # Called by asyncio.

    def connection_made(self, transport: BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("Transport", transport)  # `create_connection` passes this type

    def data_received(self, data: bytes) -> None:
        """Parse received bytes."""
        if self._waiter is None or self._waiter.done():
            self.close()  # the server sent bytes without a request
            return
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail(ConnectionError(f"not an HTTP answer: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the pending request.

        An answer without a length header ends with its connection. In this case, complete the request.
        """
        self.is_reusable = False
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._has_head and not self._is_framed and exc is None:
            self._finish()
        self._fail(ConnectionResetError(str(exc) if exc else "the connection was closed"))

    # Called by httptools.

    def on_message_begin(self) -> None:
        """Reset the state of the previous answer."""
        if self._waiter is None or self._waiter.done():
            self.is_reusable = False  # a second answer to one request
        self._body.clear()
        self._body_bytes = 0
        self._retry_after = None
        self._is_framed = self._has_head = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the headers that are needed."""
        name = name.lower()
        if name in FRAMING_HEADERS:
            self._is_framed = True
        elif name == b"retry-after":
            self._retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Mark the head as complete. The head of an interim answer, such as 100 Continue, does not count."""
        self._has_head = self._parser.get_status_code() >= FIRST_FINAL_STATUS

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body, up to the limit."""
        self._body.append(body)
        self._body_bytes += len(body)
        if self._body_bytes > self._limits.refusal_bytes:
            self._check_length()

    def on_message_complete(self) -> None:
        """Complete the request."""
        if self._has_head:
            self._has_head = False
            self.is_reusable = self.is_reusable and self._parser.should_keep_alive()
            self._finish()

    def _check_length(self) -> None:
        """Close the connection if the body is too long. For a refusal, return the beginning of the body."""
        status = self._parser.get_status_code()
        limit = self._limits.most(status)
        if self._body_bytes <= limit:
            return
        if status >= FIRST_REFUSAL:
            self._finish()
        else:
            self._fail(LongAnswer(limit))
        self._body.clear()
        self.close()

    def _expect_by(self, deadline: float) -> None:
        """Set the deadline of the request.

        A timer that fires before the deadline is kept. When it fires, it is set again. This is cheaper than a new timer
        for each request.
        """
        self._deadline = deadline
        if self._timer is not None and self._timer.when() > deadline:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._check_deadline)

    def _check_deadline(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        if self._loop.time() < self._deadline:
            self._expect_by(self._deadline)
        else:
            self._fail(TimeoutError())

    def _finish(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self.answered += 1
            body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
            self._waiter.set_result(Answer(self._parser.get_status_code(), body, self._retry_after))

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
        else:
            self.close()

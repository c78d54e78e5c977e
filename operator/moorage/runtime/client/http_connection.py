"""One kept-alive HTTP/1.1 connection for small exchanges: a request out, its answer back, one at a time.

Why not a `ClientSession` for these: each bound pod costs two writes, and a session spends four times as long on a write
as the socket and the parser do. The parser is aiohttp's own; nothing of HTTP's framing is read here.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import HttpResponseParser

from moorage.runtime.client.kube import Answer

if TYPE_CHECKING:
    from aiohttp.http_parser import RawResponseMessage
    from aiohttp.streams import StreamReader

BUFFER_BYTES = 1 << 26
"""Whole answers are buffered, a page of a list being the largest; reading is never paused for their size."""
FIRST_FINAL_STATUS = 200


class Connection(BaseProtocol):
    """A connection; as a protocol of asyncio it is made by `loop.create_connection`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Nothing is sent before `exchange`."""
        super().__init__(loop)
        self.is_reusable = True
        """Whether another request may be sent after the present one."""
        self.opened_at = loop.time()
        self.idle_since = self.opened_at
        self.answered = 0
        """Answers so far."""
        self._responses = HttpResponseParser(
            self, loop, BUFFER_BYTES, payload_exception=ConnectionError, read_until_eof=True
        )
        self._head: RawResponseMessage | None = None
        self._body: StreamReader | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def exchange(self, request: bytes, timeout_seconds: float) -> Answer:
        """Send a request and return its answer; raises TimeoutError or ConnectionError, and is closed then."""
        if self.transport is None:
            raise ConnectionResetError("the connection was closed")
        waiter: asyncio.Future[Answer] = self._loop.create_future()
        self._waiter = waiter
        self._expect_by(self._loop.time() + timeout_seconds)
        self.transport.write(request)
        try:
            return await waiter
        except BaseException:
            self.close()
            raise
        finally:
            self._waiter = None
            self.idle_since = self._loop.time()

    def close(self) -> None:
        """Close; an answer that is under way is lost."""
        self.is_reusable = False
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Parse what came (called by asyncio)."""
        try:
            messages, upgraded, _ = self._responses.feed_data(data)
        except HttpProcessingError as error:
            self._fail(ConnectionError(f"not HTTP: {error.message}"))
            return
        for head, body in messages:
            if head.code >= FIRST_FINAL_STATUS:
                self._head, self._body = head, body
        if upgraded or (messages and self._waiter is None):
            self._fail(ConnectionError("an answer that nobody asked for"))
        elif self._body is not None and self._body.is_eof():
            self._finish()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Give up on the answer that is under way (called by asyncio)."""
        self.is_reusable = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().connection_lost(exc)
        try:
            self._responses.feed_eof()  # an answer without a length ends with the connection
        except HttpProcessingError as error:
            exc = exc or error
        if self._body is not None and self._body.is_eof() and self._body.exception() is None:
            self._finish()
        self._fail(ConnectionResetError(str(exc) if exc else "the connection was closed"))

    def _expect_by(self, deadline: float) -> None:
        """Set the deadline. The timer is kept from one exchange to the next: most never need it."""
        self._deadline = deadline
        if self._timer is not None and self._timer.when() > deadline:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._look_at_deadline)

    def _look_at_deadline(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        if self._loop.time() < self._deadline:
            self._expect_by(self._deadline)
        else:
            self._fail(TimeoutError())

    def _finish(self) -> None:
        head, body = self._head, self._body
        self._head = self._body = None
        if head is None or body is None or self._waiter is None or self._waiter.done():
            return
        self.answered += 1
        self.is_reusable = self.is_reusable and not head.should_close
        self._waiter.set_result(Answer(head.code, body.read_nowait(), head.headers.get("Retry-After")))

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
        elif self.transport is not None:
            self.close()

"""Event loops of tests: loops in threads for servers of synchronous tests, and the end of their connections."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from fakes import settle

Result = TypeVar("Result")

END_SECONDS = 30.0
"""Time limit for the connections of a loop to end."""


@contextmanager
def loop_in_thread(name: str) -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop in a thread until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=name)
    thread.start()
    try:
        yield loop
        asyncio.run_coroutine_threadsafe(end_connections(), loop).result(END_SECONDS)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a new event loop, as `asyncio.run` does, and end the connections of the loop."""
    with asyncio.Runner() as runner:
        try:
            return runner.run(coroutine)
        finally:
            runner.run(end_connections())


async def end_connections() -> None:
    """Let connections of the running loop close, and abort those that would outlive the loop.

    Without the abort, the garbage collector reports their sockets in a later test. There are two kinds:

    - asyncio accepts a connection in two steps. If the server closes between them, no handler gets the connection.
    - A client closed a TLS connection, which waits for the peer's close_notify.

    Connections that a client left open are not aborted, so that they still fail a test.
    """
    await settle()
    selector: Any = getattr(asyncio.get_running_loop(), "_selector", None)
    for key in list(selector.get_map().values()) if selector else ():
        for handle in key.data:  # of reading and of writing
            transport = getattr(getattr(handle, "_callback", None), "__self__", None)
            if isinstance(transport, asyncio.Transport) and (_is_accepted(transport) or _is_shutting_down(transport)):
                transport.abort()
    await settle()


def _is_accepted(transport: asyncio.Transport) -> bool:
    return bool(getattr(transport, "_server", None))


def _is_shutting_down(transport: asyncio.Transport) -> bool:
    secured: Any = getattr(transport.get_protocol(), "_app_transport", None)  # of asyncio's SSLProtocol
    return secured is not None and secured.is_closing()

"""Event loops of tests: loops in threads for servers of synchronous tests, and the end of their connections."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fakes import settle

END_SECONDS = 10.0
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


async def end_connections() -> None:
    """Let connections of the running loop close, and abort those that a server accepted while it closed.

    asyncio accepts a connection in two steps. If the server closes between them, no handler gets the connection, and
    the garbage collector reports its socket in a later test. Connections of clients are not aborted, so that a client
    that a test does not close still fails a test.
    """
    await settle()
    selector: Any = getattr(asyncio.get_running_loop(), "_selector", None)
    for key in list(selector.get_map().values()) if selector else ():
        for handle in key.data:  # of reading and of writing
            transport = getattr(getattr(handle, "_callback", None), "__self__", None)
            if isinstance(transport, asyncio.Transport) and getattr(transport, "_server", None):
                transport.abort()
    await settle()

"""Fails a test that leaves asyncio tasks or threads behind.

A task that outlives its test hides a missing cancellation: pytest-asyncio cancels it silently with the event loop.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from fakes import settle

JOIN_SECONDS = 1.0
"""Time that a thread may take to end after its test."""


@pytest.fixture
async def no_leaked_tasks() -> AsyncIterator[None]:
    """Fail if tasks are left after the test and its other fixtures; they get a few turns of the loop to end."""
    before = asyncio.all_tasks()
    yield
    await settle()
    _abort_late_connections()
    await settle()
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    assert not left, f"the test leaves tasks behind: {left}"


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    """Fail if a thread is left after the test and its other fixtures, the event loop included."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(JOIN_SECONDS)
        assert not thread.is_alive(), f"the test leaves a thread behind: {thread}"


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest, no_leaked_threads: None) -> None:
    """Check the threads of all tests, and the tasks of async tests."""
    del no_leaked_threads  # set up first, and therefore torn down last
    if inspect.iscoroutinefunction(getattr(request, "function", None)):
        request.getfixturevalue("no_leaked_tasks")  # set up before the test's own fixtures


def _abort_late_connections() -> None:
    """Abort connections that a server accepted while it closed.

    asyncio accepts a connection in two steps. If the server closes between them, no handler gets the connection, and
    the garbage collector reports its socket in a later test. Connections of clients are not aborted, so that a client
    that a test does not close still fails a test.
    """
    selector: Any = getattr(asyncio.get_running_loop(), "_selector", None)
    for key in list(selector.get_map().values()) if selector else ():
        for handle in key.data:  # of reading and of writing
            transport = getattr(getattr(handle, "_callback", None), "__self__", None)
            if isinstance(transport, asyncio.Transport) and getattr(transport, "_server", None):
                transport.abort()

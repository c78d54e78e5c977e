"""Fails a test that leaves asyncio tasks or threads behind.

A task that outlives its test hides a missing cancellation: pytest-asyncio cancels it silently with the event loop.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from loops import end_connections

JOIN_SECONDS = 10.0
"""Time that a thread may take to end after its test."""


@pytest.fixture
async def no_leaked_tasks() -> AsyncIterator[None]:
    """Fail if tasks are left after the test and its other fixtures; they get a few turns of the loop to end."""
    before = asyncio.all_tasks()
    yield
    await end_connections()
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

"""Handles SIGTERM and SIGINT (Ctrl-C) in the sandbox and the demo. Both signals have the same effect."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[None]:
    """On SIGTERM or SIGINT, cancel the current task and raise KeyboardInterrupt.

    A shell script starts its background jobs with SIGINT ignored. Python does not install its own handler in this case.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    is_interrupted = False

    def interrupt() -> None:
        nonlocal is_interrupted
        is_interrupted = True
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, interrupt)
    try:
        yield
    except asyncio.CancelledError:
        if is_interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)

"""SIGTERM as Ctrl-C: what ends the sandbox and the demo ends them tidily."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Have SIGTERM cancel the current task, and end it with KeyboardInterrupt as asyncio.run does for Ctrl-C.

    SIGINT itself is not raised: a shell's background jobs ignore it.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    asked: list[bool] = []

    def end() -> None:
        asked.append(True)
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, end)
    try:
        yield
    except asyncio.CancelledError:
        if asked:
            raise KeyboardInterrupt from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)

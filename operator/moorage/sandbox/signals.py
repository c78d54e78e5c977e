"""SIGTERM handling for the sandbox and the demo. SIGTERM ends them as Ctrl-C does."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """On SIGTERM, cancel the current task and raise KeyboardInterrupt, as asyncio.run does for Ctrl-C.

    The process does not send SIGINT to itself, because background jobs of a shell ignore SIGINT.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    is_terminated = False

    def terminate() -> None:
        nonlocal is_terminated
        is_terminated = True
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, terminate)
    try:
        yield
    except asyncio.CancelledError:
        if is_terminated:
            raise KeyboardInterrupt from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)

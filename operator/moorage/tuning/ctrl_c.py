"""Ctrl-C during a search."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class CtrlC:
    """A block in which the first Ctrl-C is remembered, and does not raise KeyboardInterrupt.

    KeyboardInterrupt could break off a write to the storage of a study, after which the storage refuses all writes. A
    second Ctrl-C raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        """Start with no Ctrl-C."""
        self.is_pressed = False
        self._previous: Any = None

    def __enter__(self) -> Self:
        """Take over Ctrl-C. Outside the main thread, where Ctrl-C never arrives, do nothing."""
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give Ctrl-C back."""
        self._restore()

    def _press(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.is_pressed = True
        self._restore()

    def _restore(self) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None

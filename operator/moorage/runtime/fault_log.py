"""Logs a fault that may last: once, not at every try, and once when it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger


class FaultLog:
    """The log of one thing that is read again and again, and whose last good state stays in use meanwhile."""

    def __init__(self, logger: Logger, subject: str) -> None:
        """Log to `logger`; `subject` begins each sentence."""
        self._logger = logger
        self._subject = subject
        self._reported = ""

    def report(self, error: Exception) -> None:
        """Log a fault, unless it is the one that was logged last."""
        text = str(error)
        if text != self._reported:
            self._reported = text
            self._logger.warning("%s cannot be used; the last good one stays in use: %s", self._subject, text)

    def end(self) -> None:
        """Log that the fault is over, if there was one."""
        if self._reported:
            self._reported = ""
            self._logger.info("%s can be used again", self._subject)

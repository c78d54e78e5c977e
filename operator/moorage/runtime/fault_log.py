"""Logs the beginning and the end of a fault, not each failed try."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger


class FaultLog:
    """The log of one source that is read repeatedly. While the source has a fault, its last good state stays in use."""

    def __init__(self, logger: Logger, subject: str) -> None:
        """Log to `logger`. Each log line begins with `subject`."""
        self._logger = logger
        self._subject = subject
        self._reported = ""

    def report(self, error: Exception) -> None:
        """Log a fault if its text differs from the last one."""
        text = str(error)
        if text != self._reported:
            self._reported = text
            self._logger.warning(
                "%s cannot be used; its last good state stays in use until it is repaired: %s", self._subject, text
            )

    def end(self) -> None:
        """Log that the fault is over, if there was one."""
        if self._reported:
            self._reported = ""
            self._logger.info("%s can be used again", self._subject)

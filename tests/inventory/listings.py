"""A display for listings that keeps its texts."""

from __future__ import annotations


class RecordedProgress:
    """A display that keeps its texts."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.messages: list[str] = []

    def listing(self, kind: str, count: int) -> None:
        self.counts[kind] = count

    def left_out(self, message: str) -> None:
        self.messages.append(message)

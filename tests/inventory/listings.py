"""A listing's display for tests."""

from __future__ import annotations


class RecordedProgress:
    """Keeps what a listing shows."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.messages: list[str] = []

    def listing(self, kind: str, count: int) -> None:
        self.counts[kind] = count

    def left_out(self, message: str) -> None:
        self.messages.append(message)

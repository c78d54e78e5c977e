"""The progress bar of `moorage replay`."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


class ReplayBar:
    """A bar on stderr that shows the share of the calls that are replayed. Without a terminal, nothing is printed."""

    def __init__(self, total_bytes: int) -> None:
        """Prepare the bar; `with` shows it."""
        self._read_bytes = self._decisions = 0
        self._progress = Progress(
            TextColumn("replaying"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task("", total=total_bytes)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._progress.stop()

    def show(self, read_bytes: int, decisions: int) -> None:
        """Show how many bytes of the present run are read, and how many of its decisions are repeated."""
        text = f"{self._decisions + decisions:,} decisions"
        self._progress.update(self._task, completed=self._read_bytes + read_bytes, description=text)

    def end_run(self, size: int, decisions: int) -> None:
        """Add the size and the decisions of a run whose replay has ended."""
        self._read_bytes += size
        self._decisions += decisions

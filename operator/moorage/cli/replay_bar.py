"""The progress bar of `moorage replay`."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


class ReplayBar:
    """A bar on stderr that shows the replayed share of the files. If stderr is not a terminal, nothing is printed."""

    def __init__(self) -> None:
        """Prepare the bar; `with` shows it."""
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
        self._task = self._progress.add_task("", total=None)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._progress.stop()

    def show(self, read_bytes: int, total_bytes: int, decisions: int) -> None:
        """Show how many bytes of the files are read, and how many decisions are repeated."""
        text = f"{decisions:,} decisions"
        self._progress.update(self._task, completed=read_bytes, total=total_bytes, description=text)

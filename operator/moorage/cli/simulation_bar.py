"""The progress bar of `moorage simulate`."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class SimulationBar:
    """A bar on stderr that counts tasks. If stderr is not a terminal, nothing is printed."""

    def __init__(self) -> None:
        """Prepare the bar; `with` shows it."""
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task("reading", total=None)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._progress.stop()

    def show(self, step: str, done: int, total: int) -> None:
        """Show the step and how many tasks are done."""
        self._progress.update(self._task, description=step, completed=done, total=total or None)

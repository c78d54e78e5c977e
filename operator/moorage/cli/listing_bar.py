"""The progress bar of commands that list a cluster."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from moorage.inventory import KINDS
from moorage.outside_text import one_line


class ListingBar:
    """A bar on stderr with one step for each kind. If stderr is not a terminal, only the messages are printed."""

    def __init__(self) -> None:
        """Prepare the bar; `with` shows it."""
        self._progress = Progress(
            TextColumn("listing"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task("", total=len(KINDS))
        self._order = list(KINDS)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._progress.stop()

    def listing(self, kind: str, count: int) -> None:
        """Show that `count` objects of a kind are read so far."""
        self._progress.update(self._task, completed=self._order.index(kind), description=f"{kind}: {count:,}")

    def left_out(self, message: str) -> None:
        """Print why an object or a kind is left out."""
        self._progress.console.print(f"warning: {one_line(message)}", markup=False, highlight=False, soft_wrap=True)

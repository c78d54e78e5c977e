"""The table of `moorage tune`: the policies that were found, and the presets."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from moorage.cli.simulation_table import WIDTH
from moorage.tuning.judgement import JudgedPolicy
from moorage.tuning.tuning_run import TuningResult

COLUMNS = 3
"""The number of objectives in a table. A table with more does not fit 80 columns."""


def print_tuning(result: TuningResult) -> None:
    """Print the figures. If there are many objectives, print several tables."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    console.print(f"{len(result.trials):,} trials. Each figure: in the search / on unseen seeds and tasks.")
    for start in range(0, len(result.objectives), COLUMNS):
        console.print()
        console.print(_table(result, slice(start, start + COLUMNS)))


def _table(result: TuningResult, columns: slice) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("policy", no_wrap=True)
    for objective in result.objectives[columns]:
        table.add_column(objective.label, justify="right", overflow="fold")
    for each in result.policies:
        table.add_row(each.name, *(Text(cell) for cell in cells_of(each)[columns]))
    return table


def cells_of(policy: JudgedPolicy) -> list[str]:
    """Return the figures of a policy as text."""
    return [
        f"{searched:,.10g} / {unseen:,.10g}" for searched, unseen in zip(policy.searched, policy.unseen, strict=True)
    ]

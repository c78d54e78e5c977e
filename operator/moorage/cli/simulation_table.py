"""The table of `moorage simulate`: the policies side by side."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moorage.outside_text import one_line
from moorage.simulator.result_rows import Section, sections_of
from moorage.simulator.simulation import Simulation

WIDTH = 80
"""The width of the table if stdout is not a terminal."""
LABEL_WIDTH = 34
INDENT = 2
POLICY_WIDTH = 14
"""The minimum width of a policy's column, including the space before it."""


def print_simulation(simulation: Simulation) -> None:
    """Print the table. If there are too many policies for the width, print several tables, each with the baseline."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    sections = list(sections_of(simulation))
    others = range(1, len(simulation.results))
    fitting = max((console.width - LABEL_WIDTH) // POLICY_WIDTH - 1, 1)
    for start in range(0, max(len(others), 1), fitting):
        if start:
            console.print()
        console.print(_table(simulation, sections, [0, *others[start : start + fitting]]))


def _table(simulation: Simulation, sections: list[Section], policies: list[int]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 0, 0, 1))
    title = f"{simulation.tasks.count:,} tasks, {len(simulation.nodes):,} nodes"
    table.add_column(title, max_width=LABEL_WIDTH, overflow="fold", no_wrap=False)
    for policy in policies:
        name = Text(one_line(simulation.results[policy].name), overflow="fold")
        table.add_column(name, justify="right", min_width=POLICY_WIDTH - 1, overflow="fold")
    for section in sections:
        table.add_row(Text(f"\n{one_line(section.title)}", style="bold"))
        for row in section.rows:
            table.add_row(
                Padding(Text(one_line(row.label)), (0, 0, 0, INDENT)), *(Text(row.cells[policy]) for policy in policies)
            )
    return table

"""Builds the HTML page of a simulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from moorage import __version__
from moorage.simulator.page.moved_tasks import Moves, grouping_of, moves_of
from moorage.simulator.page.page_style import STYLE_SHEET
from moorage.simulator.page.svg_plots import check_libraries, distribution_plot, group_plot, use_plot
from moorage.simulator.result_rows import Section, sections_of
from moorage.simulator.run_measures import GROUP_FIELDS
from moorage.simulator.simulation import Request, Simulation

__all__ = ["check_libraries", "plot_section", "simulation_page", "table_of"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The content security policy: the browser loads nothing and runs no script."""


def simulation_page(
    simulation: Simulation, request: Request, title: str = "moorage simulate", first: Sequence[str] = ()
) -> str:
    """Return the page as HTML, with the sections `first` at its top. Call `check_libraries` first."""
    names = ", ".join(result.name for result in simulation.results)
    summary = (
        f"{simulation.tasks.count:,} tasks of {request.tasks.name} on {len(simulation.nodes):,} nodes of "
        f"{request.nodes.name}, seed {request.seed}, moorage {__version__}"
    )
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}: {escape(names)}</title>",
            f"<style>{STYLE_SHEET}</style>",
            "</head>",
            "<body>",
            "<main>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{escape(summary)}</p>",
            *first,
            *_plots(simulation),
            *_moved(simulation),
            "<h2>All figures</h2>",
            *_figures(simulation),
            "</main>",
            "</body>",
            "</html>",
            "",
        )
    )


def _plots(simulation: Simulation) -> Iterator[str]:
    over = "time" if simulation.tasks.is_trace else "the tasks"
    yield plot_section(f"Use over {over}", use_plot(simulation))
    moment = " at the busiest moment" if simulation.tasks.is_trace else ""
    yield plot_section(f"Nodes by use{moment}", distribution_plot(simulation))
    for field in GROUP_FIELDS:
        if field in simulation.results[0].groups:
            yield plot_section(f"Use by {field.replace('_', ' ')}{moment}", group_plot(simulation, field))


def plot_section(title: str, svg: str) -> str:
    """Return a section with a plot."""
    labelled = svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1)
    return f"<h2>{escape(title)}</h2>\n<figure>{labelled}</figure>"


def _moved(simulation: Simulation) -> Iterator[str]:
    moves = moves_of(simulation)
    if not moves:
        return
    yield "<h2>What moved</h2>"
    yield "<p>Each policy compared with kube-scheduler, task by task.</p>"
    counts = [
        ("on the same node", [each.same_node for each in moves]),
        ("on another node", [each.other_node for each in moves]),
        ("placed only by kube-scheduler", [each.only_baseline for each in moves]),
        ("placed only by the policy", [each.only_policy for each in moves]),
        ("placed by neither", [each.neither for each in moves]),
    ]
    yield table_of(
        ["tasks", *(each.policy for each in moves)], [(label, [f"{n:,}" for n in row]) for label, row in counts]
    )
    field = grouping_of(simulation.nodes).replace("_", " ")
    for each in moves if field else ():
        yield f"<h3>{escape(each.policy)}: tasks by {escape(field)}</h3>"
        yield "<p>Each row is the group of nodes where kube-scheduler places the tasks.</p>"
        yield "<p>Each column is the group where the policy places them.</p>"
        yield _move_table(each)


def _move_table(moves: Moves) -> str:
    highest = max(max(row) for row in moves.table) or 1
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("", *moves.groups))
    rows = []
    for name, row in zip(moves.groups, moves.table, strict=True):
        # The shade grows with the square root, so that small numbers are visible beside large ones.
        cells = "".join(f'<td style="--share:{(n / highest) ** 0.5:.2f}">{f"{n:,}" if n else ""}</td>' for n in row)
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    return f'<div class="wide"><table class="moves"><tr>{head}</tr>{"".join(rows)}</table></div>'


def _figures(simulation: Simulation) -> Iterator[str]:
    names = [result.name for result in simulation.results]
    for section in sections_of(simulation):
        yield _section(section, names)


def _section(section: Section, names: list[str]) -> str:
    return table_of([section.title, *names], [(row.label.strip(), row.cells) for row in section.rows])


def table_of(head: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return a table: the titles of its columns, and the label and the cells of each row."""
    titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    body = "".join(
        f'<tr><th scope="row">{escape(label)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
        for label, cells in rows
    )
    return f'<div class="wide"><table><tr>{titles}</tr>{body}</table></div>'

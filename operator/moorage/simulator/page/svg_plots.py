"""Draws the plots of the page as inline SVG.

matplotlib draws them, because its SVG needs no script: the page stays small, and a browser shows it under the strictest
content security policy. The colours are variables of the page's style sheet, so that one SVG serves light and dark.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from moorage.errors import CommandFailed
from moorage.simulator.result_rows import NAMES, nodes_text
from moorage.simulator.run_result import PolicyResult
from moorage.simulator.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GRID = "#010101", "#020202"
"""Colours that are replaced by variables of the style sheet after drawing."""
POLICY_COLORS = tuple(f"#0304{number:02x}" for number in range(8))
LINE_STYLES = ("-", "--", "-.", ":")
VARIABLES = {INK: "var(--ink)", GRID: "var(--grid)"} | {
    color: f"var(--policy-{number})" for number, color in enumerate(POLICY_COLORS)
}
BINS = 10
WIDTH = 9.0
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "none",
    "legend.frameon": False,
    "font.size": 10,
}
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def check_libraries() -> None:
    """Raise CommandFailed if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise CommandFailed("--html needs matplotlib, which is not installed: pip install 'moorage[plots]'")


def use_plot(simulation: Simulation) -> str:
    """Return a plot of the allocated shares, one panel for each resource.

    The x-axis is the time or the requested share.
    """
    tasks, results = simulation.tasks, simulation.results
    names = list(results[0].series.percent)
    main = "nvidia.com/gpu" if "nvidia.com/gpu" in names else "cpu"
    label, divisor = f"% of all {NAMES[main]} asked for", 1.0
    if tasks.is_trace:
        label, divisor = _time_unit(tasks.last - tasks.first)
    with figure_of(3.2, len(names), "use") as (figure, axes):
        for axis, name in zip(axes, names, strict=True):
            for number, result in enumerate(results):
                points = np.array(result.series.points) / divisor
                axis.plot(points, result.series.percent[name], label=result.name, lw=1.6, **_line(number))
            axis.set(title=f"{NAMES[name]} in use, %", xlabel=label)
            axis.set_ylim(bottom=0)
        return rendered(figure, axes[0], len(results))


def distribution_plot(simulation: Simulation) -> str:
    """Return a plot of the number of nodes by the share of the node that is in use."""
    edges = np.linspace(0, 100, BINS + 1)
    labels = [f"{low:.0f}-{high:.0f}" for low, high in pairwise(edges.tolist())]
    counts = [np.histogram(np.minimum(result.node_percent, 100), edges)[0].tolist() for result in simulation.results]
    with figure_of(3.0, 1, "distribution") as (figure, axes):
        _bars(axes[0], labels, counts, simulation.results)
        axes[0].set(xlabel="% of a node's GPUs in use (of its cpu if it has none)", ylabel="nodes")
        return rendered(figure, axes[0], len(counts))


def group_plot(simulation: Simulation, field: str) -> str:
    """Return a plot of the share in use for each value of a field of the nodes, such as each GPU model."""
    groups = simulation.results[0].groups[field]
    resource = "nvidia.com/gpu" if any("nvidia.com/gpu" in use.percent for use in groups.values()) else "cpu"
    values = sorted(groups, key=lambda value: -groups[value].nodes)[:12]
    shares = [
        [result.groups[field][value].percent.get(resource, 0.0) for value in values] for result in simulation.results
    ]
    with figure_of(3.0, 1, field) as (figure, axes):
        _bars(axes[0], [f"{value}\n{nodes_text(groups[value].nodes)}" for value in values], shares, simulation.results)
        axes[0].set(ylabel=f"{NAMES[resource]} in use, %", ylim=(0, 100))
        return rendered(figure, axes[0], len(shares))


def _bars(axis: Axes, labels: Sequence[str], rows: Sequence[Sequence[float]], results: Sequence[PolicyResult]) -> None:
    """Draw groups of bars: a group for each label, a bar for each policy."""
    places = np.arange(len(labels))
    width = 0.8 / len(rows)
    for number, (row, result) in enumerate(zip(rows, results, strict=True)):
        offset = (number - (len(rows) - 1) / 2) * width
        axis.bar(places + offset, row, width * 0.92, label=result.name, color=_color(number))
    axis.set_xticks(places, labels)
    axis.grid(visible=False, axis="x")


@contextmanager
def figure_of(height: float, panels: int, salt: str) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure with panels side by side. `salt` makes the ids in its SVG unique on the page."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style: Any = STYLE | {"svg.hashsalt": salt}  # matplotlib's type requires all keys
    with rc_context(style):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots(1, panels, squeeze=False)
        yield figure, list(axes[0])


def rendered(figure: Figure, axis: Axes, policies: int) -> str:
    """Return the figure as an SVG element, with a legend above its panels."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=min(policies, 4))
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata=NO_METADATA)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    for color, variable in VARIABLES.items():
        svg = svg.replace(color, variable)
    return svg


def _line(number: int) -> dict[str, Any]:
    """Return a colour and a line style. Both differ, for readers who cannot tell the colours apart."""
    return {"color": _color(number), "ls": LINE_STYLES[number % len(LINE_STYLES)]}


def _color(number: int) -> str:
    return POLICY_COLORS[number % len(POLICY_COLORS)]


def _time_unit(seconds: float) -> tuple[str, float]:
    """Return a unit in which a duration has a readable number, and its length in seconds."""
    for name, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return name, length
    return "seconds", 1.0

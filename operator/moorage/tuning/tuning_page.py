"""Builds the HTML page of a search: the Pareto front, then the page of a simulation with the best policies."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from msgspec.structs import replace

from moorage.simulator.page.simulation_page import plot_section, simulation_page, table_of
from moorage.simulator.page.svg_plots import POLICY_COLORS, figure_of, rendered
from moorage.simulator.simulation import simulate
from moorage.simulator.simulation_input import Progress
from moorage.tuning.judgement import JudgedPolicy
from moorage.tuning.search import write_policy
from moorage.tuning.tuning_run import TuningRequest, TuningResult

MAX_SHOWN = 4
"""The number of tuned policies in the simulation of the page."""


def tuning_page(result: TuningResult, request: TuningRequest, progress: Progress) -> str:
    """Simulate the tuned policies and the presets again, and return the page as HTML."""
    tuned = [each for each in result.policies if each.is_tuned][:MAX_SHOWN]
    presets = [each for each in result.policies if not each.is_tuned and each.name != "Default"]
    with tempfile.TemporaryDirectory(prefix="moorage-tune-") as folder:
        files = tuple(write_policy(Path(folder), each.name.lower(), each.spec) for each in (*tuned, *presets))
        simulated = replace(request.search, policies=files, keeps_placements=True)
        simulation = simulate(simulated, request.jobs, progress)
    return simulation_page(simulation, simulated, "moorage tune", list(_front(result)))


def _front(result: TuningResult) -> Iterator[str]:
    """Yield the section about the search."""
    labels = [each.label for each in result.objectives]
    yield f"<p>{len(result.trials):,} policies were tried.</p>"
    yield "<p>No tried policy is better in all figures than a policy that was found.</p>"
    if len(labels) > 1:
        yield plot_section(f"{labels[0]} and {labels[1]} of all policies tried", _scatter(result))
    yield "<h2>Policies found, and presets</h2>"
    yield "<p>Each figure from the search, and from a check with other seeds and tasks.</p>"
    head = ["policy", *(f"{label}, {when}" for label in labels for when in ("search", "unseen"))]
    rows = []
    for each in result.policies:
        pairs = zip(each.searched, each.unseen, strict=True)
        rows.append((each.name, [f"{figure:,.10g}" for pair in pairs for figure in pair]))
    yield table_of(head, rows)
    for each in result.policies:
        if each.is_tuned:
            yield f"<details><summary>{escape(each.name)}</summary><pre>{escape(_yaml(each.spec))}</pre></details>"


def _yaml(spec: object) -> str:
    import yaml

    text: str = yaml.safe_dump({"spec": spec}, sort_keys=False)
    return text


def _scatter(result: TuningResult) -> str:
    """Return a plot of the first two figures of all trials. The plot marks the tuned policies and the presets."""
    with figure_of(3.6, 1, "front") as (figure, axes):
        axis = axes[0]
        tuned = [each.searched for each in result.policies if each.is_tuned]
        presets = [each for each in result.policies if not each.is_tuned]
        kinds = {
            ("tried", "."): result.trials,
            ("found", "o"): tuned,
            ("presets", "s"): [each.searched for each in presets],
        }
        for color, ((label, marker), points) in zip(POLICY_COLORS, kinds.items(), strict=False):
            first, second = [each[0] for each in points], [each[1] for each in points]
            axis.scatter(first, second, c=color, marker=marker, label=label)
        for place, names in _names_by_place(presets).items():
            axis.annotate(", ".join(names), place, xytext=(5, 3), textcoords="offset points", fontsize=9)
        axis.set(xlabel=result.objectives[0].label, ylabel=result.objectives[1].label)
        return rendered(figure, axis, 3)


def _names_by_place(policies: Sequence[JudgedPolicy]) -> dict[tuple[float, float], list[str]]:
    """Return the names of the policies at each point of the plot."""
    names: dict[tuple[float, float], list[str]] = {}
    for each in policies:
        names.setdefault((each.searched[0], each.searched[1]), []).append(each.name)
    return names

"""Renders a simulation as JSON."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from moorage.simulator.run_result import PolicyResult
from moorage.simulator.simulation import Simulation

PLOT_FIELDS = ("series", "node_percent", "placements")
"""The fields of a result that only the page shows."""


def simulation_json(simulation: Simulation) -> dict[str, Any]:
    """Return the results as JSON data."""
    return {
        "nodes": len(simulation.nodes),
        "tasks": simulation.tasks.count,
        "policies": [_policy_json(result) for result in simulation.results],
    }


def _policy_json(result: PolicyResult) -> dict[str, Any]:
    fields: dict[str, Any] = to_builtins(result)
    return {name: value for name, value in fields.items() if name not in PLOT_FIELDS and value is not None}

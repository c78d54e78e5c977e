"""Runs one plugin on a snapshot and returns its results by node.

rejections(plugin, pod, snapshot)    {"n1": None, "n2": (Code.UNSCHEDULABLE, ["Insufficient cpu"])}
scores(plugin, pod, snapshot)        {"n1": 100, "n2": 0}, normalized; with `raw=True` as Score returns them
answers(result, snapshot)            {"n1": "ok", "n2": "Insufficient cpu"}
scored(plugin, pod, snapshot)        ([7, 0], [100, 0]), raw and normalized; None if PreScore skips
"""

from __future__ import annotations

from typing import Any

import numpy as np

from moorage.cluster.snapshot import Snapshot
from moorage.framework.extension_points import FilterPlugin, FilterResult, PreFilterPlugin, ScorePlugin
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod

FitError = tuple[Code, list[str]] | None


def rejections(plugin: FilterPlugin[Any], pod: Pod, nodes: Snapshot) -> dict[str, FitError]:
    """Run PreFilter, if the plugin has it, and Filter; return each node's code and reasons, or None if it passes."""
    state = None
    if isinstance(plugin, PreFilterPlugin):
        prepared = plugin.pre_filter(pod, nodes.cluster)
        if prepared.status.code is Code.SKIP:
            return dict.fromkeys(nodes.names)
        assert prepared.status.is_success, prepared.status
        state = prepared.state
    result = plugin.filter(state, pod, nodes)
    rejected: dict[str, FitError] = {}
    for position, name in enumerate(nodes.names):
        found = [rejection for rejection in result.rejections() if rejection.nodes[position]]
        assert bool(found) != bool(result.passed[position]), f"{name}: the mask and the reasons disagree"
        unresolvable = any(rejection.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE for rejection in found)
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if unresolvable else Code.UNSCHEDULABLE
        rejected[name] = (code, [rejection.reason for rejection in found]) if found else None
    return rejected


def passes(plugin: FilterPlugin[Any], pod: Pod, nodes: Snapshot) -> set[str]:
    """Return the names of the nodes that pass."""
    return {name for name, rejection in rejections(plugin, pod, nodes).items() if rejection is None}


def scores(plugin: ScorePlugin[Any], pod: Pod, nodes: Snapshot, *, raw: bool = False) -> dict[str, int]:
    """Run PreScore, Score and, unless `raw`, NormalizeScore."""
    result = plugin.pre_score(pod, nodes)
    assert result.status.is_success, result.status
    found = plugin.score(result.state, pod, nodes)
    assert found.dtype == np.int64
    if not raw:
        found = plugin.normalize(result.state, pod, nodes, found)
    return dict(zip(nodes.names, found.tolist(), strict=True))


def answers(result: FilterResult, nodes: Snapshot) -> dict[str, str]:
    """Return "ok" or the reason for each node of a Filter's result."""
    found = dict.fromkeys(nodes.names, "ok")
    for rejection in result.rejections():
        found |= {name: rejection.reason for name, hit in zip(nodes.names, rejection.nodes, strict=True) if hit}
    assert [answer == "ok" for answer in found.values()] == result.passed.tolist()
    return found


def scored(plugin: ScorePlugin[Any], pod: Pod, nodes: Snapshot) -> tuple[list[int], list[int]] | None:
    """Return raw and normalized scores; None if PreScore skips the plugin."""
    result = plugin.pre_score(pod, nodes)
    if result.state is None:
        assert result.status.code is Code.SKIP
        return None
    raw = plugin.score(result.state, pod, nodes)
    return raw.tolist(), plugin.normalize(result.state, pod, nodes, raw).tolist()

"""Filter: all plugins judge all nodes at once, and a node's verdict is that of the first plugin that rejects it.

Pods that are nominated to a node, and of at least the pod's priority, count as if they ran there: the node has to pass
with them and without them. Only such nodes are judged one by one.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunFilterPluginsWithNominatedPods).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from moorage.cluster.arrays import BoolArray
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.what_if import NodeWhatIf
from moorage.engine.cycle.pre_filter import PreFiltered, States
from moorage.framework.extension_points import FilterPlugin, FilterResult, Rejection
from moorage.framework.status import SUCCESS, Code, Status
from moorage.model.pods.pod import Pod


class PluginRejections(Struct, frozen=True):
    """The nodes that one plugin was the first to reject, and why."""

    plugin: str
    nodes: BoolArray
    reasons: Sequence[Rejection]
    """These may hold for other nodes, too, which an earlier plugin has rejected."""


class NodeVerdicts(Struct):
    """Filter's answer for all nodes of a view. Why a node was rejected is worked out only when somebody asks."""

    nodes: Snapshot
    feasible: BoolArray
    filters: Sequence[FilterPlugin[Any]]
    """The plugins in the order in which they judge."""
    verdicts: Mapping[FilterPlugin[Any], FilterResult]
    crowded: Mapping[int, Status] = field(default_factory=dict)
    """Rejections, by position, of nodes that the pod would fit on but for the pods nominated to them."""

    def rejections(self) -> list[PluginRejections]:
        """Sort the rejected nodes by the plugin that rejected them, but for the crowded ones."""
        left = np.ones(self.nodes.size, np.bool_)
        left[list(self.crowded)] = False
        found: list[PluginRejections] = []
        for plugin in self.filters:
            verdict = self.verdicts[plugin]
            rejected = left & ~verdict.passed
            if rejected.any():
                found.append(PluginRejections(plugin.name, rejected, verdict.rejections()))
                left &= verdict.passed
        return found

    def fault(self) -> str:
        """Return what a Filter plugin failed with on some node; empty where none did."""
        for rejected in self.rejections():
            for rejection in rejected.reasons:
                if rejection.code is Code.ERROR and (rejection.nodes & rejected.nodes).any():
                    return _failure(rejected.plugin, rejection.reason)
        faults = [status.message for status in self.crowded.values() if status.code is Code.ERROR]
        return faults[0] if faults else ""


def run_filters(found: PreFiltered, nodes: Snapshot) -> NodeVerdicts:
    """Judge every node of a view."""
    judged = _judge_all(found, nodes)
    crowded: dict[int, Status] = {}
    for name in nodes.nominated_nodes:
        position = nodes.position(name)
        if position is not None:
            status = _with_nominated(found, found.states, NodeWhatIf(nodes, position))
            if status is not None and not status.is_success:
                crowded[position] = status
    if crowded:
        judged.feasible = judged.feasible.copy()
        judged.feasible[list(crowded)] = False
        judged.crowded = crowded
    return judged


def filter_one(found: PreFiltered, states: States, node: NodeWhatIf) -> Status:
    """Judge one node in thought, with the pods nominated to it and without them."""
    status = _with_nominated(found, states, node)
    if status is not None and not status.is_success:
        return status
    return judge(found, states, node)


def fits(found: PreFiltered, states: States, node: NodeWhatIf) -> bool:
    """Whether `filter_one` would say success; why not is not worked out."""
    status = _with_nominated(found, states, node)
    if status is not None and not status.is_success:
        return False
    undecided = _undecided(found, node)
    return all(plugin.filter(states.get(plugin), found.pod, node).passed[0] for plugin in undecided)


def judge(found: PreFiltered, states: States, node: NodeWhatIf) -> Status:
    """Return the first rejection of one node, or success."""
    for plugin in _undecided(found, node):
        verdict = _ask(plugin, found, states, node)
        if not verdict.passed[0]:
            return status_at(plugin.name, verdict.rejections(), 0)
    return SUCCESS


def _undecided(found: PreFiltered, node: NodeWhatIf) -> Sequence[FilterPlugin[Any]]:
    """Return the plugins that pods on the node may sway, where all others pass it; else all of them."""
    feasible = _static_verdicts_of(found, node.cluster).feasible
    if feasible is not None and not node.gather(feasible)[0]:
        return found.filters
    return [plugin for plugin in found.filters if not plugin.has_static_filter]


def status_at(plugin: str, reasons: Sequence[Rejection], position: int) -> Status:
    """Put the rejections of one node together: all reasons, and the code that leaves less hope.

    A plugin's failure is told with its name; without one, as the plugin itself tells it.
    """
    holding = [rejection for rejection in reasons if rejection.nodes[position]]
    codes = {rejection.code for rejection in holding}
    worst = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    code = worst if worst in codes else next(iter(codes), Code.UNSCHEDULABLE)
    if plugin and code is Code.ERROR:
        return Status(code, tuple(_failure(plugin, rejection.reason) for rejection in holding), plugin)
    return Status(code, tuple(rejection.reason for rejection in holding), plugin)


def _failure(plugin: str, reason: str) -> str:
    return f'running "{plugin}" filter plugin: {reason}'


def add_pod(found: PreFiltered, states: States, other: Pod, node: NodeWhatIf) -> States:
    """Put another pod on a node in thought, and return the states that see it there."""
    node.add_pod(other)
    changed = dict(states)
    for plugin in found.extensions:
        changed[plugin] = plugin.add_pod(states[plugin], found.pod, other, node)
    return changed


def remove_pod(found: PreFiltered, states: States, other: Pod, node: NodeWhatIf) -> States:
    """Take another pod off a node in thought, and return the states that no longer see it there."""
    node.remove_pod(other)
    changed = dict(states)
    for plugin in found.extensions:
        changed[plugin] = plugin.remove_pod(states[plugin], found.pod, other, node)
    return changed


def _ask(plugin: FilterPlugin[Any], found: PreFiltered, states: States, nodes: Snapshot) -> FilterResult:
    """Let a plugin judge; one that needs its PreFilter and has none fails on all nodes."""
    if plugin not in found.plan.unprepared:
        return plugin.filter(states.get(plugin), found.pod, nodes)
    everywhere = np.ones(nodes.size, np.bool_)
    return FilterResult(~everywhere, lambda: (Rejection(everywhere, plugin.without_pre_filter, Code.ERROR),))


class _StaticVerdicts(Struct, frozen=True, eq=False):
    """What follows from a shape and the nodes themselves."""

    verdicts: Mapping[FilterPlugin[Any], FilterResult]
    feasible: BoolArray | None
    """The nodes that pass all of them; None: all do."""


def _judge_all(found: PreFiltered, nodes: Snapshot) -> NodeVerdicts:
    """Judge without a thought of nominated pods."""
    static = _static_verdicts_of(found, nodes) if nodes is nodes.cluster else _static_verdicts(found, nodes)
    verdicts, feasible = dict(static.verdicts), static.feasible
    for plugin in found.filters:
        if plugin not in verdicts:
            verdict = verdicts[plugin] = _ask(plugin, found, found.states, nodes)
            feasible = verdict.passed if feasible is None else feasible & verdict.passed
    if feasible is None:
        feasible = np.ones(nodes.size, np.bool_)
    return NodeVerdicts(nodes, feasible, found.filters, verdicts)


def _static_verdicts_of(found: PreFiltered, cluster: Snapshot) -> _StaticVerdicts:
    """Return the static verdicts on all nodes, found once a shape."""
    generation = cluster.generations.nodes
    return cluster.memo(found.plan, found.pod.shape, generation, lambda: _static_verdicts(found, cluster))


def _static_verdicts(found: PreFiltered, nodes: Snapshot) -> _StaticVerdicts:
    static = [plugin for plugin in found.plan.filter if plugin.has_static_filter]
    verdicts = {plugin: _ask(plugin, found, {}, nodes) for plugin in static}
    feasible = np.logical_and.reduce([verdict.passed for verdict in verdicts.values()]) if verdicts else None
    return _StaticVerdicts(verdicts, None if feasible is None or feasible.all() else feasible)


def _with_nominated(found: PreFiltered, states: States, node: NodeWhatIf) -> Status | None:
    """Judge a node with the pods nominated to it; None where none of them counts."""
    pod = found.pod
    nominated = node.nominated(node.names[0])
    rivals = [rival for rival in nominated if rival.priority >= pod.priority and rival.uid != pod.uid]
    if not rivals:
        return None
    crowded = _copy(node)
    for rival in rivals:
        states = add_pod(found, states, rival, crowded)
    return judge(found, states, crowded)


def _copy(node: NodeWhatIf) -> NodeWhatIf:
    """Return the node once more, with the same pods: what is added to the copy can be left there."""
    position = node.cluster.position(node.names[0])
    assert position is not None, "a node in thought is a node of the cluster"
    copy = NodeWhatIf(node.cluster, position)
    wanted = {pod.uid: pod for pod in node.pods_on(0)}
    for pod in tuple(copy.pods_on(0)):
        if wanted.pop(pod.uid, None) is None:
            copy.remove_pod(pod)
    for pod in wanted.values():
        copy.add_pod(pod)
    return copy

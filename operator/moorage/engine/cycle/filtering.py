"""Filter: every plugin filters all nodes at once; a node has the status of the first plugin that rejects it.

A node with nominated pods of the same or a higher priority must pass twice: with and without these pods on it. Only
such nodes are filtered one by one.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunFilterPluginsWithNominatedPods).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from moorage.cluster.arrays import BoolArray
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.what_if import NodeWhatIf
from moorage.engine.cycle.pre_filter import PreFiltered, States
from moorage.engine.recorder import FILTER
from moorage.framework.extension_points import FilterPlugin, FilterResult, Rejection
from moorage.framework.status import SUCCESS, Code, Status
from moorage.model.pods.pod import Pod


class PluginRejections(Struct, frozen=True):
    """The nodes that one plugin rejects and no earlier plugin rejects."""

    plugin: str
    nodes: BoolArray
    reasons: Sequence[Rejection]
    """All rejections by the plugin, including rejections of nodes that an earlier plugin rejects."""


class FilteredNodes(Struct):
    """The result of all Filter plugins for all nodes of a view. Reasons are computed only on request."""

    nodes: Snapshot
    feasible: BoolArray
    filters: Sequence[FilterPlugin[Any]]
    """The plugins in their order."""
    results: Mapping[FilterPlugin[Any], FilterResult]
    with_nominated: Mapping[int, Status] = field(default_factory=dict)
    """The statuses of the nodes that are rejected because of their nominated pods, by position."""

    def rejections(self) -> list[PluginRejections]:
        """Return the rejected nodes by plugin, except the nodes of `with_nominated`."""
        return [
            PluginRejections(plugin.name, rejected, self.results[plugin].rejections())
            for plugin, rejected in self.first_rejections()
        ]

    def first_rejections(self) -> Iterator[tuple[FilterPlugin[Any], BoolArray]]:
        """Yield the plugins that reject nodes, each with the nodes that no earlier plugin rejects.

        The nodes of `with_nominated` are left out. Unlike `rejections`, this method computes no reasons.
        """
        left = np.ones(self.feasible.size, np.bool_)
        left[list(self.with_nominated)] = False
        for plugin in self.filters:
            result = self.results[plugin]
            rejected = left & ~result.passed
            if rejected.any():
                yield plugin, rejected
                left &= result.passed

    def fault(self) -> str:
        """Return the message of the first error of a Filter plugin; empty if no plugin failed."""
        for rejected in self.rejections():
            for rejection in rejected.reasons:
                if rejection.code is Code.ERROR and (rejection.nodes & rejected.nodes).any():
                    return _fault_message(rejected.plugin, rejection.reason)
        faults = [status.message for status in self.with_nominated.values() if status.code is Code.ERROR]
        return faults[0] if faults else ""


def run_filters(pre_filtered: PreFiltered, nodes: Snapshot) -> FilteredNodes:
    """Filter all nodes of a view."""
    filtered = _run_without_nominated(pre_filtered, nodes)
    failed: dict[int, Status] = {}
    for name in nodes.nominated_nodes:
        position = nodes.position(name)
        if position is not None:
            status = _run_with_nominated(pre_filtered, pre_filtered.states, NodeWhatIf(nodes, position))
            if status is not None and not status.is_success:
                failed[position] = status
    if failed:
        filtered.feasible = filtered.feasible.copy()
        filtered.feasible[list(failed)] = False
        filtered.with_nominated = failed
    return filtered


def filter_one(pre_filtered: PreFiltered, states: States, node: NodeWhatIf) -> Status:
    """Return the status of one node, filtered with and without the pods that are nominated to it."""
    status = _run_with_nominated(pre_filtered, states, node)
    if status is not None and not status.is_success:
        return status
    return _filter_once(pre_filtered, states, node)


def fits(pre_filtered: PreFiltered, states: States, node: NodeWhatIf) -> bool:
    """Return whether `filter_one` would return success, without computing reasons."""
    status = _run_with_nominated(pre_filtered, states, node)
    if status is not None and not status.is_success:
        return False
    plugins = _plugins_to_run(pre_filtered, node)
    return all(plugin.filter(states.get(plugin), pre_filtered.pod, node).passed[0] for plugin in plugins)


def status_at(plugin: str, reasons: Sequence[Rejection], position: int) -> Status:
    """Merge the rejections of one node into a status with all reasons.

    If a rejection has the code UNSCHEDULABLE_AND_UNRESOLVABLE, the status has this code. If a plugin failed and
    `plugin` is its name, the reasons are upstream's error messages, which name the plugin.
    """
    of_node = [rejection for rejection in reasons if rejection.nodes[position]]
    codes = {rejection.code for rejection in of_node}
    unresolvable = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    code = unresolvable if unresolvable in codes else next(iter(codes), Code.UNSCHEDULABLE)
    if plugin and code is Code.ERROR:
        return Status(code, tuple(_fault_message(plugin, rejection.reason) for rejection in of_node), plugin)
    return Status(code, tuple(rejection.reason for rejection in of_node), plugin)


def add_pod(pre_filtered: PreFiltered, states: States, other: Pod, node: NodeWhatIf) -> States:
    """Add another pod to a what-if node, and return the plugins' states with that pod."""
    node.add_pod(other)
    changed = dict(states)
    for plugin in pre_filtered.extensions:
        changed[plugin] = plugin.add_pod(states[plugin], pre_filtered.pod, other, node)
    return changed


def remove_pod(pre_filtered: PreFiltered, states: States, other: Pod, node: NodeWhatIf) -> States:
    """Remove another pod from a what-if node, and return the plugins' states without that pod."""
    node.remove_pod(other)
    changed = dict(states)
    for plugin in pre_filtered.extensions:
        changed[plugin] = plugin.remove_pod(states[plugin], pre_filtered.pod, other, node)
    return changed


def _filter_once(pre_filtered: PreFiltered, states: States, node: NodeWhatIf) -> Status:
    """Return the first rejection of one node, or success. Nominated pods do not count."""
    for plugin in _plugins_to_run(pre_filtered, node):
        result = _run_one(plugin, pre_filtered, states, node)
        if not result.passed[0]:
            return status_at(plugin.name, result.rejections(), 0)
    return SUCCESS


def _plugins_to_run(pre_filtered: PreFiltered, node: NodeWhatIf) -> Sequence[FilterPlugin[Any]]:
    """Return the plugins to run. Plugins with a static filter are left out if the node passes all of them."""
    feasible = _static_results_of(pre_filtered, node.cluster).feasible
    if feasible is not None and not node.gather(feasible)[0]:
        return pre_filtered.filters
    return [plugin for plugin in pre_filtered.filters if not plugin.has_static_filter]


def _fault_message(plugin: str, reason: str) -> str:
    return f'running "{plugin}" filter plugin: {reason}'


def _run_one(plugin: FilterPlugin[Any], pre_filtered: PreFiltered, states: States, nodes: Snapshot) -> FilterResult:
    """Run a plugin. If the plugin needs a PreFilter that the profile disables, reject all nodes with an error."""
    if plugin not in pre_filtered.plan.unprepared:
        recorder = pre_filtered.recorder
        if not recorder.samples_plugins:
            return plugin.filter(states.get(plugin), pre_filtered.pod, nodes)
        started = recorder.now()
        result = plugin.filter(states.get(plugin), pre_filtered.pod, nodes)
        recorder.observe_plugin(
            plugin.name, FILTER, Code.SUCCESS if result.passed.any() else Code.UNSCHEDULABLE, started
        )
        return result
    everywhere = np.ones(nodes.size, np.bool_)
    return FilterResult(~everywhere, lambda: (Rejection(everywhere, plugin.without_pre_filter, Code.ERROR),))


class _StaticResults(Struct, frozen=True, eq=False):
    """The results of the plugins that depend only on the pod's shape and the nodes."""

    results: Mapping[FilterPlugin[Any], FilterResult]
    feasible: BoolArray | None
    """The nodes that pass all these plugins; None if all nodes pass."""


def _run_without_nominated(pre_filtered: PreFiltered, nodes: Snapshot) -> FilteredNodes:
    is_cluster = nodes is nodes.cluster
    static = _static_results_of(pre_filtered, nodes) if is_cluster else _run_static(pre_filtered, nodes)
    results, feasible = dict(static.results), static.feasible
    for plugin in pre_filtered.filters:
        if plugin not in results:
            result = results[plugin] = _run_one(plugin, pre_filtered, pre_filtered.states, nodes)
            feasible = result.passed if feasible is None else feasible & result.passed
    if feasible is None:
        feasible = np.ones(nodes.size, np.bool_)
    return FilteredNodes(nodes, feasible, pre_filtered.filters, results)


def _static_results_of(pre_filtered: PreFiltered, cluster: Snapshot) -> _StaticResults:
    """Return the static results for all nodes, computed once for each shape."""
    generation = cluster.generations.nodes
    shape = pre_filtered.pod.shape
    return cluster.memo(pre_filtered.plan, shape, generation, lambda: _run_static(pre_filtered, cluster))


def _run_static(pre_filtered: PreFiltered, nodes: Snapshot) -> _StaticResults:
    static = [plugin for plugin in pre_filtered.plan.filter if plugin.has_static_filter]
    results = {plugin: _run_one(plugin, pre_filtered, {}, nodes) for plugin in static}
    feasible = np.logical_and.reduce([result.passed for result in results.values()]) if results else None
    return _StaticResults(results, None if feasible is None or feasible.all() else feasible)


def _run_with_nominated(pre_filtered: PreFiltered, states: States, node: NodeWhatIf) -> Status | None:
    """Return the status of a node with the pods that are nominated to it.

    Only nominated pods of the same or a higher priority count. Return None if there are none.
    """
    pod = pre_filtered.pod
    nominated = node.nominated(node.names[0])
    counted = [other for other in nominated if other.priority >= pod.priority and other.uid != pod.uid]
    if not counted:
        return None
    copy = _copy(node)
    for other in counted:
        states = add_pod(pre_filtered, states, other, copy)
    return _filter_once(pre_filtered, states, copy)


def _copy(node: NodeWhatIf) -> NodeWhatIf:
    """Return a copy of a what-if node. Changes of the copy do not change the original."""
    position = node.cluster.position(node.names[0])
    assert position is not None, "a what-if node is a node of the cluster"
    copy = NodeWhatIf(node.cluster, position)
    pods = {pod.uid: pod for pod in node.pods_on(0)}
    for pod in tuple(copy.pods_on(0)):
        if pods.pop(pod.uid, None) is None:
            copy.remove_pod(pod)
    for pod in pods.values():
        copy.add_pod(pod)
    return copy

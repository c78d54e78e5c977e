"""Queueing hints of PodTopologySpread: they decide which events may make a rejected pod schedulable.

Upstream: isSchedulableAfterPodChange and isSchedulableAfterNodeChange in podtopologyspread/plugin.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.model.node import Node
    from moorage.model.pods.affinity import TopologySpreadConstraint
    from moorage.model.pods.pod import Pod
    from moorage.model.selectors import Labels

Constraints = Sequence["TopologySpreadConstraint"]


def pod_may_help(pod: Pod, constraints: Constraints, old: Pod | None, new: Pod | None) -> bool:
    """Return whether a change of `pod` or of another pod changes the counts of the constraints."""
    if any(other is not None and not _is_relevant(other, pod) for other in (old, new)):
        return False
    if old is not None and new is not None:
        changed_tolerations = pod.uid == new.uid and old.shape.tolerations != new.shape.tolerations
        if changed_tolerations and any(constraint.honor_taints for constraint in constraints):
            return True
        return any(_matches(constraint, old) != _matches(constraint, new) for constraint in constraints)
    only = new if old is None else old
    return only is not None and any(_matches(constraint, only) for constraint in constraints)


def node_may_help(constraints: Constraints, old: Node | None, new: Node | None) -> bool:
    """Return whether a change of a node changes the domains of the constraints."""
    had, has = _has_keys(old, constraints), _has_keys(new, constraints)
    if old is None or new is None or had != has:
        return had or has
    return has and (old.taints != new.taints or _moved(old.labels, new.labels, constraints))


def _is_relevant(other: Pod, pod: Pod) -> bool:
    """Return whether `other` is the pod itself, or a placed or nominated pod of its namespace."""
    if other.uid == pod.uid:
        return True
    return bool(other.node_name or other.nominated_node_name) and other.namespace == pod.namespace


def _matches(constraint: TopologySpreadConstraint, pod: Pod) -> bool:
    return constraint.selector is not None and constraint.selector.matches(pod.labels)


def _has_keys(node: Node | None, constraints: Constraints) -> bool:
    return node is not None and all(constraint.topology_key in node.labels for constraint in constraints)


def _moved(old: Labels, new: Labels, constraints: Constraints) -> bool:
    return any(old.get(constraint.topology_key) != new.get(constraint.topology_key) for constraint in constraints)

"""Which events may make a pod schedulable that InterPodAffinity rejected.

Upstream: isSchedulableAfterPodChange and isSchedulableAfterNodeChange in interpodaffinity/plugin.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from moorage.framework.cluster_events import Action

if TYPE_CHECKING:
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.node import Node
    from moorage.model.pods.affinity import AffinityTerm
    from moorage.model.pods.pod import Pod


def pod_may_help(pod: Pod, event: ClusterEvent) -> bool:
    """Whether a pod came that is wanted near, or one went that is not, or that does not want the pod."""
    old, new = event.old, event.new
    if old is not None and new is not None and pod.uid == new.uid:
        return bool(old.labels != new.labels)
    if any(other is not None and not (other.node_name or other.nominated_node_name) for other in (old, new)):
        return False
    affinity = pod.shape.pod_affinity
    came_near = new is not None and _may_match_all(affinity.required_affinity, new)
    was_near = old is not None and _may_match_all(affinity.required_affinity, old)
    if event.action is not Action.DELETE and came_near and not was_near:
        return True
    left = old is not None and any(_may_match(term, old) for term in affinity.required_anti_affinity)
    stays = new is not None and all(_may_match(term, new) for term in affinity.required_anti_affinity)
    if left and not stays:
        return True
    return event.action is Action.DELETE and any(
        _may_match(term, pod) for term in old.shape.pod_affinity.required_anti_affinity
    )


def node_may_help(pod: Pod, old: Node | None, new: Node | None) -> bool:
    """Whether a node came, or moved to a domain that the pod has not been measured against."""
    if new is None:
        return False
    affinity = pod.shape.pod_affinity
    if old is None:
        wanted = (term.topology_key in new.labels for term in affinity.required_affinity)
        return bool(affinity.required_anti_affinity) or any(wanted)
    keys = {term.topology_key for term in (*affinity.required_affinity, *affinity.required_anti_affinity)}
    return any(old.labels.get(key) != new.labels.get(key) for key in keys)


def _may_match_all(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    return bool(terms) and all(_may_match(term, pod) for term in terms)


def _may_match(term: AffinityTerm, pod: Pod) -> bool:
    """Whether a term matches a pod; where a namespaceSelector decides, which no hint can look up, it may."""
    if pod.namespace not in term.namespaces and term.namespace_selector is None:
        return False
    return term.selector is not None and term.selector.matches(pod.labels)

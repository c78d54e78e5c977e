"""Queueing hints of InterPodAffinity: they decide which events may make a rejected pod schedulable.

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
    """Return whether a pod event may make nodes satisfy the required affinity or anti-affinity of `pod`."""
    old, new = event.old, event.new
    if old is not None and new is not None and pod.uid == new.uid:
        return bool(old.labels != new.labels)
    if any(other is not None and not (other.node_name or other.nominated_node_name) for other in (old, new)):
        return False
    affinity = pod.shape.pod_affinity
    matches = new is not None and _may_match_all(affinity.required_affinity, new)
    matched = old is not None and _may_match_all(affinity.required_affinity, old)
    if event.action is not Action.DELETE and matches and not matched:
        return True
    conflicted = old is not None and any(_may_match(term, old) for term in affinity.required_anti_affinity)
    conflicts = new is not None and all(_may_match(term, new) for term in affinity.required_anti_affinity)
    if conflicted and not conflicts:
        return True
    return event.action is Action.DELETE and any(
        _may_match(term, pod) for term in old.shape.pod_affinity.required_anti_affinity
    )


def node_may_help(pod: Pod, old: Node | None, new: Node | None) -> bool:
    """Return whether a new node has a topology key of the pod's terms, or a node moved to another domain."""
    if new is None:
        return False
    affinity = pod.shape.pod_affinity
    if old is None:
        has_key = (term.topology_key in new.labels for term in affinity.required_affinity)
        return bool(affinity.required_anti_affinity) or any(has_key)
    keys = {term.topology_key for term in (*affinity.required_affinity, *affinity.required_anti_affinity)}
    return any(old.labels.get(key) != new.labels.get(key) for key in keys)


def _may_match_all(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    return bool(terms) and all(_may_match(term, pod) for term in terms)


def _may_match(term: AffinityTerm, pod: Pod) -> bool:
    """Return whether a term may match a pod. A hint cannot look up namespaces, so any namespaceSelector may match."""
    if pod.namespace not in term.namespaces and term.namespace_selector is None:
        return False
    return term.selector is not None and term.selector.matches(pod.labels)

"""Changes of the cluster: a label on a node, the eviction of a pod, and one more node of an existing group.

These functions make each change in the given cache and undo it again. So the cache must be a private copy.
"""

import dataclasses
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from moorage.cluster.snapshot import Snapshot
from moorage.cluster.what_if import NodeWhatIf
from moorage.engine.cache import Cache
from moorage.engine.counterfactuals.counterfactual import ChangeKind, Counterfactual, change_to, fitting_nodes
from moorage.engine.counterfactuals.pod_changes import without_selector_label
from moorage.engine.cycle.filtering import filter_one, remove_pod
from moorage.engine.cycle.pre_filter import run_pre_filter
from moorage.engine.cycle.scheduling_cycle import nodes_to_filter
from moorage.engine.preemption.candidate_ranking import importance
from moorage.engine.preemption.disruption_budgets import budgets_of, is_protected
from moorage.framework.profile import Profile
from moorage.model.node import Node
from moorage.model.pods.pod import Pod, PodShape
from moorage.model.resources import Resources

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
TRANSIENT_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Prefixes of the taints that a new node of the same group would not have."""
MACHINE_DOMAINS = ("kubernetes.io/", "k8s.io/")
"""If the key of a label contains one of these texts, the label describes the machine, such as its zone."""
MAX_LABELED_NODES = 3
"""The number of nodes to try for each missing label."""
MAX_GROUPS = 100
"""The number of groups to try. Each try adds one more node of a group and filters all nodes again."""
MAX_EVICTIONS = 2000
"""The number of evictions to try, over all nodes."""


def node_labels(profile: Profile, pod: Pod, cache: Cache) -> Iterator[Counterfactual]:
    """Yield changes that add one label of the pod's nodeSelector to a node, except labels that describe the machine."""
    for key, value in sorted((pod.shape.node_selector or {}).items()):
        if any(domain in key for domain in MACHINE_DOMAINS):
            continue
        candidates = fitting_nodes(profile, without_selector_label(pod, key), cache.snapshot)
        names = [
            name for name in candidates[:MAX_LABELED_NODES] if _fits_labeled(profile, pod, cache, (name, key, value))
        ]
        if names:
            yield change_to(ChangeKind.NODE_LABEL, f"the label {key}={value} on one of these nodes", names)


def _fits_labeled(profile: Profile, pod: Pod, cache: Cache, label: tuple[str, str, str]) -> bool:
    """Return whether the pod fits on a node that gets a label; `label` is the node's name, the key and the value."""
    name, key, value = label
    node = _node(cache.snapshot, name)
    cache.set_node(dataclasses.replace(node, labels={**node.labels, key: value}))
    fits = name in fitting_nodes(profile, pod, cache.snapshot)
    cache.set_node(node)
    return fits


def victims(profile: Profile, pod: Pod, snapshot: Snapshot) -> Iterator[Counterfactual]:
    """Yield the eviction of one pod for each node: the least important pod whose eviction makes `pod` fit."""
    pre_filtered = run_pre_filter(profile, pod, snapshot)
    if not pre_filtered.status.is_success:
        return
    nodes = nodes_to_filter(pre_filtered, snapshot)
    budgets = budgets_of(snapshot)
    tries = MAX_EVICTIONS
    for position in range(nodes.size):
        lower = [other for other in nodes.pods_on(position) if other.priority < pod.priority]
        least_important_first = sorted(lower, key=importance, reverse=True)
        for victim in _one_of_each_shape(least_important_first):
            if not tries:
                return
            tries -= 1
            node = NodeWhatIf(nodes, position)
            states = remove_pod(pre_filtered, pre_filtered.states, victim, node)
            if filter_one(pre_filtered, states, node).is_success and not is_protected((victim,), budgets):
                text = f"without the pod {victim.key} (priority {victim.priority})"
                yield change_to(ChangeKind.VICTIM, text, node.names, float(victim.priority), victim.namespace)
                break


def new_nodes(profile: Profile, pod: Pod, cache: Cache) -> Iterator[Counterfactual]:
    """Yield changes that add one node of an instance type and zone that the cluster already has."""
    for (instance_type, zone), template in sorted(_groups(cache.snapshot).items())[:MAX_GROUPS]:
        position = cache.snapshot.position(template.name)
        assert position is not None, "a template is a node of the cluster"
        node = _clone(template, cache.snapshot)
        daemons = [
            replace(other, uid=f"{other.uid}/{node.name}", node_name=node.name)
            for other in cache.snapshot.pods_on(position)
            if other.shape.owner is not None and other.shape.owner.kind == "DaemonSet"
        ]
        cache.set_node(node)
        for daemon in daemons:
            cache.set_pod(daemon)
        if node.name in fitting_nodes(profile, pod, cache.snapshot):
            where = f" in {zone}" if zone else ""
            yield change_to(ChangeKind.NEW_NODE, f"one more {instance_type}{where}", [node.name])
        for daemon in daemons:
            cache.remove_pod(daemon.uid)
        cache.remove_node(node.name)


def _groups(snapshot: Snapshot) -> dict[tuple[str, str], Node]:
    """Return one node for each instance type and zone: the first by name, and a cordoned node only if all are."""
    nodes = [snapshot.node(position) for position in range(snapshot.size)]
    groups: dict[tuple[str, str], Node] = {}
    for node in sorted(nodes, key=lambda node: (node.unschedulable, node.name)):
        if instance_type := node.labels.get(INSTANCE_TYPE):
            groups.setdefault((instance_type, node.labels.get(ZONE, "")), node)
    return groups


def _clone(template: Node, snapshot: Snapshot) -> Node:
    """Return an empty, healthy node with the labels, the lasting taints and the allocatable amounts of a template."""
    name = f"new-{template.name}"
    while snapshot.position(name) is not None:
        name = f"new-{name}"
    labels = {**template.labels, **({HOSTNAME: name} if HOSTNAME in template.labels else {})}
    taints = tuple(taint for taint in template.taints if not taint.key.startswith(TRANSIENT_TAINTS))
    return dataclasses.replace(
        template, name=name, uid=name, labels=labels, taints=taints, unschedulable=False, images=(), raw=b""
    )


def _one_of_each_shape(pods: Iterable[Pod]) -> Iterable[Pod]:
    """Return the first pod of each shape; the eviction of another pod of the shape has the same effect."""
    first: dict[tuple[PodShape, Resources, bool], Pod] = {}
    for pod in pods:
        first.setdefault((pod.shape, pod.requests, pod.terminating), pod)
    return first.values()


def _node(snapshot: Snapshot, name: str) -> Node:
    position = snapshot.position(name)
    assert position is not None, "a fitting node is a node of the cluster"
    return snapshot.node(position)

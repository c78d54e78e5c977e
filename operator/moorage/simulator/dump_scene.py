"""Reads a dump of a cluster for a simulation: the nodes, the pods that stay on their nodes, and the pods to place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from moorage.errors import Fault, InvalidInput, UnusableDump
from moorage.framework.cluster_events import ClusterEvent
from moorage.inventory import cluster_events, read_dump
from moorage.model.decode import Decoder
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.plugins.own.lifecycle import UNKNOWN, Lifecycle
from moorage.simulator.file_objects import GPU, INSTANCE_TYPE_LABEL, MODEL_LABEL, ZONE_LABEL
from moorage.simulator.node_file import FileNode
from moorage.simulator.task_file import TaskSummary, Template

NODE_OWNERS = frozenset({"DaemonSet", "Node"})
"""Pods with owners of these kinds belong to their node, so the simulation does not move them."""


class PlacedPods(StrEnum):
    """The choice of the pods of a dump that a simulation places."""

    WAITING = "waiting"
    """Pods without a node. All other pods stay on their nodes."""
    ALL = "all"
    """Pods without a node, and running pods except those of DaemonSets and static pods. The oldest pod arrives
    first."""
    NONE = "none"
    """No pods, because a table has the tasks. Pods without a node are left out."""


class DumpScene(Struct, frozen=True):
    """The parts of a dump that a simulation needs."""

    events: tuple[ClusterEvent, ...]
    """All objects except the pods to place."""
    nodes: tuple[FileNode, ...]
    """The nodes, in the order of `events`."""
    staying: tuple[Pod, ...]
    arriving: tuple[Pod, ...]
    """The pods to place, in the order in which they arrive."""
    by_priority: bool = False
    """Whether pods of higher priority arrive first."""

    def in_another_order(self, seed: int) -> tuple[Pod, ...]:
        """Return the arriving pods in a random order. If they arrive by priority, keep the order of the priorities."""
        pods = [self.arriving[number] for number in np.random.default_rng(seed).permutation(len(self.arriving))]
        return tuple(sorted(pods, key=lambda pod: -pod.priority) if self.by_priority else pods)

    def with_priorities(self, tasks: TaskSummary) -> TaskSummary:
        """Return the facts about a table. If a staying pod has a priority, `has_priorities` is True."""
        return replace(tasks, has_priorities=tasks.has_priorities or any(pod.priority for pod in self.staying))

    def summary(self) -> TaskSummary:
        """Return the facts about the arriving pods."""
        templates = Counter(template_of(pod) for pod in self.arriving)
        return TaskSummary(
            count=len(self.arriving),
            is_trace=False,
            first=0.0,
            last=float(len(self.arriving)),
            has_priorities=any(pod.priority for pod in (*self.arriving, *self.staying)),
            templates=tuple(templates.most_common()),
        )


def read_scene(file: Path, placed: PlacedPods) -> DumpScene:
    """Read a dump. Raise InvalidInput if it cannot be used, or OSError if it cannot be read."""
    try:
        events = list(cluster_events(read_dump(file), Decoder()))
    except UnusableDump as error:
        raise InvalidInput([Fault((), None, str(error))]) from error
    pods = [event.new for event in events if event.kind == "Pod"]
    arriving = [pod for pod in pods if _is_placed(pod, placed)]
    uids = {pod.uid for pod in arriving}
    others = tuple(event for event in events if event.kind != "Pod" or event.new.uid not in uids)
    nodes = tuple(_measured(event.new) for event in others if event.kind == "Node")
    if not any(node.cpu_milli for node in nodes):
        raise InvalidInput([Fault((), None, f"{file}: the dump has no node with cpu")])
    if not arriving and placed is not PlacedPods.NONE:
        raise InvalidInput([Fault((), None, f"{file}: no pod waits for a node; --all-pods also places running pods")])
    return DumpScene(
        events=others,
        nodes=nodes,
        staying=tuple(pod for pod in pods if pod.uid not in uids and pod.node_name and not pod.is_terminal),
        arriving=()
        if placed is PlacedPods.NONE
        else tuple(_unplaced(pod) for pod in sorted(arriving, key=_arrival_order(placed))),
        by_priority=placed is PlacedPods.WAITING,
    )


def template_of(pod: Pod) -> Template:
    """Return the fields of a pod that the simulation measures."""
    requests = pod.shape.requests
    return Template(requests.get("cpu"), requests.get("memory") >> 20, requests.get(GPU), "", pod.priority)


def _is_placed(pod: Pod, placed: PlacedPods) -> bool:
    if pod.is_terminal or pod.terminating or pod.scheduling_gates:
        return False
    if not pod.node_name:
        return True
    owner = pod.shape.owner
    return placed is PlacedPods.ALL and (owner is None or owner.kind not in NODE_OWNERS)


def _arrival_order(placed: PlacedPods) -> Callable[[Pod], tuple[float, float, str]]:
    """Return the sort key of arriving pods: by priority if only waiting pods arrive, otherwise by age."""
    by_priority = placed is PlacedPods.WAITING
    return lambda pod: (-pod.priority if by_priority else 0, pod.creation_timestamp, pod.key)


def _unplaced(pod: Pod) -> Pod:
    return replace(pod, node_name="", required_node_name="", nominated_node_name="", start_time=None, phase="Pending")


def _measured(node: Node) -> FileNode:
    labels, allocatable = node.labels, node.allocatable
    lifecycle = Lifecycle().class_of(labels)
    return FileNode(
        name=node.name,
        cpu_milli=allocatable.get("cpu"),
        memory_mib=allocatable.get("memory") >> 20,
        gpu=allocatable.get(GPU),
        model=labels.get(MODEL_LABEL, ""),
        pods=allocatable.get("pods"),
        zone=labels.get(ZONE_LABEL, ""),
        instance_type=labels.get(INSTANCE_TYPE_LABEL, ""),
        lifecycle="" if lifecycle == UNKNOWN else lifecycle,
    )

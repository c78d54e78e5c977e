"""NodeResourcesFit: rejects nodes that lack free resources for the pod, and scores nodes by the use of their resources.

The filter uses the pod's requests. For the score, containers that request no cpu or memory get default requests.

moorage does not allocate devices (see `dynamic_resources`). If kube-scheduler would use a DeviceClass for an extended
resource, moorage rejects the node, and the reason names the DeviceClass.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from moorage.api.base import LABEL_VALUE_LENGTH, LABEL_VALUE_PATTERN, QualifiedName
from moorage.api.extender import is_extended_resource
from moorage.framework.cluster_events import Action
from moorage.framework.extension_points import (
    FilterPlugin,
    FilterResult,
    PreFilterPlugin,
    PreFilterResult,
    PreScoreResult,
    Rejection,
    ScorePlugin,
)
from moorage.framework.status import Code
from moorage.model.resources import PODS
from moorage.plugins.shared.node_resources_scoring import ScoringStrategy
from moorage.plugins.shared.node_resources_usage import ScoredResources, scored_resources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.cluster.arrays import IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod, PodShape

REASON_PODS = "Too many pods"
REASON_DEVICES = "node(s) have no allocatable {}, and moorage does not allocate devices (DRA) of DeviceClass {}"

ResourceGroup = Annotated[str, Field(max_length=LABEL_VALUE_LENGTH, pattern=LABEL_VALUE_PATTERN)]

Requests = tuple[tuple[str, int], ...]
"""Resource names, and the amounts that a node must have free. No amount is 0."""


@dataclass(frozen=True, slots=True)
class ResourceDemand:
    """The request of a shape for one resource."""

    resource: str
    amount: int
    max_in_use: IntArray
    """The amount that may be in use on each node of the cluster; negative if even the empty node has too little."""


Demands = tuple[ResourceDemand, ...]


class NodeResourcesFit(PreFilterPlugin[Demands], FilterPlugin[Demands | None], ScorePlugin[None]):
    """Filters nodes by free resources and by the number of pods, and scores nodes by a scoring strategy."""

    without_pre_filter = 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
    ignored_resources_argument = "ignoredResources"
    has_local_score = True
    interests = frozenset({"Node", "Pod", "DeviceClass"})

    ignored_resources: tuple[QualifiedName, ...] = ()
    """Extended resources that the filter ignores."""
    ignored_resource_groups: tuple[ResourceGroup, ...] = ()
    """Prefixes, such as `example.com`, of extended resources that the filter ignores."""
    scoring_strategy: ScoringStrategy = ScoringStrategy(type="LeastAllocated")
    """The scoring strategy; by default emptier nodes score higher."""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[Demands]:
        """Compute the highest amounts that may be in use on each node if the pod is to fit."""
        return PreFilterResult(state=self._demands_of(pod.shape, snapshot.cluster))

    def filter(self, state: Demands | None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes that allow one more pod and have enough of all requested resources."""
        demands = self._demands_of(pod.shape, nodes.cluster) if state is None else state
        passed = nodes.pod_count < nodes.allowed_pods
        for demand in demands:
            passed &= nodes.requested(demand.resource) <= nodes.gather(demand.max_in_use)
        return FilterResult(passed, lambda: tuple(_rejections(demands, nodes)))

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[None]:
        """Do nothing. The method exists because profiles may enable this plugin at PreScore."""
        del pod, nodes
        return PreScoreResult()

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Score nodes by the strategy."""
        del state
        resources = self._resources(pod.shape, nodes.cluster)
        in_use = [nodes.non_zero_requested(name) for name in resources.names]
        return self.scoring_strategy.score(resources.use(in_use, nodes))

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether requested resources became free, or a node that could hold the pod was added or grew.

        Also return True for a DeviceClass of a requested resource, because the DeviceClass changes the reason.
        """
        if event.kind == "Pod":
            return _frees_resources(event, pod)
        old, new = event.old, event.new
        requests = self._requests(pod.shape)
        if event.kind == "DeviceClass":
            return new is not None and any(new.provides(resource) for resource, _ in requests)
        if new is None or not _would_fit_empty(requests, new):
            return False
        return old is None or _grew(requests, old, new)

    def _demands_of(self, shape: PodShape, cluster: Snapshot) -> Demands:
        """Return the memoized demands of a shape."""
        generation = cluster.generations.nodes
        return cluster.memo((self, "demands"), shape, generation, lambda: self._demands(shape, cluster))

    def _demands(self, shape: PodShape, cluster: Snapshot) -> Demands:
        return tuple(
            ResourceDemand(resource, amount, cluster.allocatable(resource) - amount)
            for resource, amount in self._requests(shape)
        )

    def _resources(self, shape: PodShape, cluster: Snapshot) -> ScoredResources:
        specs, generation = self.scoring_strategy.resources, cluster.generations.nodes
        return cluster.memo(self, shape, generation, lambda: scored_resources(specs, shape.score_requests, cluster))

    def _requests(self, shape: PodShape) -> Requests:
        return tuple((name, amount) for name, amount in shape.requests.amounts if self._checks(name, amount))

    def _checks(self, resource: str, amount: int) -> bool:
        """Return whether the filter checks a request."""
        if not amount:
            return False
        group = resource.split("/", maxsplit=1)[0]
        ignored = resource in self.ignored_resources or group in self.ignored_resource_groups
        return not (ignored and is_extended_resource(resource))


def _rejections(demands: Demands, nodes: Snapshot) -> Iterator[Rejection]:
    """Yield a rejection for each resource. If the pod would not fit on the empty node, preemption cannot help."""
    yield Rejection(nodes.pod_count >= nodes.allowed_pods, REASON_PODS)
    unresolvable = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    for demand in demands:
        max_in_use = nodes.gather(demand.max_in_use)
        short = nodes.requested(demand.resource) > max_in_use
        reason = f"Insufficient {demand.resource}"
        yield Rejection(short & (max_in_use >= 0), reason)
        short &= max_in_use < 0
        device_class = _device_class_of(demand.resource, nodes)
        if device_class:
            delegated = short & (max_in_use == -demand.amount)
            yield Rejection(delegated, REASON_DEVICES.format(demand.resource, device_class), unresolvable)
            short &= ~delegated
        yield Rejection(short, reason, unresolvable)


def _device_class_of(resource: str, nodes: Snapshot) -> str:
    """Return the alphabetically first DeviceClass that provides the resource; empty if there is none.

    Upstream leaves nodes without such a resource to DynamicResources (shouldDelegateResourceToDRA in fit.go).
    """
    classes = nodes.objects("DeviceClass").values()
    return min((each.name for each in classes if each.provides(resource)), default="")


def _frees_resources(event: ClusterEvent, pod: Pod) -> bool:
    """Return whether a pod was deleted or now requests less of a resource that `pod` requests."""
    old, new = event.old, event.new
    if event.action is Action.DELETE:
        return bool(old.node_name or old.nominated_node_name)
    if event.action is not Action.UPDATE:
        return False
    if new.uid == pod.uid:
        return _requests_less(old.shape.requests.amounts, new)
    wanted = {name for name, amount in pod.shape.requests.amounts if amount}
    return bool(new.node_name) and any(old.requests.get(name) > new.requests.get(name) for name in wanted)


def _requests_less(amounts: Requests, pod: Pod) -> bool:
    return any(amount > pod.shape.requests.get(name) for name, amount in amounts)


def _would_fit_empty(requests: Requests, node: Node) -> bool:
    """Return whether the pod would fit the node if no other pod ran there."""
    return node.allocatable.get(PODS) >= 1 and all(amount <= node.allocatable.get(name) for name, amount in requests)


def _grew(requests: Requests, old: Node, new: Node) -> bool:
    """Return whether a node now allows more pods, or has more of a requested resource."""
    wanted = (PODS, *(name for name, _ in requests))
    return any(new.allocatable.get(name) > old.allocatable.get(name) for name in wanted)

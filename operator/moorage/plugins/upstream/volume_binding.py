"""VolumeBinding: a pod goes where its claims are bound, or can be.

Bound claims tie the pod to the nodes that can use their volumes. Claims that wait for their first consumer get a volume
that is there already, or one that is provisioned where the node's topology and storage capacity allow. Claims that are
bound at once, by the volume controller, have to be bound before their pod is scheduled.

What Reserve decides is carried out in PreBind: the volume's claimRef, or the claim's selected node, is written, and the
pod is bound once all of its claims are, within `bindTimeoutSeconds`.

Upstream: `pkg/scheduler/framework/plugins/volumebinding`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from moorage.cluster.intents import BindVolume, SelectNode
from moorage.cluster.node_selectors import matches_selector
from moorage.framework.cluster_events import Action
from moorage.framework.extension_points import (
    FilterPlugin,
    FilterResult,
    PreFilterPlugin,
    PreFilterResult,
    PreScoreResult,
    Rejection,
    ReservePlugin,
    ScorePlugin,
)
from moorage.framework.status import SKIP, Code, Status, error, unresolvable
from moorage.model.volumes.storage_objects import WAIT_FOR_FIRST_CONSUMER
from moorage.plugins.shared.volume_matching import Match, match_claims
from moorage.plugins.shared.volume_provisioning import can_be_provisioned, has_space

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.intents import Intent
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape
    from moorage.model.pods.pod_volume import PodVolume
    from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim

BIND_REASON = "node(s) didn't find available persistent volumes to bind"
NODE_AFFINITY_REASON = "node(s) didn't match PersistentVolume's node affinity"
SPACE_REASON = "node(s) did not have enough free storage"
NO_VOLUME_REASON = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
IMMEDIATE_REASON = "pod has unbound immediate PersistentVolumeClaims"


@dataclass(frozen=True, slots=True)
class PodClaims:
    """The claims of a pod that are bound, and those that wait for it to be scheduled."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """What is in a node's way, by node, and what each delayed claim would get."""

    wrong_node: BoolArray
    cannot_bind: BoolArray
    no_space: BoolArray
    no_volume: BoolArray
    matches: Sequence[Match]
    selected: Sequence[PersistentVolumeClaim]
    """Claims whose node was chosen before, and whose volumes are only to be made."""


class VolumeBinding(PreFilterPlugin[PodClaims], FilterPlugin[PodClaims], ScorePlugin[None], ReservePlugin):
    """Filters by the volumes that the pod's claims have or can get, and says what has to be bound."""

    without_pre_filter: ClassVar[str] = "not found"
    interests: ClassVar[frozenset[str]] = frozenset(
        {
            "StorageClass",
            "PersistentVolumeClaim",
            "PersistentVolume",
            "Node",
            "CSINode",
            "CSIDriver",
            "CSIStorageCapacity",
        }
    )

    bind_timeout_seconds: Annotated[int, Field(ge=0)] = 600
    """How long claims may take to be bound, or volumes to be provisioned, before the pod is tried again."""
    shape: Any = None
    """Refused: only the feature gate StorageCapacityScoring, alpha and off in 1.36, has a use for it."""

    @field_validator("shape")
    @classmethod
    def _no_shape(cls, shape: Any) -> None:
        if shape is not None:
            raise ValueError("unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring")

    @property
    def pre_bind_timeout_seconds(self) -> int:
        """The argument `bindTimeoutSeconds`."""
        return self.bind_timeout_seconds

    def skips_filter(self, shape: PodShape) -> bool:
        """Skip pods without claims."""
        return not any(volume.is_claim for volume in shape.volumes)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[PodClaims]:
        """Sort the pod's claims; reject it while one is missing or should have been bound, SKIP it without any."""
        claims: list[PersistentVolumeClaim] = []
        for volume in pod.shape.volumes:
            if volume.is_claim:
                name = volume.claim_of(pod.name)
                claim = snapshot.objects("PersistentVolumeClaim").get(f"{pod.namespace}/{name}")
                if claim is None:
                    return PreFilterResult(unresolvable(_missing(name, ephemeral=volume.ephemeral)))
                if fault := _fault(claim, volume, pod):
                    return PreFilterResult(unresolvable(fault))
                claims.append(claim)
        if not claims:
            return PreFilterResult(SKIP)
        refusal, delayed = _delayed(claims, snapshot)
        if refusal is not None:
            return PreFilterResult(refusal)
        return PreFilterResult(state=PodClaims(tuple(each for each in claims if each.is_bound), delayed))

    def filter(self, state: PodClaims, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes on which every claim has a volume that can be used there, or can get one."""
        del pod
        answer = _answer(state, nodes)
        hits = {
            NODE_AFFINITY_REASON: answer.wrong_node,
            BIND_REASON: answer.cannot_bind,
            SPACE_REASON: answer.no_space,
            NO_VOLUME_REASON: answer.no_volume,
        }
        return FilterResult(
            ~np.logical_or.reduce(list(hits.values())),
            lambda: [Rejection(hit, reason, Code.UNSCHEDULABLE_AND_UNRESOLVABLE) for reason, hit in hits.items()],
        )

    def skips_score(self, shape: PodShape) -> bool:
        """Skip all pods: volumes are scored only with the feature gate StorageCapacityScoring, which is alpha."""
        del shape
        return True

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[None]:
        """SKIP, see `skips_score`."""
        del pod, nodes
        return PreScoreResult(SKIP)

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Score nothing, see `skips_score`."""
        del state, pod
        return np.zeros(nodes.size, np.int64)

    def reserve(self, state: PodClaims | None, pod: Pod, nodes: Snapshot) -> Sequence[Intent]:
        """Say which volumes are to be bound to claims, and which claims get their volumes provisioned on the node."""
        del pod
        if state is None or not state.delayed:
            return ()
        answer = _answer(state, nodes)
        found = [match for match in answer.matches if match.found[0]]
        missing = [match.claim for match in answer.matches if not match.found[0]]
        node_name = nodes.names[0]
        return (
            *(_bind(match.volumes[match.chosen[0]], match.claim) for match in found),
            *(_select(claim, node_name) for claim in (*answer.selected, *missing)),
        )

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Whether something changed that the pod's claims depend on; most changes are for the better."""
        if event.action is Action.DELETE:
            return False
        if event.kind == "PersistentVolumeClaim":
            names = {volume.claim_of(pod.name) for volume in pod.shape.volumes if volume.is_claim}
            return event.new.namespace == pod.namespace and event.new.name in names
        if event.action is Action.ADD:
            return event.kind != "CSIDriver"
        changed_for_better = _CHANGES_FOR_BETTER.get(event.kind)
        return changed_for_better is None or changed_for_better(event.old, event.new)


_CHANGES_FOR_BETTER: Mapping[str, Callable[[Any, Any], bool]] = {
    "StorageClass": lambda old, new: old.allowed_topologies != new.allowed_topologies,
    "Node": lambda old, new: old.labels != new.labels,
    "CSINode": lambda old, new: old.migrated_plugins != new.migrated_plugins,
    "CSIDriver": lambda old, new: old.storage_capacity and not new.storage_capacity,
    "CSIStorageCapacity": lambda old, new: (new.limit_bytes or 0) > (old.limit_bytes or 0),
}
"""Which updates of an object may help, by kind; of other kinds all may."""


def _missing(name: str, *, ephemeral: bool) -> str:
    if ephemeral:
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
    return f'persistentvolumeclaim "{name}" not found'


def _fault(claim: PersistentVolumeClaim, volume: PodVolume, pod: Pod) -> str:
    """Say what is wrong with a claim; that of an ephemeral volume has to be the pod's own."""
    if claim.phase == "Lost":
        return f'persistentvolumeclaim "{claim.name}" bound to non-existent persistentvolume "{claim.volume_name}"'
    if claim.terminating:
        return f'persistentvolumeclaim "{claim.name}" is being deleted'
    if volume.ephemeral and claim.owner_uid != pod.uid:
        return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"
    return ""


def _delayed(
    claims: Iterable[PersistentVolumeClaim], snapshot: Snapshot
) -> tuple[Status | None, tuple[PersistentVolumeClaim, ...]]:
    """Return the claims that wait for their first consumer, or a refusal if another one is not bound yet."""
    refusal = None
    delayed: list[PersistentVolumeClaim] = []
    for claim in claims:
        if claim.is_bound:
            continue
        storage_class = snapshot.objects("StorageClass").get(claim.class_name)
        mode = storage_class.volume_binding_mode if storage_class else ""
        if mode is None:
            return error(f'VolumeBindingMode not set for StorageClass "{claim.class_name}"'), ()
        if mode == WAIT_FOR_FIRST_CONSUMER and not claim.volume_name:
            delayed.append(claim)
        else:
            refusal = unresolvable(IMMEDIATE_REASON)
    return refusal, tuple(delayed)


def _answer(claims: PodClaims, nodes: Snapshot) -> _Answer:
    wrong_node, no_volume = _judge_bound(claims.bound, nodes)
    elsewhere = np.zeros(nodes.size, np.bool_)
    selected = [claim for claim in claims.delayed if claim.selected_node is not None]
    for claim in selected:
        here = np.zeros(nodes.size, np.bool_)
        position = nodes.position(claim.selected_node or "")
        if position is not None:
            here[position] = True
        elsewhere |= ~here
    waiting = [claim for claim in claims.delayed if claim.selected_node is None]
    matches = match_claims(waiting, _volumes(waiting, nodes), nodes) if waiting else []
    cannot_bind, no_space = elsewhere, np.zeros(nodes.size, np.bool_)
    undecided = ~elsewhere
    for claim, needed in (
        *((claim, undecided) for claim in selected),
        *((each.claim, ~each.found) for each in matches),
    ):
        refused = undecided & needed & ~can_be_provisioned(claim, nodes)
        short = undecided & needed & ~refused & ~has_space(claim, nodes)
        cannot_bind, no_space, undecided = cannot_bind | refused, no_space | short, undecided & ~refused & ~short
    return _Answer(wrong_node, cannot_bind, no_space, no_volume, matches, selected)


def _judge_bound(claims: Iterable[PersistentVolumeClaim], nodes: Snapshot) -> tuple[BoolArray, BoolArray]:
    """Return the nodes that a volume cannot be used on, and those where a volume is missing; the first fault counts."""
    wrong_node, no_volume = np.zeros(nodes.size, np.bool_), np.zeros(nodes.size, np.bool_)
    for claim in claims:
        volume = nodes.objects("PersistentVolume").get(claim.volume_name)
        if volume is None:
            return wrong_node, ~wrong_node
        if volume.node_affinity is not None:
            wrong_node |= ~matches_selector(volume.node_affinity, nodes)
    return wrong_node, no_volume


def _volumes(claims: Iterable[PersistentVolumeClaim], nodes: Snapshot) -> list[PersistentVolume]:
    """Return all volumes of the claims' classes, by name."""
    classes = {claim.class_name for claim in claims}
    volumes = (volume for volume in nodes.objects("PersistentVolume").values() if volume.class_name in classes)
    return sorted(volumes, key=lambda volume: volume.name)


def _bind(volume: PersistentVolume, claim: PersistentVolumeClaim) -> BindVolume:
    return BindVolume(
        volume_name=volume.name,
        volume_resource_version=volume.resource_version,
        claim_namespace=claim.namespace,
        claim_name=claim.name,
        claim_uid=claim.uid,
    )


def _select(claim: PersistentVolumeClaim, node_name: str) -> SelectNode:
    return SelectNode(
        claim_namespace=claim.namespace,
        claim_name=claim.name,
        claim_resource_version=claim.resource_version,
        node_name=node_name,
    )

"""VolumeBinding: selects nodes on which the pod's claims are bound or can be bound.

A bound claim limits the pod to the nodes that can use its volume. A claim that waits for its first consumer gets an
existing volume, or a new one if the node's topology and storage capacity allow it. The volume controller binds all
other claims before the pod can be scheduled.

PreBind carries out the decisions of Reserve: it writes the volume's claimRef or the claim's selected node, and waits up
to `bindTimeoutSeconds` until all claims are bound. Then the runtime binds the pod.

Upstream: `pkg/scheduler/framework/plugins/volumebinding`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from moorage.cluster.intents import BindVolume, SelectNode
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
from moorage.framework.status import SKIP, Code, Status
from moorage.plugins.shared.pod_volume_claims import PodVolumeClaims, read_claims
from moorage.plugins.shared.pod_volumes import find_pod_volumes

if TYPE_CHECKING:
    from moorage.cluster.arrays import IntArray
    from moorage.cluster.intents import Intent
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape
    from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim

BIND_REASON = "node(s) didn't find available persistent volumes to bind"
NODE_AFFINITY_REASON = "node(s) didn't match PersistentVolume's node affinity"
SPACE_REASON = "node(s) did not have enough free storage"
NO_VOLUME_REASON = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class VolumeBinding(PreFilterPlugin[PodVolumeClaims], FilterPlugin[PodVolumeClaims], ScorePlugin[None], ReservePlugin):
    """Filters nodes by the volumes that the pod's claims have or can get, and binds or provisions volumes."""

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
    """Time limit for PreBind to bind the claims, in seconds; after that, the pod returns to the queue."""
    shape: Any = None
    """Not supported. Only the feature gate StorageCapacityScoring uses `shape`; the gate is alpha and off in 1.36."""

    @field_validator("shape")
    @classmethod
    def _reject_shape(cls, shape: Any) -> None:
        if shape is not None:
            raise ValueError("unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring")

    @property
    def pre_bind_timeout_seconds(self) -> int:
        """The argument `bindTimeoutSeconds`."""
        return self.bind_timeout_seconds

    def skips_filter(self, shape: PodShape) -> bool:
        """Return whether pods of the shape have no claims."""
        return not any(volume.is_claim for volume in shape.volumes)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[PodVolumeClaims]:
        """Read the pod's claims. Return SKIP if there are none, and reject the pod if a claim prevents scheduling."""
        if self.skips_filter(pod.shape):
            return PreFilterResult(SKIP)
        claims = read_claims(pod, snapshot)
        return PreFilterResult(claims) if isinstance(claims, Status) else PreFilterResult(state=claims)

    def filter(self, state: PodVolumeClaims, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes on which each claim has a usable volume or can get one."""
        del pod
        volumes = find_pod_volumes(state, nodes)
        rejected = {
            NODE_AFFINITY_REASON: volumes.affinity_conflict,
            BIND_REASON: volumes.cannot_bind,
            SPACE_REASON: volumes.no_space,
            NO_VOLUME_REASON: volumes.missing_volume,
        }
        return FilterResult(
            ~np.logical_or.reduce(list(rejected.values())),
            lambda: [Rejection(hit, reason, Code.UNSCHEDULABLE_AND_UNRESOLVABLE) for reason, hit in rejected.items()],
        )

    def skips_score(self, shape: PodShape) -> bool:
        """Return True, because only the alpha feature gate StorageCapacityScoring enables the score."""
        del shape
        return True

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[None]:
        """Return SKIP (see `skips_score`)."""
        del pod, nodes
        return PreScoreResult(SKIP)

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Score 0 for all nodes (see `skips_score`)."""
        del state, pod
        return np.zeros(nodes.size, np.int64)

    def reserve(self, state: PodVolumeClaims | None, pod: Pod, nodes: Snapshot) -> Sequence[Intent]:
        """Return intents: which volume to bind to which claim, and for which claims to provision volumes."""
        del pod
        if state is None or not state.delayed:
            return ()
        volumes = find_pod_volumes(state, nodes)
        found = [match for match in volumes.matches if match.found[0]]
        missing = [match.claim for match in volumes.matches if not match.found[0]]
        node_name = nodes.names[0]
        return (
            *(_bind(match.volumes[match.chosen[0]], match.claim) for match in found),
            *(_select(claim, node_name) for claim in (*volumes.selected, *missing)),
        )

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether the event may make the pod's claims usable."""
        if event.action is Action.DELETE:
            return False
        if event.kind == "PersistentVolumeClaim":
            names = {volume.claim_of(pod.name) for volume in pod.shape.volumes if volume.is_claim}
            return event.new.namespace == pod.namespace and event.new.name in names
        if event.action is Action.ADD:
            return event.kind != "CSIDriver"
        may_help = _HELPFUL_UPDATES.get(event.kind)
        return may_help is None or may_help(event.old, event.new)


_HELPFUL_UPDATES: Mapping[str, Callable[[Any, Any], bool]] = {
    "StorageClass": lambda old, new: old.allowed_topologies != new.allowed_topologies,
    "Node": lambda old, new: old.labels != new.labels,
    "CSINode": lambda old, new: old.migrated_plugins != new.migrated_plugins,
    "CSIDriver": lambda old, new: old.storage_capacity and not new.storage_capacity,
    "CSIStorageCapacity": lambda old, new: (new.limit_bytes or 0) > (old.limit_bytes or 0),
}
"""For each kind, a function that returns whether an update may help. Updates of other kinds may always help."""


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

"""NodeVolumeLimits: rejects nodes on which the pod's volumes would exceed a CSI driver's limit of attached volumes.

`moorage.cluster.volumes.attachable_volumes` counts the attached volumes. If another pod on the node uses a volume of
the pod, the volume does not count again. If the volume is attached but no pod on the node uses it, the volume counts
twice, as in kube-scheduler.

Upstream: `pkg/scheduler/framework/plugins/nodevolumelimits/csi.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import PrivateAttr

from moorage.cluster.volumes.volume_keys import VolumeKey, is_attachable, volume_keys
from moorage.framework.cluster_events import Action
from moorage.framework.extension_points import FilterPlugin, FilterResult, PreFilterPlugin, PreFilterResult, Rejection
from moorage.framework.status import SKIP, SUCCESS, Code

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape
    from moorage.model.volumes.storage_objects import CSINode

REASON = "node(s) exceed max volume count"

VOLUME_LIMIT_SCALING = "VolumeLimitScaling"
"""The feature gate that makes this plugin reject nodes without the driver of a volume; alpha and off in 1.36."""


class NodeVolumeLimits(PreFilterPlugin[None], FilterPlugin[None]):
    """Filters nodes by the number of volumes that CSI drivers can attach."""

    interests: ClassVar[frozenset[str]] = frozenset({"CSINode", "Pod", "PersistentVolumeClaim", "VolumeAttachment"})

    _rejects_missing_drivers: bool = PrivateAttr(default=False)

    def model_post_init(self, context: Any, /) -> None:
        """Read the feature gate from the validation context."""
        self._rejects_missing_drivers = VOLUME_LIMIT_SCALING in (context or {}).get("feature_gates", ())

    def skips_filter(self, shape: PodShape) -> bool:
        """Return whether pods of the shape have no volumes that a driver could attach."""
        return not any(map(is_attachable, shape.volumes))

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[None]:
        """Return SKIP for pods without volumes that a driver could attach."""
        del snapshot
        return PreFilterResult(SKIP if self.skips_filter(pod.shape) else SUCCESS)

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes that can attach the pod's additional volumes."""
        del state
        for volume in pod.shape.volumes:
            if not volume.is_claim:
                continue
            name = volume.claim_of(pod.name)
            claim = nodes.objects("PersistentVolumeClaim").get(f"{pod.namespace}/{name}")
            if claim is None:
                return _claim_not_found(pod, name, nodes)
            if volume.ephemeral and claim.owner_uid != pod.uid:
                reason = f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"
                return _reject_all(nodes, reason, Code.ERROR)
        by_driver: dict[str, set[VolumeKey]] = {}
        for key in volume_keys(pod, nodes.objects):
            by_driver.setdefault(key.driver, set()).add(key)
        missing = {driver: self._nodes_without(driver, nodes) for driver in sorted(by_driver)}
        full = np.zeros(nodes.size, np.bool_)
        for driver, keys in by_driver.items():
            new = len(keys) - sum(nodes.volume_in_use(key).astype(np.int64) for key in keys)
            full |= (new > 0) & (nodes.attached_volumes(driver) + new > nodes.volume_limit(driver))
        passed = ~np.logical_or.reduce([full, *missing.values()])

        def rejections() -> Sequence[Rejection]:
            undecided = np.ones(nodes.size, np.bool_)
            found: list[Rejection] = []
            for driver, hit in missing.items():
                found.append(Rejection(hit & undecided, f"{driver} CSI driver is not installed on the node"))
                undecided &= ~hit
            return (*found, Rejection(full & undecided, REASON))

        return FilterResult(passed, rejections)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether a volume may have been released, a claim of the pod was added, or a limit was raised."""
        match event.kind:
            case "CSINode":
                return event.action is Action.ADD or (
                    event.action is Action.UPDATE and _raises_a_limit(event.old, event.new)
                )
            case "PersistentVolumeClaim":
                names = {volume.claim_of(pod.name) for volume in pod.shape.volumes if volume.is_claim}
                return event.action is Action.ADD and event.new.namespace == pod.namespace and event.new.name in names
            case "VolumeAttachment":
                return event.action is Action.DELETE and any(map(is_attachable, pod.shape.volumes))
            case _:
                return event.action is Action.DELETE and _used_volumes(event.old)

    def _nodes_without(self, driver: str, nodes: Snapshot) -> BoolArray:
        """Return the nodes without the driver; no nodes if the gate is off or the CSIDriver does not ask for this."""
        installed = nodes.objects("CSIDriver").get(driver)
        opted_in = self._rejects_missing_drivers and installed and installed.prevent_pod_scheduling_if_missing
        missing = np.full(nodes.size, bool(opted_in))
        if opted_in:
            for csi_node in nodes.objects("CSINode").values():
                position = nodes.position(csi_node.name) if driver in csi_node.drivers else None
                if position is not None:
                    missing[position] = False
        return missing


def _claim_not_found(pod: Pod, name: str, nodes: Snapshot) -> FilterResult:
    reason = f'looking up PVC {pod.namespace}/{name}: persistentvolumeclaim "{name}" not found'
    return _reject_all(nodes, reason, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


def _reject_all(nodes: Snapshot, reason: str, code: Code) -> FilterResult:
    all_nodes = np.ones(nodes.size, np.bool_)
    return FilterResult(~all_nodes, lambda: (Rejection(all_nodes, reason, code),))


def _raises_a_limit(old: CSINode, new: CSINode) -> bool:
    return any(limit > old.limits.get(driver, 0) for driver, limit in new.limits.items())


def _used_volumes(other: Pod) -> bool:
    return bool(other.node_name or other.nominated_node_name) and any(map(is_attachable, other.shape.volumes))

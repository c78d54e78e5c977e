"""Checks with the informers' objects whether the written volumes and claims are bound.

A binding is done, pending, or no longer possible. In the last case, the attempt ends in an error, not in a rejection,
and the pod is scheduled again from the start.
Upstream: checkBindings in pkg/scheduler/framework/plugins/volumebinding/binder.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from moorage.cluster.intents import BindVolume, SelectNode
from moorage.cluster.node_selectors import node_matches
from moorage.errors import MoorageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.cluster.intents import Intent
    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod
    from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim
    from moorage.runtime.volumes.volume_stores import VolumeStores


class VolumesNotBound(MoorageError):  # noqa: N818 - a sentence for an event, like the other errors
    """The volumes of a pod cannot be bound, so the pod must not wait any longer."""


@dataclass(frozen=True, slots=True)
class WrittenIntent:
    """An intent that was carried out."""

    intent: Intent
    resource_version: str
    """The resourceVersion of the written object. Older copies of the object do not have the change."""


def find_pending_bindings(
    pod: Pod, node_name: str, written: Iterable[WrittenIntent], stores: VolumeStores
) -> list[str]:
    """Return a description of each binding that is still pending; empty if all are done.

    Raises VolumesNotBound when a binding is no longer possible.
    """
    latest = stores.pods.get(pod.key)
    if latest is None or latest.uid != pod.uid or latest.terminating:
        raise VolumesNotBound(f"pod {pod.key} was deleted while its volumes were being bound")
    node = stores.nodes.get(node_name)
    if node is None:
        raise VolumesNotBound(f"node {node_name} was deleted while volumes were being bound for it")
    descriptions = (_check_binding(one, node, stores) for one in written)
    return [description for description in descriptions if description]


def _check_binding(written: WrittenIntent, node: Node, stores: VolumeStores) -> str:
    intent = written.intent
    if isinstance(intent, BindVolume):
        return _check_volume(intent, written.resource_version, node, stores)
    return _check_provisioning(intent, written.resource_version, node, stores)


def _check_volume(intent: BindVolume, version: str, node: Node, stores: VolumeStores) -> str:
    claim = _find_claim(f"{intent.claim_namespace}/{intent.claim_name}", stores)
    volume = stores.volumes.get(intent.volume_name)
    if volume is None:
        raise VolumesNotBound(f"volume {intent.volume_name} was deleted before claim {claim.key} was bound to it")
    if _is_older(volume.resource_version, version):
        return f"volume {volume.name} (written, but not yet received from the API server)"
    if volume.claim_ref is None or volume.claim_ref.uid != intent.claim_uid:
        raise VolumesNotBound(f"volume {volume.name} is no longer reserved for claim {claim.key}")
    _check_affinity(volume, node)
    if claim.is_bound and claim.volume_name != volume.name:
        raise VolumesNotBound(f"claim {claim.key} was bound to volume {claim.volume_name} instead of {volume.name}")
    return "" if claim.is_bound else f"claim {claim.key} (the volume controller binds it to volume {volume.name})"


def _check_provisioning(intent: SelectNode, version: str, node: Node, stores: VolumeStores) -> str:
    claim = _find_claim(f"{intent.claim_namespace}/{intent.claim_name}", stores)
    if _is_older(claim.resource_version, version):
        return f"claim {claim.key} (written, but not yet received from the API server)"
    if claim.selected_node != intent.node_name:
        raise VolumesNotBound(
            f"the provisioner of claim {claim.key} rejected node {intent.node_name}, see the claim's events; "
            "the pod is scheduled again"
        )
    volume = stores.volumes.get(claim.volume_name)
    if volume is not None:
        _check_affinity(volume, node)
    if claim.is_bound and volume is not None:
        return ""
    return f"claim {claim.key} (the provisioner of its class {claim.class_name} creates its volume)"


def _find_claim(key: str, stores: VolumeStores) -> PersistentVolumeClaim:
    claim = stores.claims.get(key)
    if claim is None or claim.terminating:
        raise VolumesNotBound(f"claim {key} was deleted while its volume was being bound")
    return claim


def _check_affinity(volume: PersistentVolume, node: Node) -> None:
    if volume.node_affinity is not None and not node_matches(volume.node_affinity, node):
        raise VolumesNotBound(f"volume {volume.name} cannot be used on node {node.name}: its node affinity excludes it")


def _is_older(seen: str, written: str) -> bool:
    """Return whether the informer's object is older than the write; False for versions that are not numbers."""
    return seen.isdigit() and written.isdigit() and int(seen) < int(written)

"""How far the binding of volumes has come, as the informers see it.

What is asked for may be done, may be on its way, or may not come any more. In the last case the pod is tried again from
the start, which is an error and not a rejection. Upstream: checkBindings in
pkg/scheduler/framework/plugins/volumebinding/binder.go.
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


class VolumesNotBound(MoorageError):  # noqa: N818 - a sentence for an event, like the others
    """A pod's volumes are not bound, and waiting does not help."""


@dataclass(frozen=True, slots=True)
class Written:
    """An intent that was carried out, and the resourceVersion from which on its object shows it."""

    intent: Intent
    resource_version: str


def outstanding(pod: Pod, node_name: str, written: Iterable[Written], stores: VolumeStores) -> list[str]:
    """Say what is still waited for; nothing once all is bound. Raises VolumesNotBound."""
    seen = stores.pods.get(pod.key)
    if seen is None or seen.uid != pod.uid or seen.terminating:
        raise VolumesNotBound(f"pod {pod.key} was deleted while its volumes were being bound")
    node = stores.nodes.get(node_name)
    if node is None:
        raise VolumesNotBound(f"node {node_name} was deleted while volumes were being bound for it")
    waits = (_wait(one, node, stores) for one in written)
    return [wait for wait in waits if wait]


def _wait(written: Written, node: Node, stores: VolumeStores) -> str:
    intent = written.intent
    if isinstance(intent, BindVolume):
        return _wait_for_volume(intent, written.resource_version, node, stores)
    return _wait_for_provisioner(intent, written.resource_version, node, stores)


def _wait_for_volume(intent: BindVolume, version: str, node: Node, stores: VolumeStores) -> str:
    claim = _claim(f"{intent.claim_namespace}/{intent.claim_name}", stores)
    volume = stores.volumes.get(intent.volume_name)
    if volume is None:
        raise VolumesNotBound(f"volume {intent.volume_name}, which claim {claim.key} was to get, was deleted")
    if _is_older(volume.resource_version, version):
        return f"volume {volume.name} (sent, not seen yet)"
    if volume.claim_ref is None or volume.claim_ref.uid != intent.claim_uid:
        raise VolumesNotBound(f"volume {volume.name} was taken from claim {claim.key} again")
    _check_affinity(volume, node)
    if claim.is_bound and claim.volume_name != volume.name:
        raise VolumesNotBound(f"claim {claim.key} was bound to volume {claim.volume_name} instead of {volume.name}")
    return "" if claim.is_bound else f"claim {claim.key} (the volume controller binds it to volume {volume.name})"


def _wait_for_provisioner(intent: SelectNode, version: str, node: Node, stores: VolumeStores) -> str:
    claim = _claim(f"{intent.claim_namespace}/{intent.claim_name}", stores)
    if _is_older(claim.resource_version, version):
        return f"claim {claim.key} (sent, not seen yet)"
    if claim.selected_node != intent.node_name:
        raise VolumesNotBound(
            f"the provisioner of claim {claim.key} gave node {intent.node_name} back, see the claim's events; "
            "the pod is scheduled anew"
        )
    volume = stores.volumes.get(claim.volume_name)
    if volume is not None:
        _check_affinity(volume, node)
    if claim.is_bound and volume is not None:
        return ""
    return f"claim {claim.key} (the provisioner of its class {claim.class_name} makes its volume)"


def _claim(key: str, stores: VolumeStores) -> PersistentVolumeClaim:
    claim = stores.claims.get(key)
    if claim is None or claim.terminating:
        raise VolumesNotBound(f"claim {key} was deleted while its volume was being bound")
    return claim


def _check_affinity(volume: PersistentVolume, node: Node) -> None:
    if volume.node_affinity is not None and not node_matches(volume.node_affinity, node):
        raise VolumesNotBound(f"volume {volume.name} cannot be used on node {node.name}: its node affinity excludes it")


def _is_older(seen: str, written: str) -> bool:
    """Whether the informer has not caught up with a write; versions grow, and what is no number cannot be compared."""
    return seen.isdigit() and written.isdigit() and int(seen) < int(written)

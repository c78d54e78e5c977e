"""The cluster without one placed pod, to decide about that pod again.

The columns of the real cluster are not copied. For each group of columns, a proxy
changes only the entry of the pod's node: it takes this entry from a `NodeWhatIf` without the pod. All other reads go to
the real columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from moorage.cluster.columns.port_columns import conflicts
from moorage.cluster.memo import Memo
from moorage.cluster.snapshot import D, Snapshot
from moorage.cluster.terms.counted_terms import Carried, CarriedKind, CountedTerm
from moorage.cluster.what_if import NodeWhatIf

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.node_columns import NodeColumns
    from moorage.cluster.volumes.volume_keys import VolumeKey
    from moorage.model.pods.pod import HostPort, Pod, PodShape


def cluster_without(cluster: Snapshot, pod: Pod, position: int) -> Snapshot:
    """Return the snapshot without a pod, which is placed on the node at a position of `cluster`.

    The result has a memo of its own, so that values which plugins keep for the real cluster do not change. It is valid
    until the next write to the cluster.
    """
    columns, nominator, _ = cluster.sources
    node = NodeWhatIf(cluster, position)
    node.remove_pod(pod)
    return Snapshot(cast("NodeColumns", _ColumnsWithoutPod(columns, node, position)), nominator, Memo())


class _Proxy:
    """A group of columns in which some reads differ for one slot."""

    def __init__(self, real: Any, node: NodeWhatIf, slot: int) -> None:
        self._real = real
        self._node = node
        self._slot = slot

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the real columns."""
        return getattr(self._real, name)

    def _replaced(self, array: npt.NDArray[D], of_node: npt.NDArray[D]) -> npt.NDArray[D]:
        """Return a copy of an array over all nodes, with the entry of the pod's node replaced."""
        replaced = np.array(array)
        replaced[self._slot] = of_node[0]
        replaced.flags.writeable = False
        return replaced


class _ColumnsWithoutPod(_Proxy):
    def __init__(self, real: NodeColumns, node: NodeWhatIf, slot: int) -> None:
        super().__init__(real, node, slot)
        self.resources = _Resources(real.resources, node, slot)
        self.ports = _Ports(real.ports, node, slot)
        self.placed = _PlacedShapes(real.placed, node, slot)
        self.volume_users = _VolumeUsers(real.volume_users, node, slot)
        self.attachable_volumes = _AttachableVolumes(real.attachable_volumes, node, slot)

    def pods_on(self, slot: int) -> Collection[Pod]:
        pods: Collection[Pod] = self._node.pods_on(0) if slot == self._slot else self._real.pods_on(slot)
        return pods


class _Resources(_Proxy):
    def requested(self, resource: str) -> IntArray:
        return self._replaced(self._real.requested(resource), self._node.requested(resource))

    def non_zero_requested(self, resource: str) -> IntArray:
        return self._replaced(self._real.non_zero_requested(resource), self._node.non_zero_requested(resource))

    @property
    def pod_count(self) -> IntArray:
        return self._replaced(self._real.pod_count, self._node.pod_count)


class _Ports(_Proxy):
    def in_use(self, port: HostPort) -> BoolArray:
        others = (used for pod in self._node.pods_on(0) for used in pod.shape.host_ports)
        in_use = np.array((any(conflicts(port, used) for used in others),), np.bool_)
        return self._replaced(self._real.in_use(port), in_use)


class _PlacedShapes(_Proxy):
    def counted(self, term: CountedTerm) -> IntArray:
        return self._replaced(self._real.counted(term), self._node.counted(term))

    def carried(self, kind: CarriedKind, shape: PodShape, namespaces: Any, generation: int) -> Sequence[Carried]:
        of_node = {(each.term, each.weight): each.counts for each in self._node.carried(kind, shape)}
        return [
            Carried(each.term, each.weight, self._replaced(each.counts, of_node[each.term, each.weight]))
            for each in self._real.carried(kind, shape, namespaces, generation)
        ]


class _VolumeUsers(_Proxy):
    def claim_users(self, claim_key: str) -> Collection[Pod]:
        return self._node.claim_users(claim_key)

    def disk_users(self, disk: tuple[str, ...]) -> Mapping[str, Collection[Pod]]:
        return self._node.disk_users(disk)


class _AttachableVolumes(_Proxy):
    def counts(self, driver: str, generation: Any) -> IntArray:
        return self._replaced(self._real.counts(driver, generation), self._node.attached_volumes(driver))

    def in_use(self, volume: VolumeKey, generation: Any) -> BoolArray:
        return self._replaced(self._real.in_use(volume, generation), self._node.volume_in_use(volume))

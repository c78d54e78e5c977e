"""A view of one node on which callers add and remove pods to try a decision."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from moorage.cluster.columns.port_columns import conflicts
from moorage.cluster.snapshot import D, Snapshot
from moorage.cluster.terms.counted_terms import Carried, CarriedKind, CarriedTerm, CountedTerm, carried_by
from moorage.cluster.volumes.volume_keys import volume_keys
from moorage.cluster.volumes.volume_users import claim_keys
from moorage.model.resources import CPU, MEMORY

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.volumes.volume_keys import VolumeKey
    from moorage.model.pods.pod import HostPort, Pod, PodShape
    from moorage.model.resources import Resources


class NodeWhatIf(Snapshot):
    """A view of one node of another view. Other views do not see the changes.

    The node has position 0. If two of its pods have the same host port, the port is free after one of them is removed:
    as in kube-scheduler, the used ports are a set.
    """

    def __init__(self, nodes: Snapshot, position: int) -> None:
        super().__init__(*nodes.sources)
        self._cluster = nodes.cluster
        self._node_slot = nodes.slot(position)
        self._name = self._columns.names[self._node_slot]
        self._pods = {pod.uid: pod for pod in self._columns.pods_on(self._node_slot)}
        self._changes: dict[str, tuple[Pod, int]] = {}
        self._requested: dict[str, int] = {}
        self._non_zero: dict[str, int] = {}
        self._ports: set[HostPort] | None = None

    def add_pod(self, pod: Pod) -> None:
        """Add a pod to the node."""
        self._pods[pod.uid] = pod
        self._change(pod, 1)
        if pod.shape.host_ports:
            self._used_ports().update(pod.shape.host_ports)

    def remove_pod(self, pod: Pod) -> None:
        """Remove a pod from the node."""
        if pod.shape.host_ports:
            self._used_ports().difference_update(pod.shape.host_ports)
        del self._pods[pod.uid]
        self._change(pod, -1)

    @property
    def cluster(self) -> Snapshot:
        """The snapshot of all nodes, without the changes."""
        return self._cluster

    @property
    def size(self) -> int:
        """1, the number of nodes."""
        return 1

    @property
    def names(self) -> Sequence[str]:
        """The name of the node."""
        return (self._name,)

    def position(self, name: str) -> int | None:
        """Return 0 for the name of the node, else None."""
        return 0 if name == self._name else None

    def slot(self, position: int) -> int:
        """Return the slot of the node in the cluster."""
        del position
        return self._node_slot

    @property
    def slots(self) -> IntArray:
        """The slot of the node in the cluster."""
        return np.array((self._node_slot,), dtype=np.int64)

    def slots_at(self, positions: IntArray) -> IntArray:
        """Return the slot of the node in the cluster, once for each position."""
        return np.full(len(positions), self._node_slot, dtype=np.int64)

    def gather(self, array: npt.NDArray[D]) -> npt.NDArray[D]:
        """Return the node's entry of an array over all nodes, without the changes."""
        return array[self._node_slot : self._node_slot + 1]

    def gather_rows(self, rows: npt.NDArray[D]) -> npt.NDArray[D]:
        """Return the node's entry of each row of a matrix."""
        return rows[:, self._node_slot : self._node_slot + 1]

    def requested(self, resource: str) -> IntArray:
        """Return the amount of a resource that the node's pods request."""
        return super().requested(resource) + self._requested.get(resource, 0)

    def non_zero_requested(self, resource: str) -> IntArray:
        """Return the requested amount for scoring; a missing request of cpu or memory counts as a default amount."""
        changed = self._non_zero if resource in {CPU, MEMORY} else self._requested
        return super().non_zero_requested(resource) + changed.get(resource, 0)

    @property
    def pod_count(self) -> IntArray:
        """Number of pods on the node."""
        return np.array((len(self._pods),), dtype=np.int64)

    def port_in_use(self, port: HostPort) -> BoolArray:
        """Return whether a pod on the node uses a host port."""
        if self._ports is None and not self._changes:
            return super().port_in_use(port)
        return np.array((any(conflicts(port, used) for used in self._used_ports()),), dtype=np.bool_)

    def pods_on(self, position: int) -> Collection[Pod]:
        """Return the pods on the node."""
        del position
        return self._pods.values()

    def counted(self, term: CountedTerm) -> IntArray:
        """Return how many of the node's pods match a term."""
        return super().counted(term) + sum(sign for pod, sign in self._changes.values() if term.matches(pod))

    def carried(self, kind: CarriedKind, shape: PodShape) -> Sequence[Carried]:
        """Return the terms that the node's pods carry and that match pods of this shape."""
        counts = {CarriedTerm(kind, each.term, each.weight): each.counts for each in super().carried(kind, shape)}
        none = np.zeros(1, dtype=np.int64)
        for pod, sign in self._changes.values():
            for term in carried_by(pod.shape):
                if term.kind is kind and term.matches(shape, self.namespaces):
                    counts[term] = counts.get(term, none) + sign
        return [Carried(term.term, term.weight, count) for term, count in counts.items()]

    def claim_users(self, claim_key: str) -> Collection[Pod]:
        """Return the placed pods of the cluster that use a claim, after the changes."""
        users = [pod for pod in super().claim_users(claim_key) if pod.uid not in self._changes]
        return users + [pod for pod in self._added() if claim_key in claim_keys(pod)]

    def disk_users(self, disk: tuple[str, ...]) -> Mapping[str, Collection[Pod]]:
        """Return the placed pods of the cluster that mount an in-tree disk, by node name, after the changes."""
        users = dict(super().disk_users(disk))
        own = [pod for pod in self._pods.values() if any(volume.disk == disk for volume in pod.shape.volumes)]
        users.pop(self._name, None)
        return {**users, self._name: own} if own else users

    def attached_volumes(self, driver: str) -> IntArray:
        """Return how many volumes of a CSI driver are attached to the node or used by its pods."""
        if not self._changes:
            return super().attached_volumes(driver)
        count = self._columns.attachable_volumes.count_for(
            self._pods.values(), self._name, driver, self._storage_generation
        )
        return np.array((count,), dtype=np.int64)

    def volume_in_use(self, volume: VolumeKey) -> BoolArray:
        """Return whether a pod on the node uses a volume."""
        used = any(volume in volume_keys(pod, self.objects) for pod in self._pods.values())
        return np.array((used,), dtype=np.bool_)

    def _change(self, pod: Pod, sign: int) -> None:
        """Record that a pod is added or removed; the opposite change deletes the record."""
        if pod.uid in self._changes:
            del self._changes[pod.uid]
        else:
            self._changes[pod.uid] = (pod, sign)
        _add(self._requested, pod.requests, sign)
        _add(self._non_zero, pod.non_zero_requests, sign)

    def _added(self) -> Iterator[Pod]:
        return (pod for pod, sign in self._changes.values() if sign > 0)

    def _used_ports(self) -> set[HostPort]:
        """Return the host ports in use. The first call collects them from the pods; later changes update the set."""
        if self._ports is None:
            self._ports = {port for pod in self._pods.values() for port in pod.shape.host_ports}
        return self._ports


def _add(amounts: dict[str, int], resources: Resources, sign: int) -> None:
    for name, amount in resources.amounts:
        amounts[name] = amounts.get(name, 0) + sign * amount

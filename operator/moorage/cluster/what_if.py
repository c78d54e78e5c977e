"""One node as it would be with some pods more or fewer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from moorage.cluster.columns.port_columns import conflicts
from moorage.cluster.snapshot import D, Snapshot, Sources
from moorage.cluster.terms.counted_terms import Carried, CarriedKind, CarriedTerm, CountedTerm, carried_by
from moorage.cluster.volumes.attachable_volumes import attachable_volumes
from moorage.cluster.volumes.volume_users import claim_keys
from moorage.model.resources import CPU, MEMORY

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.volumes.attachable_volumes import VolumeKey
    from moorage.model.pods.pod import HostPort, Pod, PodShape
    from moorage.model.resources import Resources


class NodeWhatIf(Snapshot):
    """A view of one node, at position 0, with changes of its own.

    Host ports are a set here, as in kube-scheduler: of two pods that share one against the rules, the first that is
    removed frees it.
    """

    def __init__(self, cluster: Snapshot, sources: Sources, slot: int) -> None:
        super().__init__(*sources)
        self._cluster = cluster
        self._node_slot = slot
        self._name = self._columns.names[slot]
        self._pods = {pod.uid: pod for pod in self._columns.pods_on(slot)}
        self._changes: dict[str, tuple[Pod, int]] = {}
        self._requested: dict[str, int] = {}
        self._non_zero: dict[str, int] = {}
        self._ports: set[HostPort] | None = None

    def add_pod(self, pod: Pod) -> None:
        """Let a pod be on the node."""
        self._pods[pod.uid] = pod
        self._change(pod, 1)
        if pod.shape.host_ports:
            self._used_ports().update(pod.shape.host_ports)

    def remove_pod(self, pod: Pod) -> None:
        """Let a pod not be on the node."""
        if pod.shape.host_ports:
            self._used_ports().difference_update(pod.shape.host_ports)
        del self._pods[pod.uid]
        self._change(pod, -1)

    @property
    def cluster(self) -> Snapshot:
        """The snapshot of all nodes, as they are."""
        return self._cluster

    @property
    def size(self) -> int:
        """One."""
        return 1

    @property
    def names(self) -> Sequence[str]:
        """The node's name."""
        return (self._name,)

    def position(self, name: str) -> int | None:
        """Return 0 for the node's name."""
        return 0 if name == self._name else None

    def gather(self, array: npt.NDArray[D]) -> npt.NDArray[D]:
        """Return the node's entry of an array over all nodes."""
        return array[self._node_slot : self._node_slot + 1]

    def requested(self, resource: str) -> IntArray:
        """Return what the pods take of a resource."""
        return super().requested(resource) + self._requested.get(resource, 0)

    def non_zero_requested(self, resource: str) -> IntArray:
        """Return what the pods take for scoring."""
        changed = self._non_zero if resource in {CPU, MEMORY} else self._requested
        return super().non_zero_requested(resource) + changed.get(resource, 0)

    @property
    def pod_count(self) -> IntArray:
        """How many pods the node has."""
        return np.array((len(self._pods),), dtype=np.int64)

    def port_in_use(self, port: HostPort) -> BoolArray:
        """Whether one of the pods stands in the way of a host port."""
        if self._ports is None and not self._changes:
            return super().port_in_use(port)
        return np.array((any(conflicts(port, used) for used in self._used_ports()),), dtype=np.bool_)

    def pods_on(self, position: int) -> Collection[Pod]:
        """Return the pods on the node."""
        del position
        return self._pods.values()

    def counted(self, term: CountedTerm) -> IntArray:
        """Return how many of the pods match a term."""
        return super().counted(term) + sum(sign for pod, sign in self._changes.values() if term.matches(pod))

    def carried(self, kind: CarriedKind, shape: PodShape) -> Sequence[Carried]:
        """Return the terms that the pods carry and that speak of pods of this shape."""
        counts = {CarriedTerm(kind, each.term, each.weight): each.counts for each in super().carried(kind, shape)}
        none = np.zeros(1, dtype=np.int64)
        for pod, sign in self._changes.values():
            for term in carried_by(pod.shape):
                if term.kind is kind and term.matches(shape, self.namespaces):
                    counts[term] = counts.get(term, none) + sign
        return [Carried(term.term, term.weight, count) for term, count in counts.items()]

    def claim_users(self, claim_key: str) -> Collection[Pod]:
        """Return the placed pods of the cluster that use a claim, with this node's changes."""
        users = [pod for pod in super().claim_users(claim_key) if pod.uid not in self._changes]
        return users + [pod for pod in self._added() if claim_key in claim_keys(pod)]

    def disk_users(self, disk: tuple[str, ...]) -> Mapping[str, Collection[Pod]]:
        """Return the placed pods of the cluster that mount a legacy disk by node, with this node's changes."""
        users = dict(super().disk_users(disk))
        own = [pod for pod in self._pods.values() if any(volume.disk == disk for volume in pod.shape.volumes)]
        users.pop(self._name, None)
        return {**users, self._name: own} if own else users

    def attached_volumes(self, driver: str) -> IntArray:
        """Return how many volumes of a CSI driver the node would have attached."""
        if not self._changes:
            return super().attached_volumes(driver)
        count = self._columns.attachable_volumes.count_for(
            self._pods.values(), self._name, driver, self._storage_generation
        )
        return np.array((count,), dtype=np.int64)

    def volume_in_use(self, volume: VolumeKey) -> BoolArray:
        """Whether one of the pods uses a volume."""
        used = any(volume in attachable_volumes(pod, self.objects) for pod in self._pods.values())
        return np.array((used,), dtype=np.bool_)

    def _slot(self, position: int) -> int:
        del position
        return self._node_slot

    def _slots_at(self, positions: IntArray) -> IntArray:
        return np.full(len(positions), self._node_slot, dtype=np.int64)

    def _change(self, pod: Pod, sign: int) -> None:
        """Take note of a pod more or fewer; what is undone leaves no trace."""
        if pod.uid in self._changes:
            del self._changes[pod.uid]
        else:
            self._changes[pod.uid] = (pod, sign)
        _add(self._requested, pod.requests, sign)
        _add(self._non_zero, pod.non_zero_requests, sign)

    def _added(self) -> Iterator[Pod]:
        return (pod for pod, sign in self._changes.values() if sign > 0)

    def _used_ports(self) -> set[HostPort]:
        """Return the ports in use, collected before the first change that matters to them."""
        if self._ports is None:
            self._ports = {port for pod in self._pods.values() for port in pod.shape.host_ports}
        return self._ports


def _add(amounts: dict[str, int], resources: Resources, sign: int) -> None:
    for name, amount in resources.amounts:
        amounts[name] = amounts.get(name, 0) + sign * amount

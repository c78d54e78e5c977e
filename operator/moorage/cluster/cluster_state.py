"""The part of a snapshot that is the same in all views of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from moorage.cluster.memo import Memo
from moorage.cluster.nominator import Nominator

if TYPE_CHECKING:
    from moorage.cluster.arrays import IntArray
    from moorage.cluster.generations import Generations
    from moorage.cluster.node_columns import NodeColumns
    from moorage.cluster.request_mix import RequestMix
    from moorage.model.pods.pod import Pod, PodShape
    from moorage.model.selectors import Labels

T = TypeVar("T")

Sources = tuple["NodeColumns", Nominator, Memo]


class ClusterState:
    """Objects, nominations, volume users and generations of the whole cluster."""

    def __init__(self, columns: NodeColumns, nominator: Nominator | None = None, memo: Memo | None = None) -> None:
        self._columns = columns
        self._nominator = nominator or Nominator()
        self._memo = Memo() if memo is None else memo

    @property
    def sources(self) -> Sources:
        """The arguments that build another view of the same cluster."""
        return self._columns, self._nominator, self._memo

    @property
    def generations(self) -> Generations:
        """Counters that grow with each change of the cluster."""
        return self._columns.generations

    @property
    def total_nodes(self) -> int:
        """Number of nodes in the cluster."""
        return self._columns.slots.size

    @property
    def order(self) -> IntArray:
        """Slots of all nodes in the order in which a cycle searches them (`NodeOrder`)."""
        return self._columns.order.slots

    @property
    def namespaces(self) -> Mapping[str, Labels]:
        """Labels of all namespaces by name."""
        return self._columns.objects.namespaces

    def objects(self, kind: str) -> Mapping[str, Any]:
        """Return all objects of a kind by key: `namespace/name`, or `name` if the kind has no namespace."""
        return self._columns.objects.of_kind(kind)

    @property
    def all_objects(self) -> Mapping[str, Mapping[str, Any]]:
        """All objects by kind and key; nodes, pods and namespaces are not among them."""
        return self._columns.objects.by_kind

    def object_generation(self, *kinds: str) -> tuple[int, ...]:
        """Return the generation of each of these kinds of objects."""
        return self._columns.objects.generation_of(*kinds)

    @property
    def request_mix(self) -> RequestMix:
        """What the pods of the cluster request; empty unless a profile reads it."""
        return self._columns.request_mix

    def nominated(self, name: str) -> Collection[Pod]:
        """Return the pods that are nominated to a node."""
        return self._nominator.pods_on(name)

    @property
    def nominated_nodes(self) -> Collection[str]:
        """Names of all nodes that pods are nominated to."""
        return self._nominator.node_names

    def claim_users(self, claim_key: str) -> Collection[Pod]:
        """Return the placed pods of the cluster that use a claim (`namespace/name`)."""
        return self._columns.volume_users.claim_users(claim_key)

    def disk_users(self, disk: tuple[str, ...]) -> Mapping[str, Collection[Pod]]:
        """Return the placed pods of the cluster that mount an in-tree disk, by node name."""
        return self._columns.volume_users.disk_users(disk)

    def memo(self, subject: Hashable, shape: PodShape | None, generation: Hashable, compute: Callable[[], T]) -> T:
        """Return the value of a subject for a shape; call `compute` only if no value of this generation is cached.

        The subject says what the value is: a plugin, or a pair of a plugin and a name. `shape` is None for a value that
        is the same for all shapes. All views share the memo, so
        `compute` must return arrays over all nodes of `cluster`; the caller passes them to `gather`.
        """
        return self._memo.get(subject, shape, generation, compute)

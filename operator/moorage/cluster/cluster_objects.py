"""Objects other than nodes and pods: namespaces, and objects that plugins look up by key."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.cluster.generations import Generations
    from moorage.model.selectors import Labels

_NONE: Mapping[str, Any] = MappingProxyType({})


class ClusterObjects:
    """Objects by kind and key: `namespace/name`, or `name` if the kind has no namespace."""

    def __init__(self, generations: Generations) -> None:
        self._generations = generations
        self._by_kind: dict[str, dict[str, Any]] = {}
        self._generation_by_kind: dict[str, int] = {}
        self.namespaces: dict[str, Labels] = {}
        """Labels by namespace name."""

    def set(self, kind: str, key: str, value: object) -> None:
        """Add or replace an object; a version that decodes to an equal object does not change the generation."""
        objects = self._by_kind.setdefault(kind, {})
        if objects.get(key) != value:
            objects[key] = value
            self._count_change(kind)

    def remove(self, kind: str, key: str) -> None:
        """Remove an object if it exists."""
        if self._by_kind.get(kind, {}).pop(key, None) is not None:
            self._count_change(kind)

    def set_namespace(self, name: str, labels: Labels) -> None:
        """Add a namespace or replace its labels."""
        if self.namespaces.get(name) != labels:
            self.namespaces[name] = labels
            self._generations.namespaces += 1

    def remove_namespace(self, name: str) -> None:
        """Remove a namespace if it exists."""
        if self.namespaces.pop(name, None) is not None:
            self._generations.namespaces += 1

    def of_kind(self, kind: str) -> Mapping[str, Any]:
        """Return all objects of a kind by key."""
        return self._by_kind.get(kind, _NONE)

    @property
    def by_kind(self) -> Mapping[str, Mapping[str, Any]]:
        """All objects by kind and key, without namespaces."""
        return self._by_kind

    def generation_of(self, *kinds: str) -> tuple[int, ...]:
        """Return the generation of each of these kinds."""
        return tuple(self._generation_by_kind.get(kind, 0) for kind in kinds)

    def _count_change(self, kind: str) -> None:
        self._generation_by_kind[kind] = self._generation_by_kind.get(kind, 0) + 1
        self._generations.objects += 1

"""Objects that are neither nodes nor pods: namespaces, and what plugins look up by key."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.cluster.generations import Generations
    from moorage.model.selectors import Labels

_NONE: Mapping[str, Any] = MappingProxyType({})


class ClusterObjects:
    """Digested objects by kind and key (`namespace/name`, or `name` where the kind has no namespace)."""

    def __init__(self, generations: Generations) -> None:
        self._generations = generations
        self._by_kind: dict[str, dict[str, Any]] = {}
        self._changes: dict[str, int] = {}
        self.namespaces: dict[str, Labels] = {}
        """Labels by namespace."""

    def set(self, kind: str, key: str, value: object) -> None:
        """Add an object, or its new version; one that means the same as before (say, a new status) is no change."""
        objects = self._by_kind.setdefault(kind, {})
        if objects.get(key) != value:
            objects[key] = value
            self._changed(kind)

    def remove(self, kind: str, key: str) -> None:
        """Drop an object, if it is there."""
        if self._by_kind.get(kind, {}).pop(key, None) is not None:
            self._changed(kind)

    def set_namespace(self, name: str, labels: Labels) -> None:
        """Add a namespace, or its new labels."""
        if self.namespaces.get(name) != labels:
            self.namespaces[name] = labels
            self._generations.namespaces += 1

    def remove_namespace(self, name: str) -> None:
        """Drop a namespace, if it is there."""
        if self.namespaces.pop(name, None) is not None:
            self._generations.namespaces += 1

    def of_kind(self, kind: str) -> Mapping[str, Any]:
        """Return all objects of a kind by key."""
        return self._by_kind.get(kind, _NONE)

    def generation_of(self, *kinds: str) -> tuple[int, ...]:
        """Return how often objects of each of these kinds changed."""
        return tuple(self._changes.get(kind, 0) for kind in kinds)

    def _changed(self, kind: str) -> None:
        self._changes[kind] = self._changes.get(kind, 0) + 1
        self._generations.objects += 1

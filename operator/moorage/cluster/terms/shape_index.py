"""An index that finds the terms that may match a pod shape, without matching all terms.

Each term is stored under pairs of a namespace and a label. The namespaces are those of the term, or None for all. The
labels come from the In requirement with the fewest values; a term without an In requirement has the label None. A
lookup reads all pairs of a namespace (the shape's, or None) and a label (each of the shape's, or None). The caller must
still match the candidates.

For example, a term for the namespace `shop` with the requirement `app in (web, api)` is stored under the two pairs
(`shop`, `app=web`) and (`shop`, `app=api`). A pod in `shop` with the label `app=web` finds it under the first one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from moorage.model.pods.pod import PodShape
    from moorage.model.selectors import LabelSelector

T = TypeVar("T")

_Label = tuple[str, str] | None
_Key = tuple[str | None, _Label]

_MAX_NAMESPACES = 16  # a term with more namespaces is stored under None, like a term for all namespaces


class ShapeIndex(Generic[T]):
    """Terms by the namespace and the label of the shapes that they may match."""

    def __init__(self) -> None:
        self._terms: dict[_Key, dict[T, None]] = {}

    def __bool__(self) -> bool:
        """Return whether the index has terms."""
        return bool(self._terms)

    def add(self, term: T, namespaces: Collection[str] | None, selector: LabelSelector | None) -> None:
        """Add a term; ignore a term without a selector, because it matches nothing."""
        for key in _keys(namespaces, selector):
            self._terms.setdefault(key, {})[term] = None

    def discard(self, term: T, namespaces: Collection[str] | None, selector: LabelSelector | None) -> None:
        """Remove a term; namespaces and selector must be the same as in `add`."""
        for key in _keys(namespaces, selector):
            terms = self._terms.get(key)
            if terms is not None:
                terms.pop(term, None)
                if not terms:
                    del self._terms[key]

    def candidates(self, shape: PodShape) -> Iterator[T]:
        """Yield the terms that may match the shape, each once."""
        labels: list[_Label] = [None, *shape.labels.items()]
        for namespace in (None, shape.namespace):
            for label in labels:
                yield from self._terms.get((namespace, label), ())


def _keys(namespaces: Collection[str] | None, selector: LabelSelector | None) -> list[_Key]:
    if selector is None:
        return []
    spaces: list[str | None] = [None] if namespaces is None or len(namespaces) > _MAX_NAMESPACES else [*namespaces]
    equalities = [each for each in selector.requirements if each.operator == "In"]
    if not equalities:
        return [(space, None) for space in spaces]
    narrowest = min(equalities, key=lambda each: len(each.values))
    return [(space, (narrowest.key, value)) for space in spaces for value in narrowest.values]

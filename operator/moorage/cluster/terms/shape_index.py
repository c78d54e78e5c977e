"""Finds the terms that may match a pod shape without trying them all.

A term is filed under each of its namespaces and the values of one of its equality requirements; a shape can only match
terms filed under its namespace (or any) and one of its labels (or none). What is found still has to be matched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from moorage.model.pods.pod import PodShape
    from moorage.model.selectors import LabelSelector

T = TypeVar("T")

_Label = tuple[str, str] | None
_Place = tuple[str | None, _Label]

_MAX_NAMESPACES = 16  # a term of more namespaces is filed under "any"


class ShapeIndex(Generic[T]):
    """Terms by where a matching shape must be."""

    def __init__(self) -> None:
        self._files: dict[_Place, dict[T, None]] = {}

    def __bool__(self) -> bool:
        """Whether any term is filed."""
        return bool(self._files)

    def add(self, term: T, namespaces: Collection[str] | None, selector: LabelSelector | None) -> None:
        """File a term; without a selector it matches nothing, and is not filed."""
        for place in _places(namespaces, selector):
            self._files.setdefault(place, {})[term] = None

    def discard(self, term: T, namespaces: Collection[str] | None, selector: LabelSelector | None) -> None:
        """Take a term out; it must be described as it was when it was added."""
        for place in _places(namespaces, selector):
            file = self._files.get(place)
            if file is not None:
                file.pop(term, None)
                if not file:
                    del self._files[place]

    def candidates(self, shape: PodShape) -> Iterator[T]:
        """Yield the terms that may match the shape, each once."""
        labels: list[_Label] = [None, *shape.labels.items()]
        for namespace in (None, shape.namespace):
            for label in labels:
                yield from self._files.get((namespace, label), ())


def _places(namespaces: Collection[str] | None, selector: LabelSelector | None) -> list[_Place]:
    if selector is None:
        return []
    spaces: list[str | None] = [None] if namespaces is None or len(namespaces) > _MAX_NAMESPACES else [*namespaces]
    equalities = [each for each in selector.requirements if each.operator == "In"]
    if not equalities:
        return [(space, None) for space in spaces]
    narrowest = min(equalities, key=lambda each: len(each.values))
    return [(space, (narrowest.key, value)) for space in spaces for value in narrowest.values]

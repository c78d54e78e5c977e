"""Labels of nodes as columns, made for those keys that somebody asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from moorage.cluster.columns.vocabulary import LabelColumn, VocabularyColumn

if TYPE_CHECKING:
    from moorage.cluster.columns.column import Slots
    from moorage.model.node import Node

Labels = Mapping[str, str]


class LabelColumns:
    """One column a label key that was asked for and that some node has or had."""

    def __init__(self, slots: Slots, nodes: Sequence[Node]) -> None:
        self._slots = slots
        self._nodes = nodes
        self._columns: dict[str, VocabularyColumn[str]] = {}
        self._unlabelled = slots.ids()
        self._unknown: set[str] = set()
        """Keys that were asked for and that no node has."""

    def replace(self, slot: int, old: Labels, new: Labels) -> None:
        """Write a node's labels, `old` being what it had."""
        if old == new:
            return
        self._unknown.clear()
        for key, column in self._columns.items():
            if old.get(key) != new.get(key):
                column.set(slot, new.get(key))

    def compact(self) -> None:
        """Forget values that no node has any more."""
        for column in self._columns.values():
            column.compact()

    def column(self, key: str) -> LabelColumn:
        """Return the column of a key."""
        column = self._columns.get(key)
        if column is None:
            column = self._make(key)
            if column is None:
                return LabelColumn(self._unlabelled.view, ())
        return LabelColumn(column.ids, column.values)

    def _make(self, key: str) -> VocabularyColumn[str] | None:
        if key in self._unknown:
            return None
        values = [node.labels.get(key) for node in self._nodes]
        if not any(value is not None for value in values):
            self._unknown.add(key)
            return None
        column = self._columns[key] = VocabularyColumn(self._slots)
        column.fill(values)
        return column

"""Columns of node labels, built when a plugin first reads a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from moorage.cluster.columns.vocabulary import LabelColumn, VocabularyColumn

if TYPE_CHECKING:
    from moorage.cluster.columns.column import Slots
    from moorage.model.node import Node
    from moorage.model.selectors import Labels

MAX_UNKNOWN = 10_000
"""The maximum number of remembered keys that no node has. There is a maximum because users choose the keys in the
selectors of their pods. If a key is dropped, the next read searches all nodes for it again."""


class LabelColumns:
    """One column for each label key that plugins have read and that a node has or had."""

    def __init__(self, slots: Slots, nodes: Sequence[Node]) -> None:
        self._slots = slots
        self._nodes = nodes
        self._columns: dict[str, VocabularyColumn[str]] = {}
        self._unlabelled = slots.add_ids()
        self._unknown: set[str] = set()
        """Keys that plugins have read and that no node has."""

    def replace(self, slot: int, old: Labels, new: Labels) -> None:
        """Replace the old labels of a node by the new ones."""
        if old == new:
            return
        self._unknown.clear()
        for key, column in self._columns.items():
            if old.get(key) != new.get(key):
                column.set(slot, new.get(key))

    def compact(self) -> None:
        """Drop values that no node has any more."""
        for column in self._columns.values():
            column.compact()

    def column(self, key: str) -> LabelColumn:
        """Return the column of a label key."""
        column = self._columns.get(key)
        if column is None:
            column = self._build(key)
            if column is None:
                return LabelColumn(self._unlabelled.entries, ())
        return LabelColumn(column.ids, column.values)

    def _build(self, key: str) -> VocabularyColumn[str] | None:
        if key in self._unknown:
            return None
        values = [node.labels.get(key) for node in self._nodes]
        if not any(value is not None for value in values):
            if len(self._unknown) >= MAX_UNKNOWN:
                self._unknown.clear()
            self._unknown.add(key)
            return None
        column = self._columns[key] = VocabularyColumn(self._slots)
        column.fill(values)
        return column

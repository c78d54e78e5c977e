"""Counts, for each term and node, the placed pods that match or carry the term.

Placed pods are grouped by shape. Each pair of a shape and a term is matched once. After that, adding or removing a pod
costs one addition for each term that its shape matches or carries.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from moorage.cluster.memo import Memo
from moorage.cluster.terms.counted_terms import Carried, CarriedKind, CarriedTerm, CountedTerm, carried_by
from moorage.cluster.terms.shape_index import ShapeIndex
from moorage.model.selectors import LabelSelector

if TYPE_CHECKING:
    import numpy as np

    from moorage.cluster.arrays import IntArray
    from moorage.cluster.columns.column import Column, Slots
    from moorage.model.pods.pod import Pod, PodShape
    from moorage.model.selectors import Labels

_MAX_COUNTED_TERMS = 1024  # beyond this the least recently read term is dropped; the next read counts it again


class _PlacedShape:
    """A shape of placed pods, the number of its pods by node, and the columns that count them."""

    __slots__ = ("carried", "counted", "nodes", "shape", "terminating")

    def __init__(self, shape: PodShape) -> None:
        self.shape = shape
        self.nodes: dict[str, int] = {}
        self.terminating: dict[str, int] = {}
        """Number of terminating pods by node; `nodes` counts them too."""
        self.counted: list[_CountedColumn] = []
        self.carried: list[_CarriedColumn] = []


class _CountedColumn:
    """A counted term, its counts by node, and the placed shapes that match it."""

    __slots__ = ("column", "shapes", "term")

    def __init__(self, term: CountedTerm, column: Column[np.int64]) -> None:
        self.term = term
        self.column = column
        self.shapes: dict[_PlacedShape, None] = {}


class _CarriedColumn:
    """A carried term, its counts by node, and the number of placed shapes that carry it."""

    __slots__ = ("column", "shapes", "term")

    def __init__(self, term: CarriedTerm, column: Column[np.int64]) -> None:
        self.term = term
        self.column = column
        self.shapes = 0


class PlacedShapes:
    """The shapes of placed pods, and all counts of their pods."""

    def __init__(self, slots: Slots, slot_of: Mapping[str, int], max_counted_terms: int = _MAX_COUNTED_TERMS) -> None:
        self._slots = slots
        self._slot_of = slot_of
        self._max_counted_terms = max_counted_terms
        self._placed: dict[PodShape, _PlacedShape] = {}
        self._counted: OrderedDict[CountedTerm, _CountedColumn] = OrderedDict()
        self._counted_index: ShapeIndex[_CountedColumn] = ShapeIndex()
        self._carried: dict[CarriedTerm, _CarriedColumn] = {}
        self._carried_index: dict[CarriedKind, ShapeIndex[_CarriedColumn]] = {
            kind: ShapeIndex() for kind in CarriedKind
        }
        self._carried_generation = 0
        self._matching = Memo()

    def add(self, pod: Pod, node_name: str) -> None:
        """Count a pod on its node."""
        placed = self._placed.get(pod.shape) or self._add_shape(pod.shape)
        placed.nodes[node_name] = placed.nodes.get(node_name, 0) + 1
        if pod.terminating:
            placed.terminating[node_name] = placed.terminating.get(node_name, 0) + 1
        self._count(placed, pod, self._slot_of[node_name], 1)

    def remove(self, pod: Pod, node_name: str) -> None:
        """Stop counting a pod; `pod` must be the version that was added."""
        placed = self._placed[pod.shape]
        _decrement(placed.nodes, node_name)
        if pod.terminating:
            _decrement(placed.terminating, node_name)
        self._count(placed, pod, self._slot_of[node_name], -1)
        if not placed.nodes:
            self._remove_shape(placed)

    def counted(self, term: CountedTerm) -> IntArray:
        """Return how many placed pods on each node match the term, and keep the counts for later reads."""
        counted = self._counted.get(term)
        if counted is None:
            counted = self._count_term(term)
        self._counted.move_to_end(term)
        return counted.column.entries

    def carried(
        self, kind: CarriedKind, shape: PodShape, namespaces: Mapping[str, Labels], generation: int
    ) -> Sequence[Carried]:
        """Return the carried terms that match pods of this shape; `generation` grows when `namespaces` change."""
        index = self._carried_index[kind]
        if not index:
            return ()
        matching: tuple[_CarriedColumn, ...] = self._matching.get(
            kind,
            shape,
            (self._carried_generation, generation),
            lambda: tuple(each for each in index.candidates(shape) if each.term.matches(shape, namespaces)),
        )
        return [Carried(each.term.term, each.term.weight, each.column.entries) for each in matching]

    def _count(self, placed: _PlacedShape, pod: Pod, slot: int, sign: int) -> None:
        terminating = pod.terminating
        for counted in placed.counted:
            if not terminating or counted.term.counts_terminating:
                counted.column.data[slot] += sign
        for carried in placed.carried:
            carried.column.data[slot] += sign

    def _add_shape(self, shape: PodShape) -> _PlacedShape:
        """Add a shape with the terms that it matches and the terms that it carries."""
        placed = self._placed[shape] = _PlacedShape(shape)
        for counted in self._counted_index.candidates(shape):
            if counted.term.matches_shape(shape):
                _link(placed, counted)
        for term in carried_by(shape):
            carried = self._carried.get(term) or self._carry_term(term)
            carried.shapes += 1
            placed.carried.append(carried)
        return placed

    def _remove_shape(self, placed: _PlacedShape) -> None:
        """Remove a shape that has no pods any more, and the carried terms that no other shape has."""
        del self._placed[placed.shape]
        for counted in placed.counted:
            counted.shapes.pop(placed, None)
        for carried in placed.carried:
            carried.shapes -= 1
            if not carried.shapes:
                self._drop_carried(carried)

    def _count_term(self, term: CountedTerm) -> _CountedColumn:
        """Add a counted term and count the pods of all placed shapes."""
        counted = self._counted[term] = _CountedColumn(term, self._slots.add_integers())
        self._counted_index.add(counted, *_index_key(term))
        for placed in self._placed.values():
            if term.matches_shape(placed.shape):
                _link(placed, counted)
                self._count_nodes(placed, counted)
        if len(self._counted) > self._max_counted_terms:
            self._drop_counted(self._counted.popitem(last=False)[1])
        return counted

    def _count_nodes(self, placed: _PlacedShape, counted: _CountedColumn) -> None:
        data = counted.column.data
        for node_name, pods in placed.nodes.items():
            data[self._slot_of[node_name]] += pods
        if not counted.term.counts_terminating:
            for node_name, pods in placed.terminating.items():
                data[self._slot_of[node_name]] -= pods

    def _drop_counted(self, counted: _CountedColumn) -> None:
        self._counted_index.discard(counted, *_index_key(counted.term))
        for placed in counted.shapes:
            placed.counted.remove(counted)
        self._slots.discard(counted.column)

    def _carry_term(self, term: CarriedTerm) -> _CarriedColumn:
        carried = self._carried[term] = _CarriedColumn(term, self._slots.add_integers())
        self._carried_index[term.kind].add(carried, _index_namespaces(term), term.term.selector)
        self._carried_generation += 1
        return carried

    def _drop_carried(self, carried: _CarriedColumn) -> None:
        term = carried.term
        del self._carried[term]
        self._carried_index[term.kind].discard(carried, _index_namespaces(term), term.term.selector)
        self._carried_generation += 1
        self._slots.discard(carried.column)


def _link(placed: _PlacedShape, counted: _CountedColumn) -> None:
    placed.counted.append(counted)
    counted.shapes[placed] = None


def _index_key(term: CountedTerm) -> tuple[frozenset[str] | None, LabelSelector | None]:
    """Return namespaces and selector of the first clause; every shape that matches the term meets this clause."""
    return (term.clauses[0].namespaces, term.clauses[0].selector) if term.clauses else (None, LabelSelector())


def _index_namespaces(term: CarriedTerm) -> frozenset[str] | None:
    """Return the term's namespaces; None (all) for a term with a namespace selector, because labels may change."""
    return term.term.namespaces if term.term.namespace_selector is None else None


def _decrement(counts: dict[str, int], node_name: str) -> None:
    counts[node_name] -= 1
    if not counts[node_name]:
        del counts[node_name]

"""How many placed pods match a term, or carry one, on each node: kept up to date as pods come and go.

Placed pods are grouped by shape. Whether a shape matches a term is found out once; after that a pod that comes or goes
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

_MAX_COUNTED_TERMS = 1024  # terms beyond it, least recently asked for, are dropped and counted anew when asked for


class _PlacedShape:
    """One shape that placed pods have, where they are, and the columns that they count in."""

    __slots__ = ("carried", "counted", "nodes", "shape", "terminating")

    def __init__(self, shape: PodShape) -> None:
        self.shape = shape
        self.nodes: dict[str, int] = {}
        self.terminating: dict[str, int] = {}
        """How many of the pods in `nodes` are being deleted."""
        self.counted: list[_CountedColumn] = []
        self.carried: list[_CarriedColumn] = []


class _CountedColumn:
    """A term that was asked for, its counts, and the placed shapes that match it."""

    __slots__ = ("column", "shapes", "term")

    def __init__(self, term: CountedTerm, column: Column[np.int64]) -> None:
        self.term = term
        self.column = column
        self.shapes: dict[_PlacedShape, None] = {}


class _CarriedColumn:
    """A term that placed pods carry, and how many of the placed shapes do."""

    __slots__ = ("column", "shapes", "term")

    def __init__(self, term: CarriedTerm, column: Column[np.int64]) -> None:
        self.term = term
        self.column = column
        self.shapes = 0


class PlacedShapes:
    """The shapes of placed pods, and all counts over them."""

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
        """Count a pod in on its node."""
        placed = self._placed.get(pod.shape) or self._place(pod.shape)
        placed.nodes[node_name] = placed.nodes.get(node_name, 0) + 1
        if pod.terminating:
            placed.terminating[node_name] = placed.terminating.get(node_name, 0) + 1
        self._count(placed, pod, self._slot_of[node_name], 1)

    def remove(self, pod: Pod, node_name: str) -> None:
        """Count a pod out that was counted in as it is."""
        placed = self._placed[pod.shape]
        _take_one(placed.nodes, node_name)
        if pod.terminating:
            _take_one(placed.terminating, node_name)
        self._count(placed, pod, self._slot_of[node_name], -1)
        if not placed.nodes:
            self._displace(placed)

    def counted(self, term: CountedTerm) -> IntArray:
        """Return how many placed pods match the term, by node; kept as long as it is asked for."""
        counted = self._counted.get(term)
        if counted is None:
            counted = self._count_term(term)
        self._counted.move_to_end(term)
        return counted.column.view

    def carried(
        self, kind: CarriedKind, shape: PodShape, namespaces: Mapping[str, Labels], generation: int
    ) -> Sequence[Carried]:
        """Return the carried terms that match a pod of this shape; `generation` is the namespaces'."""
        index = self._carried_index[kind]
        if not index:
            return ()
        matching: tuple[_CarriedColumn, ...] = self._matching.get(
            kind,
            shape,
            (self._carried_generation, generation),
            lambda: tuple(each for each in index.candidates(shape) if each.term.matches(shape, namespaces)),
        )
        return [Carried(each.term.term, each.term.weight, each.column.view) for each in matching]

    def _count(self, placed: _PlacedShape, pod: Pod, slot: int, sign: int) -> None:
        terminating = pod.terminating
        for counted in placed.counted:
            if not terminating or counted.term.counts_terminating:
                counted.column.data[slot] += sign
        for carried in placed.carried:
            carried.column.data[slot] += sign

    def _place(self, shape: PodShape) -> _PlacedShape:
        """Take in the first pod of a shape: find the terms that it matches and those that it carries."""
        placed = self._placed[shape] = _PlacedShape(shape)
        for counted in self._counted_index.candidates(shape):
            if counted.term.matches_shape(shape):
                _join(placed, counted)
        for term in carried_by(shape):
            carried = self._carried.get(term) or self._carry_term(term)
            carried.shapes += 1
            placed.carried.append(carried)
        return placed

    def _displace(self, placed: _PlacedShape) -> None:
        """Forget a shape whose last pod is gone."""
        del self._placed[placed.shape]
        for counted in placed.counted:
            counted.shapes.pop(placed, None)
        for carried in placed.carried:
            carried.shapes -= 1
            if not carried.shapes:
                self._drop_carried(carried)

    def _count_term(self, term: CountedTerm) -> _CountedColumn:
        """Count a term that was not asked for lately, over all placed shapes."""
        counted = self._counted[term] = _CountedColumn(term, self._slots.integers())
        self._counted_index.add(counted, *_filing(term))
        for placed in self._placed.values():
            if term.matches_shape(placed.shape):
                _join(placed, counted)
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
        self._counted_index.discard(counted, *_filing(counted.term))
        for placed in counted.shapes:
            placed.counted.remove(counted)
        self._slots.discard(counted.column)

    def _carry_term(self, term: CarriedTerm) -> _CarriedColumn:
        carried = self._carried[term] = _CarriedColumn(term, self._slots.integers())
        self._carried_index[term.kind].add(carried, _namespaces(term), term.term.selector)
        self._carried_generation += 1
        return carried

    def _drop_carried(self, carried: _CarriedColumn) -> None:
        term = carried.term
        del self._carried[term]
        self._carried_index[term.kind].discard(carried, _namespaces(term), term.term.selector)
        self._carried_generation += 1
        self._slots.discard(carried.column)


def _join(placed: _PlacedShape, counted: _CountedColumn) -> None:
    placed.counted.append(counted)
    counted.shapes[placed] = None


def _filing(term: CountedTerm) -> tuple[frozenset[str] | None, LabelSelector | None]:
    """Return where to file a term: by its first clause, as a matching shape meets all of them."""
    return (term.clauses[0].namespaces, term.clauses[0].selector) if term.clauses else (None, LabelSelector())


def _namespaces(term: CarriedTerm) -> frozenset[str] | None:
    """Return the namespaces to file a term under: any, where a selector picks them by labels that may change."""
    return term.term.namespaces if term.term.namespace_selector is None else None


def _take_one(counts: dict[str, int], node_name: str) -> None:
    counts[node_name] -= 1
    if not counts[node_name]:
        del counts[node_name]

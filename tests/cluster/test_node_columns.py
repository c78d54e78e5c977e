"""Columns agree with a slow recount after any sequence of changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import strategies
from builders import HOSTNAME, ZONE, columns_of, node, pod, snapshot_of
from moorage.cluster.columns.column import Column, DType, Slots
from moorage.cluster.columns.label_columns import MAX_UNKNOWN
from moorage.cluster.columns.port_columns import conflicts
from moorage.cluster.columns.resource_columns import ResourceColumns
from moorage.cluster.node_columns import NodeColumns
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.terms.counted_terms import CarriedKind, CarriedTerm, Clause, CountedTerm, carried_by
from moorage.cluster.terms.placed_shapes import PlacedShapes
from moorage.model.node import Node
from moorage.model.pods.pod import HostPort, Pod
from moorage.model.selectors import LabelSelector, Requirement

RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods", strategies.EXTENDED, "example.com/none")
PORTS = tuple(HostPort(ip, "TCP", port) for ip in ("0.0.0.0", "10.0.0.1") for port in (80, 443, 8080))


def requesting(resource: str) -> Callable[[Pod], int]:
    return lambda each: each.requests.get(resource)


def requesting_non_zero(resource: str) -> Callable[[Pod], int]:
    return lambda each: each.non_zero_requests.get(resource)


def carrying(term: CarriedTerm) -> Callable[[Pod], int]:
    return lambda each: carried_by(each.shape).count(term)


def conflicting(port: HostPort) -> Callable[[Pod], int]:
    return lambda each: any(conflicts(port, other) for other in each.shape.host_ports)


class ColumnsMachine(RuleBasedStateMachine):
    """Random changes of the columns and of a plain model of the cluster. Both must agree."""

    def __init__(self) -> None:
        super().__init__()
        self.columns = NodeColumns()
        self.snapshot = Snapshot(self.columns)
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, tuple[Pod, str]] = {}
        self.terms: list[CountedTerm] = []
        self.made = 0
        for name, labels in strategies.NAMESPACE_LABELS.items():
            self.columns.objects.set_namespace(name, labels)

    @rule(drawn=strategies.nodes())
    def set_node(self, drawn: Node) -> None:
        self.columns.set_node(drawn)
        self.nodes[drawn.name] = drawn

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def remove_node(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        removed = self.columns.remove_node(name)
        assert {each.uid for each in removed} == {uid for uid, (_, on) in self.pods.items() if on == name}
        del self.nodes[name]
        self.pods = {uid: placed for uid, placed in self.pods.items() if placed[1] != name}

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def add_pod(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        self.made += 1
        drawn = data.draw(strategies.pods(name=f"e{self.made}", node=name))
        self.columns.add_pod(drawn, name)
        self.pods[drawn.uid] = (drawn, name)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def remove_pod(self, data: st.DataObject) -> None:
        drawn, _ = self.pods.pop(data.draw(st.sampled_from(sorted(self.pods))))
        self.columns.remove_pod(drawn)

    @rule(name=st.sampled_from(strategies.NAMESPACES), labels=st.sampled_from([{}, {"team": "a"}, {"shared": "no"}]))
    def relabel_namespace(self, name: str, labels: dict[str, str]) -> None:
        self.columns.objects.set_namespace(name, labels)

    @rule(term=strategies.counted_terms())
    def read_counted_term(self, term: CountedTerm) -> None:
        self.terms.append(term)
        assert self.by_node(self.snapshot.counted(term)) == self.recount(term.matches)

    @rule(incoming=strategies.pods(name="incoming"))
    def read_carried_terms(self, incoming: Pod) -> None:
        for kind in CarriedKind:
            counts: dict[Any, dict[str, int]] = {
                (each.term, each.weight): self.by_node(each.counts)
                for each in self.snapshot.carried(kind, incoming.shape)
            }
            expected = {
                (term.term, term.weight): self.recount(carrying(term))
                for placed, _ in self.pods.values()
                for term in carried_by(placed.shape)
                if term.kind is kind and term.matches(incoming.shape, self.snapshot.namespaces)
            }
            assert counts == expected

    @invariant()
    def slots_have_no_gaps_and_nodes_are_found_by_name(self) -> None:
        assert sorted(self.snapshot.names) == sorted(self.nodes)
        assert self.snapshot.size == self.snapshot.total_nodes == len(self.nodes)
        for position, name in enumerate(self.snapshot.names):
            assert self.snapshot.position(name) == position
            assert self.snapshot.node(position) is self.nodes[name]
            assert {each.uid for each in self.snapshot.pods_on(position)} == {
                uid for uid, (_, on) in self.pods.items() if on == name
            }
        assert sorted(self.snapshot.order.tolist()) == list(range(len(self.nodes)))

    @invariant()
    def amounts_agree_with_a_recount(self) -> None:
        snapshot = self.snapshot
        assert self.by_node(snapshot.pod_count) == self.recount(lambda _: 1)
        for name in RESOURCES:
            assert self.by_node(snapshot.requested(name)) == self.recount(requesting(name))
            assert self.by_node(snapshot.allocatable(name)) == {
                on: each.allocatable.get(name) for on, each in self.nodes.items()
            }
        for name in ("cpu", "memory"):
            assert self.by_node(snapshot.non_zero_requested(name)) == self.recount(requesting_non_zero(name))

    @invariant()
    def properties_agree_with_the_nodes(self) -> None:
        snapshot = self.snapshot
        assert self.by_node(snapshot.unschedulable) == {on: each.unschedulable for on, each in self.nodes.items()}
        taints = {on: snapshot.taints.classes[each] for on, each in self.by_node(snapshot.taints.ids).items()}
        assert taints == {on: each.taints for on, each in self.nodes.items()}
        for key in (HOSTNAME, ZONE, "rack", "absent"):
            column = snapshot.label(key)
            values = {on: column.values[each] if each >= 0 else None for on, each in self.by_node(column.ids).items()}
            assert values == {on: each.labels.get(key) for on, each in self.nodes.items()}
        for image in ("app:1", "app:2", "app:3"):
            having = {on for on, each in self.nodes.items() if image in dict(each.images)}
            found = snapshot.image(image)
            assert (found is None) == (not having)
            if found is not None:
                assert {on for on, present in self.by_node(found.present).items() if present} == having
                assert found.node_count == len(having)

    @invariant()
    def port_is_in_use_if_a_pod_conflicts_with_it(self) -> None:
        for port in PORTS:
            used = self.recount(conflicting(port))
            assert self.by_node(self.snapshot.port_in_use(port)) == {on: count > 0 for on, count in used.items()}

    @invariant()
    def counted_terms_agree_with_a_recount(self) -> None:
        for term in self.terms[-5:]:
            assert self.by_node(self.snapshot.counted(term)) == self.recount(term.matches)

    def by_node(self, array: Any) -> dict[str, Any]:
        assert len(array) == len(self.nodes)
        return dict(zip(self.snapshot.names, array.tolist(), strict=True))

    def recount(self, count: Callable[[Pod], int]) -> dict[str, int]:
        result = dict.fromkeys(self.nodes, 0)
        for placed, on in self.pods.values():
            result[on] += count(placed)
        return result


TestColumns = ColumnsMachine.TestCase
TestColumns.settings = settings(max_examples=25, stateful_step_count=20)


class CountingSlots(Slots):
    """Slots for one node. The test reads the number of their columns."""

    def __init__(self) -> None:
        super().__init__()
        self.append()
        self.columns = 0

    def add_integers(self) -> Column[np.int64]:
        self.columns += 1
        return super().add_integers()

    def discard(self, column: Column[DType]) -> None:
        self.columns -= 1
        super().discard(column)


def test_column_of_a_resource_is_dropped_after_the_last_pod_that_requests_the_resource() -> None:
    slots = CountingSlots()
    resources = ResourceColumns(slots)
    pods = [pod(cpu="1", spec=spec_requesting(f"example.com/r{number % 10}", "1")) for number in range(20)]
    pods.append(pod(spec=spec_requesting("example.com/r1", "0")))
    before = slots.columns
    for each in pods:
        resources.add(each, 0)
    assert slots.columns > before + 10
    for each in pods:
        resources.remove(each, 0)
    assert slots.columns <= before + 2  # columns of cpu and memory
    assert resources.requested("example.com/r1").tolist() == [0]


def spec_requesting(resource: str, amount: str) -> dict[str, Any]:
    requests = {resource: amount, "cpu": "1"}
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests, "limits": requests}}]}


def test_columns_drop_label_keys_that_no_node_has_if_there_are_too_many_keys() -> None:
    nodes = snapshot_of([node("n1", labels={"zone": "a"})])
    for number in range(MAX_UNKNOWN + 10):
        assert list(nodes.label(f"key-{number}").values) == []
    assert list(nodes.label("zone").values) == ["a"]


def test_arrays_are_read_only_and_show_later_changes() -> None:
    columns = columns_of([node("n0"), node("n1")])
    snapshot = Snapshot(columns)
    before = snapshot.requested("cpu")
    pods = snapshot.pod_count
    columns.add_pod(pod(cpu="1"), "n1")
    assert pods.tolist() == [0, 1]
    assert snapshot.requested("cpu").tolist() == [0, 1000]
    assert snapshot.pod_count.base is pods.base
    with pytest.raises(ValueError, match="read-only"):
        before[0] = 1


def test_columns_grow_with_the_number_of_nodes() -> None:
    columns = NodeColumns()
    snapshot = Snapshot(columns)
    for index in range(100):
        columns.set_node(node(f"n{index}", cpu=str(index)))
        columns.add_pod(pod(f"p{index}", cpu="1"), f"n{index}")
        assert snapshot.label(HOSTNAME).ids.tolist() == list(range(index + 1))
    assert snapshot.allocatable("cpu").tolist() == [1000 * index for index in range(100)]
    assert snapshot.requested("cpu").tolist() == [1000] * 100


def test_remove_pod_subtracts_the_requests_of_the_placed_version() -> None:
    columns = columns_of([node("n0")], [pod("p", node="n0", cpu="1", labels={"app": "a"})])
    columns.remove_pod(pod("p", node="n0", cpu="3"))
    snapshot = Snapshot(columns)
    assert snapshot.requested("cpu").tolist() == [0]
    assert snapshot.pod_count.tolist() == [0]


def test_add_pod_raises_value_error_if_the_pod_is_already_placed() -> None:
    columns = columns_of([node("n0"), node("n1")], [pod("p", node="n0")])
    with pytest.raises(ValueError, match="pod default/p is already placed on node n0"):
        columns.add_pod(pod("p"), "n1")
    assert Snapshot(columns).pod_count.tolist() == [1, 0]


def test_heartbeat_of_a_node_changes_no_generation() -> None:
    columns = columns_of([node("n0", labels={"a": "1"}, images={"app:1": 5})])
    before = (columns.generations.nodes, columns.generations.images)
    columns.set_node(node("n0", labels={"a": "1"}, images={"app:1": 5}, metadata={"resourceVersion": "9"}))
    assert (columns.generations.nodes, columns.generations.images) == before
    assert Snapshot(columns).node(0).resource_version == "9"


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"a": "2"}},
        {"cpu": "8"},
        {"unschedulable": True},
        {"taints": [{"key": "k", "effect": "NoSchedule"}]},
        {"features": ["F"]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_node_generation_grows_if_a_property_that_scheduling_reads_changes(change: dict[str, Any]) -> None:
    columns = columns_of([node("n0")])
    before = columns.generations.nodes
    columns.set_node(node("n0", **change))
    assert columns.generations.nodes == before + 1


def test_change_of_images_increments_only_the_image_generation() -> None:
    columns = columns_of([node("n0", images={"app:1": 5})])
    nodes, images = columns.generations.nodes, columns.generations.images
    columns.set_node(node("n0", images={"app:1": 5, "app:2": 6}))
    assert (columns.generations.nodes, columns.generations.images) == (nodes, images + 1)


def test_image_has_the_size_that_the_first_node_reported() -> None:
    columns = columns_of([node("n0", images={"app:1": 5}), node("n1", images={"app:1": 7})])
    snapshot = Snapshot(columns)
    image = snapshot.image("app:1")
    assert image is not None
    assert (image.size_bytes, image.node_count) == (5, 2)
    columns.remove_node("n0")
    image = snapshot.image("app:1")
    assert image is not None
    assert (image.size_bytes, image.node_count, image.present.tolist()) == (5, 1, [True])


def test_columns_drop_label_values_that_no_node_has() -> None:
    columns = columns_of([node("stays", zone="z-a")])
    snapshot = Snapshot(columns)
    snapshot.label(HOSTNAME)
    for index in range(500):
        columns.set_node(node(f"n{index}"))
        columns.remove_node(f"n{index}")
    column = snapshot.label(HOSTNAME)
    assert len(column.values) < 100
    assert column.values[column.ids[0]] == "stays"


def test_term_that_was_dropped_from_the_counts_is_counted_again_on_the_next_read() -> None:
    def term(app: str) -> CountedTerm:
        selector = LabelSelector((Requirement("app", "In", frozenset({app})),))
        return CountedTerm((Clause(None, selector),), counts_terminating=True)

    slots = Slots()
    placed = PlacedShapes(slots, {"n0": slots.append()}, max_counted_terms=2)
    web = pod("web", labels={"app": "web"})
    for app in ("web", "db", "cache"):
        assert placed.counted(term(app)).tolist() == [0]
    placed.add(web, "n0")
    assert placed.counted(term("web")).tolist() == [1]
    placed.remove(web, "n0")
    assert placed.counted(term("web")).tolist() == [0]

"""The order in which a cycle searches the nodes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

import strategies
from builders import ZONE, columns_of, node
from moorage.cluster.snapshot import Snapshot
from moorage.model.node import Node
from moorage.model.pods.pod import Pod


@given(cluster=strategies.clusters())
@settings(max_examples=20)
def test_order_has_a_node_of_every_zone_before_the_second_node_of_a_zone(cluster: tuple[list[Node], list[Pod]]) -> None:
    nodes, _ = cluster
    snapshot = Snapshot(columns_of(nodes))
    zones: dict[str, list[str]] = {}
    for each in nodes:
        zones.setdefault(each.labels.get(ZONE, ""), []).append(each.name)
    expected = []
    while any(zones.values()):
        expected += [names.pop(0) for names in zones.values() if names]
    assert [snapshot.names[slot] for slot in snapshot.order.tolist()] == expected


def test_node_moves_to_the_end_of_its_new_zone() -> None:
    columns = columns_of([node("a", zone="1"), node("b", zone="1"), node("c", zone="2")])
    snapshot = Snapshot(columns)
    assert snapshot.order.tolist() == [0, 2, 1]
    columns.set_node(node("a", zone="2"))
    assert [snapshot.names[slot] for slot in snapshot.order.tolist()] == ["b", "c", "a"]
    assert snapshot.order.dtype == np.int64

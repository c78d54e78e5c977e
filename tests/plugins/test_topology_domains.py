from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import ZONE, node, snapshot_of
from moorage.cluster.nodes_view import NodesView
from moorage.plugins.shared.topology_domains import TopologyDomains

VALUES = st.lists(st.sampled_from([None, "z1", "z2", "z3", "z4"]), min_size=1, max_size=6)


def test_every_node_is_its_own_domain_for_the_key_hostname() -> None:
    snapshot = snapshot_of([node("a"), node("b"), node("c")])
    domains = TopologyDomains.of("kubernetes.io/hostname", snapshot)

    assert domains.singles
    assert domains.sums(np.array([3, 0, 1])).tolist() == [3, 0, 1, 0]


def test_count_of_a_zone_is_the_sum_over_its_nodes() -> None:
    snapshot = snapshot_of([node("a", zone="z1"), node("b", zone="z1"), node("c")])
    domains = TopologyDomains.of(ZONE, snapshot)

    table = domains.sums(np.array([3, 4, 9]))

    assert domains.spread(table, snapshot).tolist() == [7, 7, 0]


@settings(max_examples=60)
@given(VALUES, st.data())
def test_sums_and_spread_agree_with_a_sum_by_value(values: list[str | None], data: st.DataObject) -> None:
    size = len(values)
    snapshot = snapshot_of([node(f"n{index}", zone=value or "") for index, value in enumerate(values)])
    counts = data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    kept = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    view = NodesView(snapshot, np.array(data.draw(st.permutations(range(size)))))
    domains = TopologyDomains.of(ZONE, snapshot)

    table = domains.restricted(np.array(kept)).sums(np.array(counts))

    def total(zone: str) -> int:
        return sum(count for value, count, keep in zip(values, counts, kept, strict=True) if keep and value == zone)

    expected = {f"n{index}": total(value) if value else 0 for index, value in enumerate(values)}
    assert dict(zip(view.names, domains.spread(table, view).tolist(), strict=True)) == expected

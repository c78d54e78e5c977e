"""The fragmentation of nodes equals the result of a slow oracle. The oracle compares each node with each request."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import node, pod, snapshot_of
from moorage.cluster.node_selectors import node_meets_pod_affinity
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.request_mix import Shares, request_of
from moorage.cluster.snapshot import Snapshot
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.plugins.shared.fragmentation import COVERED_SHARE, Fragmentation, Limits

GPU = "nvidia.com/gpu"
Weighted = list[tuple[Pod, float]]


def gpu_node(name: str, gpus: int, cpu: int, model: str) -> Node:
    return node(name, cpu=str(cpu), allocatable={GPU: str(gpus)} if gpus else {}, labels={"model": model})


def asking(gpus: int, cpu: int, model: str = "", number: int = 0) -> Pod:
    selector = {"nodeSelector": {"model": model}} if model else {}
    return pod(f"p{number}", requests={GPU: str(gpus)} if gpus else {}, cpu=str(cpu), spec=selector)


def shares_of(pods: Weighted) -> Shares:
    total = sum(weight for _, weight in pods)
    return tuple((request_of(each.shape), weight / total) for each, weight in pods)


def measured(nodes: Snapshot, measure: Fragmentation) -> list[float]:
    free = {name: nodes.allocatable(name) - nodes.requested(name) for name in measure.resources}
    return list(map(float, measure.of(nodes, free)))


def expected(cluster: Snapshot, pods: Weighted) -> list[float]:
    """Return the fragmentation of each node, by its definition."""
    counted = [(each, weight) for each, weight in pods if each.shape.requests.get(GPU)]
    total = sum(weight for _, weight in counted)
    common, covered = [], 0.0
    for each, weight in counted:
        if covered < COVERED_SHARE * total:
            common.append((each, weight))
            covered += weight
    found = []
    for position in range(cluster.size):
        free = {
            name: int(cluster.allocatable(name)[position] - cluster.requested(name)[position]) for name in ("cpu", GPU)
        }
        fitting = sum(
            weight / total
            for each, weight in common
            if node_meets_pod_affinity(each.shape, cluster.node(position))
            and all(each.shape.requests.get(name) <= max(amount, 0) for name, amount in free.items())
        )
        found.append(free[GPU] * (1 - fitting))
    return found


MODELS = st.sampled_from(["a", "b", "c"])


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Snapshot, Weighted]:
    nodes = [
        gpu_node(f"n{index}", draw(st.integers(0, 8)), draw(st.integers(1, 16)), draw(MODELS))
        for index in range(draw(st.integers(1, 8)))
    ]
    placed = [
        pod(f"on{index}", cpu=str(draw(st.integers(0, 8))), node=each.name)
        for index, each in enumerate(nodes)
        if draw(st.booleans())
    ]
    requests = st.tuples(st.integers(0, 4), st.integers(0, 8), st.sampled_from(["", "a", "b", "c", "missing"]))
    drawn = draw(st.lists(requests, unique=True, max_size=6))
    pods = [asking(gpus, cpu, model, number) for number, (gpus, cpu, model) in enumerate(drawn)]
    weights = sorted((draw(st.integers(1, 300)) for _ in pods), reverse=True)
    return snapshot_of(nodes, placed), list(zip(pods, map(float, weights), strict=True))


def test_a_node_with_too_many_requests_takes_pods_that_request_none_of_the_resource() -> None:
    cluster = snapshot_of([gpu_node("n0", gpus=4, cpu=1, model="a")], [pod("on0", cpu="2", node="n0")])
    pods = [(asking(1, 0, number=0), 2.0), (asking(1, 1, number=1), 1.0)]

    assert measured(cluster, Fragmentation(GPU, shares_of(pods), cluster)) == pytest.approx([4 / 3])


@given(scenes())
def test_fragmentation_equals_its_definition(scene: tuple[Snapshot, Weighted]) -> None:
    cluster, pods = scene
    measure = Fragmentation(GPU, shares_of(pods) if pods else (), cluster)

    assert measured(cluster, measure) == pytest.approx(expected(cluster, pods))


@given(scenes(), st.data())
def test_fragmentation_of_a_view_equals_the_fragmentation_of_its_nodes(
    scene: tuple[Snapshot, Weighted], data: st.DataObject
) -> None:
    cluster, pods = scene
    measure = Fragmentation(GPU, shares_of(pods) if pods else (), cluster)
    positions = data.draw(st.lists(st.integers(0, cluster.size - 1), unique=True))
    view = NodesView(cluster, np.array(positions, np.int64))

    whole = measured(cluster, measure)

    assert measured(view, measure) == pytest.approx([whole[position] for position in positions])


def test_requests_fit_nowhere_if_their_node_selection_would_make_too_many_classes() -> None:
    cluster = snapshot_of([gpu_node(name, 4, 8, name) for name in ("a", "b", "c")])
    pods = [(asking(1, 1, "a", 1), 3.0), (asking(1, 1, "b", 2), 1.0)]

    measure = Fragmentation(GPU, shares_of(pods), cluster, Limits(classes=2))

    assert measured(cluster, measure) == pytest.approx([1.0, 4.0, 4.0])


def test_only_the_more_common_half_of_the_requests_counts_if_the_table_would_be_too_large() -> None:
    cluster = snapshot_of([gpu_node("n", 4, 8, "a")])
    pods = [(asking(1, 1), 3.0), (asking(2, 2), 1.0)]

    measure = Fragmentation(GPU, shares_of(pods), cluster, Limits(cells=6))

    assert measured(cluster, measure) == pytest.approx([4 * (1 - 0.75)])

"""Scarcity prefers the node on which the pod leaves the most resources usable for the usual pods."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import node, pod, snapshot_of
from moorage.api.v1alpha1 import parse_policy
from moorage.cluster.kept_arrays import FEW_NODES
from moorage.cluster.snapshot import Snapshot
from moorage.framework.plugin_arguments import build_plugin
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.plugins.own.scarcity import Scarcity
from plugin_runs import scores

GPU = "nvidia.com/gpu"


def scarcity(*resources: str) -> Scarcity:
    plugin = build_plugin(Scarcity, {"resources": list(resources or (GPU,))}, {})
    assert isinstance(plugin, Scarcity)
    return plugin


def gpu_node(name: str, gpus: int = 8, cpu: int = 16, model: str = "T4") -> Node:
    return node(name, cpu=str(cpu), allocatable={GPU: str(gpus)}, labels={"model": model})


def asking(gpus: int, cpu: int = 1, model: str = "") -> Pod:
    selector = {"nodeSelector": {"model": model}} if model else {}
    return pod("p", requests={GPU: str(gpus)} if gpus else {}, cpu=str(cpu), spec=selector)


def cluster_with(nodes: list[Node], *usual: Pod) -> Snapshot:
    """Return a cluster whose pods usually request what `usual` requests."""
    cluster = snapshot_of(nodes)
    cluster.request_mix.start(each.shape for each in usual)
    return cluster


def best(found: dict[str, int]) -> set[str]:
    return {name for name, score in found.items() if score == max(found.values())}


def test_pod_gets_the_node_on_which_its_cpu_request_leaves_the_gpus_usable() -> None:
    # 7 of 8 GPUs stay usable on `wide`; on `narrow` the pod leaves too little cpu for a usual pod.
    cluster = cluster_with([gpu_node("narrow", cpu=8), gpu_node("wide", cpu=64)], asking(1, cpu=4))
    assert best(scores(scarcity(), asking(1, cpu=6), cluster)) == {"wide"}


def test_pod_that_accepts_any_model_avoids_the_model_that_other_pods_need() -> None:
    nodes = [gpu_node("t4", gpus=1), gpu_node("v100", gpus=1, model="V100")]
    cluster = cluster_with(nodes, asking(1), asking(1, model="V100"))
    assert best(scores(scarcity(), asking(1), cluster)) == {"t4"}


def test_pod_without_gpu_prefers_nodes_without_gpus() -> None:
    cluster = cluster_with([gpu_node("gpus", cpu=4), node("plain", cpu="4")], asking(1, cpu=4))
    assert best(scores(scarcity(), asking(0, cpu=1), cluster)) == {"plain"}


def test_the_fewest_free_gpus_decide_between_nodes_with_equal_growth() -> None:
    cluster = cluster_with([gpu_node("eight"), gpu_node("two", gpus=2), gpu_node("four", gpus=4)])
    found = scores(scarcity(), asking(1), cluster)
    assert (found["two"], found["eight"]) == (100, 0)
    assert 0 < found["four"] < 100


def test_several_resources_are_weighed_by_the_largest_node() -> None:
    nodes = [node("memory", cpu="4", memory="64Gi"), node("cpu", cpu="64", memory="4Gi")]
    cluster = cluster_with(nodes, pod(cpu="1", memory="1Gi"))
    found = scores(scarcity("cpu", "memory"), pod(cpu="1", memory="1Gi"), cluster)
    assert found == {"memory": 100, "cpu": 100}


def test_a_resource_that_no_node_has_does_not_change_scores() -> None:
    cluster = cluster_with([gpu_node("a"), gpu_node("b", cpu=64)], asking(1, cpu=8))
    assert scores(scarcity(GPU, "amd.com/gpu"), asking(1), cluster) == scores(scarcity(), asking(1), cluster)


@given(st.lists(st.integers(-(2**45), 2**45), min_size=1))
def test_only_the_best_nodes_get_the_highest_score(raw: list[int]) -> None:
    array = np.array(raw, np.int64)
    found = scarcity().normalize(None, pod(), snapshot_of(), array).tolist()

    assert [score == 100 for score in found] == [each == max(raw) for each in raw]
    assert all(0 <= score <= 100 for score in found)
    assert all(left >= right for left, right in zip(sorted_by(raw, found), sorted_by(raw, found)[1:], strict=False))


def sorted_by(raw: list[int], found: list[int]) -> list[int]:
    """Return the scores, the node with the highest raw score first."""
    return [score for _, score in sorted(zip(raw, found, strict=True), reverse=True)]


@given(st.lists(st.integers(0, FEW_NODES), max_size=5), st.integers(0, 3))
def test_kept_scores_equal_newly_computed_scores(placed: list[int], gpus: int) -> None:
    nodes = [gpu_node(f"n{index:03}", gpus=index % 5, cpu=4 + index % 7) for index in range(FEW_NODES + 1)]
    usual = [asking(1, cpu=2), asking(2, cpu=4)]
    cluster = cluster_with(nodes, *usual)
    plugin = scarcity()
    for number, index in enumerate(placed):
        scores(plugin, asking(gpus), cluster)  # keeps scores, which the next pod changes
        cluster.sources[0].add_pod(pod(f"on{number}", cpu="1", requests={GPU: "1"}), f"n{index:03}")

    kept = scores(plugin, asking(gpus), cluster, raw=True)

    assert kept == scores(scarcity(), asking(gpus), without_memo(cluster), raw=True)


def without_memo(cluster: Snapshot) -> Snapshot:
    columns, nominator, _ = cluster.sources
    return Snapshot(columns, nominator)


@pytest.mark.parametrize(
    ("spec", "resources"),
    [
        ({"scarcity": {"resources": ["memory"]}}, ("memory",)),
        ({"gpu": {"podsWithGpu": "LeastFragmentation", "resources": [GPU]}}, (GPU,)),
        (
            {"scarcity": {"resources": ["memory"]}, "gpu": {"podsWithGpu": "LeastFragmentation"}},
            ("memory", GPU, "amd.com/gpu"),
        ),
    ],
)
def test_the_plugin_gets_the_resources_of_the_section_and_of_least_fragmentation(
    spec: dict[str, object], resources: tuple[str, ...]
) -> None:
    section = Scarcity.section_of(parse_policy({"metadata": {"name": "p"}, "spec": spec}).spec)
    assert section is not None
    assert section.model_dump(by_alias=True, exclude_unset=True) == {"resources": resources}


def test_a_policy_without_scarce_resources_has_no_section() -> None:
    policy = parse_policy({"metadata": {"name": "p"}, "spec": {"gpu": {"podsWithGpu": "Pack"}}})
    assert Scarcity.section_of(policy.spec) is None

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from builders import Object, node, pod, snapshot_of
from moorage.framework.plugin_arguments import build_plugin
from moorage.framework.status import Code
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from plugin_runs import scores
from strategies import EXTENDED, clusters, pods


def balanced(*names: str) -> NodeResourcesBalancedAllocation:
    args: Object = {"resources": [{"name": name, "weight": 1} for name in names]} if names else {}
    plugin = build_plugin(NodeResourcesBalancedAllocation, args, {})
    assert isinstance(plugin, NodeResourcesBalancedAllocation)
    return plugin


def gpus(count: int) -> dict[str, str]:
    return {EXTENDED: str(count)}


@pytest.mark.parametrize(
    ("used_gpus", "expected"),
    [(3, 75), (0, 76)],
)
def test_score_includes_an_extended_resource_that_the_pod_requests(used_gpus: int, expected: int) -> None:
    machine = node("n", cpu="3500m", memory="40000", allocatable=gpus(8))
    placed = pod("e", cpu="3", memory="5000", requests=gpus(used_gpus), node="n")

    found = scores(balanced("cpu", "memory", EXTENDED), pod(requests=gpus(1)), snapshot_of([machine], [placed]))

    assert found == {"n": expected}


def test_empty_node_scores_below_75_if_the_pod_makes_it_unbalanced() -> None:
    cluster = snapshot_of([node("n", cpu="3500m", memory="40000")])

    assert scores(balanced(), pod(cpu="3", memory="5000"), cluster) == {"n": 56}


@pytest.mark.parametrize(("used_memory", "expected"), [("0", 73), ("2500", 74)])
def test_score_depends_on_how_much_the_pod_changes_the_balance(used_memory: str, expected: int) -> None:
    cluster = snapshot_of([node("n", cpu="10", memory="10000")], [pod("e", cpu="3", memory=used_memory, node="n")])

    assert scores(balanced(), pod(cpu="3", memory="2500"), cluster) == {"n": expected}


def test_pre_score_skips_a_pod_that_requests_none_of_the_resources() -> None:
    cluster = snapshot_of([node()])

    assert balanced().pre_score(pod(), cluster).status.code is Code.SKIP
    assert balanced().pre_score(pod(requests=gpus(1)), cluster).status.code is Code.SKIP


def test_node_scores_0_without_pre_score_for_a_pod_that_pre_score_would_skip() -> None:
    cluster = snapshot_of([node("n")])
    incoming = pod(cpu="1")

    assert balanced().score(None, pod(), cluster).tolist() == [0]
    assert balanced().score(None, incoming, cluster).tolist() == list(scores(balanced(), incoming, cluster).values())


@pytest.mark.parametrize(
    "resources",
    [
        [{"name": "cpu", "weight": 2}],
        [{"name": "cpu", "weight": 1}, {"name": "cpu", "weight": 1}],
        [{"weight": 1}],
        [{"name": "cpu", "factor": 1}],
    ],
)
def test_resources_that_kube_scheduler_rejects_are_rejected(resources: list[Object]) -> None:
    with pytest.raises(ValidationError, match="resources"):
        build_plugin(NodeResourcesBalancedAllocation, {"resources": resources}, {})


def test_empty_resources_get_the_defaults_and_weight_0_becomes_1() -> None:
    empty = build_plugin(NodeResourcesBalancedAllocation, {"resources": []}, {})
    unweighed = build_plugin(NodeResourcesBalancedAllocation, {"resources": [{"name": "cpu", "weight": 0}]}, {})

    assert isinstance(empty, NodeResourcesBalancedAllocation)
    assert empty.resources == balanced().resources
    assert isinstance(unweighed, NodeResourcesBalancedAllocation)
    assert unweighed.resources == balanced("cpu").resources


def slow_balance(fractions: Sequence[float]) -> int:
    """Return the balance of one node, computed in the same order of operations as upstream."""
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        total = 0.0
        for fraction in fractions:
            total += fraction
        mean, squares = total / len(fractions), 0.0
        for fraction in fractions:
            squares += (fraction - mean) * (fraction - mean)
        deviation = math.sqrt(squares / len(fractions))
    return int((1 - deviation) * 100)


RESOURCES = ("cpu", "memory", EXTENDED, "ephemeral-storage")


@given(clusters(max_pods=6), pods(), st.lists(st.sampled_from(RESOURCES), min_size=1, unique=True))
def test_score_agrees_with_a_computation_for_each_node(
    cluster: tuple[list[Node], list[Pod]], incoming: Pod, names: list[str]
) -> None:
    nodes, placed = cluster
    plugin, snapshot = balanced(*names), snapshot_of(nodes, placed)
    requests = incoming.shape.requests

    def score(each: Node) -> int:
        without, with_pod = [], []
        for name in names:
            capacity = each.allocatable.get(name)
            if not capacity or (name == EXTENDED and not requests.get(name)):
                continue
            used = sum(other.requests.get(name) for other in placed if other.node_name == each.name)
            without.append(min(used / capacity, 1))
            with_pod.append(min((used + requests.get(name)) / capacity, 1))
        return 50 + (50 + slow_balance(with_pod) - slow_balance(without)) // 2

    if plugin.pre_score(incoming, snapshot).status.code is Code.SKIP:
        assert not any(requests.get(name) for name in names)
    else:
        assert scores(plugin, incoming, snapshot) == {each.name: score(each) for each in nodes}

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from builders import Object, make, node, pod, snapshot_of
from moorage.cluster.what_if import NodeWhatIf
from moorage.framework.cluster_events import added, deleted, updated
from moorage.framework.plugin_arguments import build_plugin
from moorage.framework.status import Code
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.node_resources_fit import NodeResourcesFit
from plugin_runs import passes, rejections, scores
from strategies import EXTENDED, clusters, pods

U, UU = Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def fit(**args: Any) -> NodeResourcesFit:
    plugin = build_plugin(NodeResourcesFit, args, {})
    assert isinstance(plugin, NodeResourcesFit)
    return plugin


def strategy(kind: str, *shape: tuple[int, int], **weights: int) -> Object:
    """Return scoring arguments. The keywords `gpu` and `storage` are short names of resources."""
    names = {"gpu": EXTENDED, "storage": "ephemeral-storage"}
    ratio = {"shape": [{"utilization": utilization, "score": score} for utilization, score in shape]}
    return {
        "scoringStrategy": {
            "type": kind,
            "resources": [{"name": names.get(name, name), "weight": weight} for name, weight in weights.items()],
            **({"requestedToCapacityRatio": ratio} if shape else {}),
        }
    }


def test_rejection_names_each_resource_that_the_node_lacks() -> None:
    cluster = snapshot_of(
        [
            node("roomy"),
            node("busy", cpu="2", memory="2Gi"),
            node("tiny", cpu="1", memory="2Gi"),
            node("crowded", pods="1"),
        ],
        [pod("e1", cpu="1500m", memory="1536Mi", node="busy"), pod("e2", node="crowded")],
    )

    assert rejections(fit(), pod(cpu="1500m", memory="1Gi"), cluster) == {
        "roomy": None,
        "busy": (U, ["Insufficient cpu", "Insufficient memory"]),
        "tiny": (UU, ["Insufficient cpu"]),
        "crowded": (U, ["Too many pods"]),
    }


def test_overcommitted_node_passes_for_a_pod_without_requests() -> None:
    cluster = snapshot_of([node("n", cpu="1")], [pod("e", cpu="2", node="n")])

    assert passes(fit(), pod(cpu="0"), cluster) == {"n"}
    assert rejections(fit(), pod(cpu="1m"), cluster) == {"n": (U, ["Insufficient cpu"])}


def test_node_without_allocatable_pods_is_rejected() -> None:
    assert rejections(fit(), pod(), snapshot_of([node("n", pods="0")])) == {"n": (U, ["Too many pods"])}


@pytest.mark.parametrize(
    ("args", "request_name", "ignored"),
    [
        ({}, "example.com/fpga", False),
        ({"ignoredResources": ["example.com/fpga"]}, "example.com/fpga", True),
        ({"ignoredResourceGroups": ["example.com"]}, "example.com/fpga", True),
        ({"ignoredResourceGroups": ["example"]}, "example.com/fpga", False),
        ({"ignoredResources": ["cpu"]}, "cpu", False),  # cpu is not an extended resource
        ({"ignoredResources": ["hugepages-2Mi"]}, "hugepages-2Mi", False),
    ],
)
def test_filter_ignores_a_listed_resource_only_if_it_is_an_extended_resource(
    args: Object, request_name: str, *, ignored: bool
) -> None:
    cluster = snapshot_of([node("n", cpu="1")])

    assert passes(fit(**args), pod(requests={request_name: "8"}), cluster) == ({"n"} if ignored else set())


@pytest.mark.parametrize(
    ("args", "cpu", "memory", "expected"),
    [
        (strategy("LeastAllocated"), "4", "10000", 37),
        (strategy("LeastAllocated"), "6", "10000", 50),
        (strategy("RequestedToCapacityRatio", (0, 10), (100, 0)), "4", "10000", 38),
        (strategy("RequestedToCapacityRatio", (0, 10), (100, 0)), "6", "10000", 50),
        (strategy("MostAllocated"), "4", "10000", 62),
        (strategy("MostAllocated", cpu=3, memory=1), "4", "10000", 68),
    ],
)
def test_strategies_score_a_node_for_a_pod_of_3_cpus_and_5000_bytes(
    args: Object, cpu: str, memory: str, expected: int
) -> None:
    cluster = snapshot_of([node("n", cpu=cpu, memory=memory)])

    assert scores(fit(**args), pod(cpu="3", memory="5000"), cluster) == {"n": expected}


def test_score_on_a_falling_line_is_rounded_toward_zero() -> None:
    falling = strategy("RequestedToCapacityRatio", (0, 10), (70, 2), (100, 0), cpu=1)

    assert scores(fit(**falling), pod(cpu="37m"), snapshot_of([node("n", cpu="100m")])) == {"n": 58}


def test_container_without_requests_has_defaults_only_in_the_score() -> None:
    cluster = snapshot_of([node("n", cpu="200m", memory="400Mi")])

    assert scores(fit(), pod(), cluster) == {"n": 50}
    assert scores(fit(), pod(cpu="0", memory="0"), cluster) == {"n": 100}
    assert passes(fit(), pod(), snapshot_of([node("n", cpu="1m", memory="1")])) == {"n"}


def test_score_leaves_out_a_resource_that_the_node_does_not_have() -> None:
    with_gpu = strategy("MostAllocated", cpu=1, gpu=3)
    cluster = snapshot_of([node("gpu", cpu="2", allocatable={EXTENDED: "4"}), node("plain", cpu="2")])

    assert scores(fit(**with_gpu), pod(cpu="1", requests={EXTENDED: "1"}), cluster) == {
        "gpu": (50 + 3 * 25) // 4,
        "plain": 50,
    }
    assert scores(fit(**with_gpu), pod(cpu="1"), cluster) == {"gpu": 50, "plain": 50}


def test_node_without_any_scored_resource_scores_0() -> None:
    assert scores(fit(**strategy("MostAllocated", gpu=1)), pod(cpu="1"), snapshot_of([node("n")])) == {"n": 0}


@pytest.mark.parametrize(
    ("args", "path"),
    [
        ({"ignoredResources": ["-x"]}, "ignoredResources.0"),
        ({"ignoredResourceGroups": ["a.com/b"]}, "ignoredResourceGroups.0"),
        ({"scoringStrategy": {}}, "scoringStrategy.type"),
        (strategy("Balanced"), "scoringStrategy.type"),
        (strategy("MostAllocated", cpu=101), "scoringStrategy.resources.0.weight"),
        (strategy("MostAllocated", cpu=-1), "scoringStrategy.resources.0.weight"),
        (strategy("RequestedToCapacityRatio"), "scoringStrategy.requestedToCapacityRatio"),
        (strategy("MostAllocated", (0, 0)), "scoringStrategy.requestedToCapacityRatio"),
        (
            strategy("RequestedToCapacityRatio", (0, 0), (0, 5)),
            "scoringStrategy.requestedToCapacityRatio.shape.1.utilization",
        ),
        (
            strategy("RequestedToCapacityRatio", (0, 11)),
            "scoringStrategy.requestedToCapacityRatio.shape.0.score",
        ),
        (
            strategy("RequestedToCapacityRatio", (101, 1)),
            "scoringStrategy.requestedToCapacityRatio.shape.0.utilization",
        ),
        ({"scoringstrategy": {}}, "scoringstrategy"),
    ],
)
def test_arguments_that_kube_scheduler_rejects_are_rejected_with_their_path(args: Object, path: str) -> None:
    with pytest.raises(ValidationError) as raised:
        fit(**args)

    assert ".".join(map(str, raised.value.errors()[0]["loc"])) == path


def test_result_is_the_same_without_pre_filter_and_pre_score() -> None:
    cluster = snapshot_of([node("n1", cpu="2"), node("n2", cpu="1")])
    incoming = pod(cpu="1500m", memory="1Gi")

    assert fit().filter(None, incoming, cluster).passed.tolist() == [True, False]
    assert fit().score(None, incoming, cluster).tolist() == list(scores(fit(), incoming, cluster).values())


def test_weight_0_becomes_1_and_empty_resources_get_the_defaults() -> None:
    assert [
        (each.name, each.weight) for each in fit(**strategy("MostAllocated", cpu=0)).scoring_strategy.resources
    ] == [("cpu", 1)]
    assert fit(**strategy("MostAllocated")).scoring_strategy.resources == fit().scoring_strategy.resources


def test_events_that_free_or_add_requested_resources_queue_the_pod() -> None:
    plugin, waiting = fit(), pod(cpu="2")
    placed, shrunk = pod("e", cpu="3", node="n"), pod("e", cpu="1", node="n")
    thinner = pod("e", cpu="3", memory="1Mi", node="n")

    assert plugin.queueing_hint(waiting, deleted("Pod", placed))
    assert not plugin.queueing_hint(waiting, deleted("Pod", pod("unplaced")))
    assert plugin.queueing_hint(waiting, updated("Pod", placed, shrunk))
    assert not plugin.queueing_hint(waiting, updated("Pod", shrunk, placed))
    assert not plugin.queueing_hint(waiting, updated("Pod", pod("e", cpu="3", memory="2Mi", node="n"), thinner))
    assert not plugin.queueing_hint(waiting, added("Pod", placed))
    assert plugin.queueing_hint(waiting, updated("Pod", waiting, pod(cpu="1")))
    assert not plugin.queueing_hint(waiting, updated("Pod", waiting, pod(cpu="3")))
    assert plugin.queueing_hint(waiting, added("Node", node(cpu="2")))
    assert not plugin.queueing_hint(waiting, added("Node", node(cpu="1")))
    assert not plugin.queueing_hint(waiting, deleted("Node", node()))
    assert plugin.queueing_hint(waiting, updated("Node", node(cpu="2"), node(cpu="3")))
    assert plugin.queueing_hint(waiting, updated("Node", node(pods="1"), node(pods="2")))
    assert not plugin.queueing_hint(waiting, updated("Node", node(memory="1Gi"), node(memory="2Gi")))


# -- slow implementations ----------------------------------------------------------------------------------------------


def slow_rejection(each: Node, on_it: Sequence[Pod], incoming: Pod) -> tuple[Code, list[str]] | None:
    reasons, code = [], U
    if len(on_it) + 1 > each.allocatable.get("pods"):
        reasons.append("Too many pods")
    for name, amount in incoming.shape.requests.amounts:
        capacity = each.allocatable.get(name)
        if amount > 0 and amount > capacity - sum(other.requests.get(name) for other in on_it):
            reasons.append(f"Insufficient {name}")
            code = UU if amount > capacity else code
    return (code, reasons) if reasons else None


def slow_shape(points: Sequence[tuple[int, int]], utilization: int) -> int:
    """Return the score at a utilization, interpolated with Go's integer division."""
    scaled = [(at, score * 10) for at, score in points]
    for index, (at, score) in enumerate(scaled):
        if utilization <= at:
            if index == 0:
                return score
            before_at, before = scaled[index - 1]
            return before + int((score - before) * (utilization - before_at) / (at - before_at))
    return scaled[-1][1]


def slow_score(kind: str, points: Sequence[tuple[int, int]], resources: Sequence[tuple[int, int, int]]) -> int:
    """Return the score of one node. A resource is a tuple of use (with the pod), capacity and weight."""
    total = weights = 0
    for used, capacity, weight in resources:
        if kind == "LeastAllocated":
            score = 0 if used > capacity else (capacity - used) * 100 // capacity
        elif kind == "MostAllocated":
            score = min(used, capacity) * 100 // capacity
        else:
            score = slow_shape(points, 100 if used > capacity else used * 100 // capacity)
            if score == 0:
                continue
        total += score * weight
        weights += weight
    if not weights:
        return 0
    return int(total / weights + 0.5) if points else total // weights


@given(clusters(max_pods=6), pods())
def test_filter_agrees_with_a_sum_over_each_node(cluster: tuple[list[Node], list[Pod]], incoming: Pod) -> None:
    nodes, placed = cluster
    expected = {
        each.name: slow_rejection(each, [other for other in placed if other.node_name == each.name], incoming)
        for each in nodes
    }

    found = rejections(fit(), incoming, snapshot_of(nodes, placed))

    assert {name: each and (each[0], sorted(each[1])) for name, each in found.items()} == {
        name: each and (each[0], sorted(each[1])) for name, each in expected.items()
    }


NAMES = {"cpu": "cpu", "memory": "memory", "gpu": EXTENDED, "storage": "ephemeral-storage"}
weights = st.dictionaries(st.sampled_from(sorted(NAMES)), st.integers(1, 100), min_size=1)
shapes = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, max_size=4, unique_by=lambda p: p[0])


@given(
    clusters(max_pods=6),
    pods(),
    weights,
    st.one_of(st.sampled_from(["LeastAllocated", "MostAllocated"]), shapes.map(sorted)),
)
def test_score_agrees_with_a_sum_over_each_node(
    cluster: tuple[list[Node], list[Pod]],
    incoming: Pod,
    weights: dict[str, int],
    kind: str | list[tuple[int, int]],
) -> None:
    nodes, placed = cluster
    points = kind if isinstance(kind, list) else []
    name_of_kind = kind if isinstance(kind, str) else "RequestedToCapacityRatio"

    def usage(each: Node) -> list[tuple[int, int, int]]:
        found = []
        for short, weight in weights.items():
            name = NAMES[short]
            capacity, amount = each.allocatable.get(name), incoming.shape.score_requests.get(name)
            if not capacity or (not amount and short == "gpu"):
                continue
            on_it = [other for other in placed if other.node_name == each.name]
            if short in {"cpu", "memory"}:
                used = sum(other.non_zero_requests.get(name) for other in on_it)
            else:
                used = sum(other.requests.get(name) for other in on_it)
            found.append((used + amount, capacity, weight))
        return found

    expected = {each.name: slow_score(name_of_kind, points, usage(each)) for each in nodes}
    plugin = fit(**strategy(name_of_kind, *points, **weights))

    assert scores(plugin, incoming, snapshot_of(nodes, placed)) == expected


def test_what_if_is_scored_with_its_own_pods() -> None:
    cluster = snapshot_of([node("n", cpu="2", memory="1Gi")], [pod("e", cpu="1", memory="512Mi", node="n")])
    incoming = pod(cpu="500m", memory="256Mi")
    assert fit().score(None, incoming, cluster).tolist() == [25]

    without = NodeWhatIf(cluster, 0)
    without.remove_pod(pod("e", cpu="1", memory="512Mi", node="n"))

    assert fit().score(None, incoming, without).tolist() == [75]


def test_pod_is_queued_if_a_device_class_of_a_requested_resource_is_added() -> None:
    body = {"metadata": {"name": "gpus"}, "spec": {"extendedResourceName": "example.com/gpu"}}
    event = added("DeviceClass", make("DeviceClass", body))
    assert fit().queueing_hint(pod(requests={"example.com/gpu": "1"}), event)
    assert not fit().queueing_hint(pod(cpu="1"), event)
    assert not fit().queueing_hint(pod(requests={"example.com/gpu": "1"}), deleted("DeviceClass", event.new))


@pytest.mark.parametrize(
    ("resource", "device_class"),
    [
        ("example.com/gpu", {"metadata": {"name": "gpus"}, "spec": {"extendedResourceName": "example.com/gpu"}}),
        ("deviceclass.resource.kubernetes.io/gpus", {"metadata": {"name": "gpus"}}),
    ],
)
def test_rejection_names_the_device_class_if_the_node_does_not_have_the_resource(
    resource: str, device_class: Object
) -> None:
    nodes = [
        node("none"),
        node("full", allocatable={resource: "1"}),
        node("few", allocatable={resource: "1"}),
        node("zero", allocatable={resource: "0"}),
    ]
    other = {"metadata": {"name": "another"}, "spec": {"extendedResourceName": "example.com/other"}}
    objects = {"DeviceClass": [other, device_class]}
    cluster = snapshot_of(nodes, [pod("e", node="full", requests={resource: "1"})], objects=objects)
    devices = (
        UU,
        [f"node(s) have no allocatable {resource}, and moorage does not allocate devices (DRA) of DeviceClass gpus"],
    )

    assert rejections(fit(), pod(requests={resource: "1"}), cluster) == {
        "none": devices,
        "full": (U, [f"Insufficient {resource}"]),
        "few": None,
        "zero": devices,
    }
    assert rejections(fit(), pod(requests={resource: "1"}), snapshot_of(nodes))["none"] == (
        UU,
        [f"Insufficient {resource}"],
    )

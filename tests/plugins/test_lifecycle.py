import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from builders import Object, node, pod, snapshot_of
from moorage.cluster.snapshot import Snapshot
from moorage.framework.cluster_events import added, updated
from moorage.framework.plugin_arguments import build_plugin
from moorage.framework.status import Code
from moorage.plugins.own.lifecycle import Lifecycle
from plugin_runs import passes, rejections, scores

KARPENTER = "karpenter.sh/capacity-type"


def lifecycle(args: Object) -> Lifecycle:
    plugin = build_plugin(Lifecycle, args, {})
    assert isinstance(plugin, Lifecycle)
    return plugin


def cluster_of_each() -> Snapshot:
    return snapshot_of(
        [
            node("spot", labels={KARPENTER: "spot"}),
            node("on-demand", labels={KARPENTER: "on-demand"}),
            node("reserved", labels={KARPENTER: "reserved"}),
            node("unknown"),
        ]
    )


@pytest.mark.parametrize(
    ("args", "requested", "expected"),
    [
        ({}, "", {"spot": 80, "on-demand": 50, "reserved": 50, "unknown": 50}),
        ({"prefer": "on-demand"}, "", {"spot": 50, "on-demand": 80, "reserved": 50, "unknown": 50}),
        ({"prefer": "none"}, "", {"spot": 50, "on-demand": 50, "reserved": 50, "unknown": 50}),
        ({}, "on-demand", {"spot": 10, "on-demand": 100, "reserved": 10, "unknown": 50}),
        ({}, "SPOT", {"spot": 100, "on-demand": 10, "reserved": 10, "unknown": 50}),
        ({"prefer": "none"}, "Reserved", {"spot": 10, "on-demand": 10, "reserved": 100, "unknown": 50}),
        ({}, "cheap", {"spot": 80, "on-demand": 50, "reserved": 50, "unknown": 50}),
    ],
)
def test_scores_equal_the_scores_in_the_tutorial(args: Object, requested: str, expected: dict[str, int]) -> None:
    incoming = pod(labels={"lifecycle-preference": requested} if requested else {})

    assert scores(lifecycle(args), incoming, cluster_of_each()) == expected


def test_policy_can_rename_the_pod_label() -> None:
    incoming = pod(labels={"capacity": "on-demand"})

    assert scores(lifecycle({"podLabel": "capacity"}), incoming, cluster_of_each())["on-demand"] == 100


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"eks.amazonaws.com/capacityType": "SPOT"}, "spot"),
        ({"eks.amazonaws.com/capacityType": "ON_DEMAND"}, "on-demand"),
        ({"eks.amazonaws.com/capacityType": "CAPACITY_BLOCK"}, "reserved"),
        ({KARPENTER: "spot"}, "spot"),
        ({KARPENTER: "reserved"}, "reserved"),
        ({"cloud.google.com/gke-spot": "true"}, "spot"),
        ({"cloud.google.com/gke-preemptible": "true"}, "spot"),
        ({"cloud.google.com/gke-provisioning": "standard"}, "on-demand"),
        ({"kubernetes.azure.com/scalesetpriority": "spot"}, "spot"),
        ({"node.kubernetes.io/lifecycle": "Spot"}, "spot"),
        ({"node.kubernetes.io/lifecycle": "normal"}, "on-demand"),
        ({"node.kubernetes.io/lifecycle": "eternal"}, "unknown"),
        ({"node.kubernetes.io/lifecycle": "eternal", KARPENTER: "spot"}, "spot"),
        ({KARPENTER: "on-demand", "node.kubernetes.io/lifecycle": "spot"}, "on-demand"),
    ],
)
def test_lifecycle_is_read_from_the_labels_of_all_known_providers(labels: dict[str, str], expected: str) -> None:
    cluster = snapshot_of([node("n", labels=labels)])

    allowing = {each for each in ("spot", "on-demand", "reserved", "unknown") if _allows(each, cluster)}

    assert allowing == {expected}


def _allows(lifecycle_class: str, cluster: Snapshot) -> bool:
    return passes(lifecycle({"allow": [lifecycle_class]}), pod(), cluster) == {"n"}


def test_label_sources_of_the_policy_replace_the_default_sources() -> None:
    plugin = lifecycle({"allow": ["spot"], "sources": [{"key": "pool-kind", "spot": ["Cheap"], "onDemand": ["dear"]}]})
    cluster = snapshot_of([node("cheap", labels={"pool-kind": "CHEAP"}), node("spot", labels={KARPENTER: "spot"})])

    assert passes(plugin, pod(), cluster) == {"cheap"}


def test_node_is_rejected_if_its_lifecycle_is_not_allowed() -> None:
    excluded = (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["node(s) had a lifecycle that the policy excludes"])

    assert rejections(lifecycle({"allow": ["on-demand", "unknown"]}), pod(), cluster_of_each()) == {
        "spot": excluded,
        "on-demand": None,
        "reserved": excluded,
        "unknown": None,
    }


@pytest.mark.parametrize("args", [{"prefer": "cheap"}, {"allow": ["Spot"]}, {"sources": [{"key": "k"}]}])
def test_invalid_arguments_are_rejected(args: Object) -> None:
    with pytest.raises(ValidationError):
        lifecycle(args)


def test_node_queues_the_pod_if_its_lifecycle_becomes_allowed() -> None:
    plugin = lifecycle({"allow": ["spot"]})
    spot, other = node(labels={KARPENTER: "spot"}), node(labels={KARPENTER: "on-demand"})

    assert plugin.queueing_hint(pod(), added("Node", spot))
    assert plugin.queueing_hint(pod(), updated("Node", other, spot))
    assert not plugin.queueing_hint(pod(), updated("Node", spot, other))
    assert not plugin.queueing_hint(pod(), updated("Node", spot, spot))


values = st.sampled_from(["cheap", "Dear", "kept", "odd"])


@given(
    st.lists(st.fixed_dictionaries({}, optional={"one": values, "two": values}), min_size=1, max_size=5),
    st.sampled_from(["", "spot", "on-demand", "reserved", "nothing"]),
    st.sampled_from(["spot", "on-demand", "none"]),
)
def test_score_agrees_with_a_check_of_each_node(labels: list[dict[str, str]], requested: str, prefer: str) -> None:
    meanings = [("one", {"cheap": "spot", "kept": "reserved"}), ("two", {"cheap": "spot", "dear": "on-demand"})]
    sources = [
        {"key": "one", "spot": ["Cheap"], "reserved": ["kept"]},
        {"key": "two", "spot": ["cheap"], "onDemand": ["dear"]},
    ]

    def score(on: dict[str, str]) -> int:
        found_classes = [known[on[key].lower()] for key, known in meanings if key in on and on[key].lower() in known]
        if not found_classes:
            return 50
        if requested in {"spot", "on-demand", "reserved"}:
            return 100 if found_classes[0] == requested else 10
        return 80 if found_classes[0] == prefer else 50

    cluster = snapshot_of(node(f"n{index}", labels=each) for index, each in enumerate(labels))
    incoming = pod(labels={"lifecycle-preference": requested} if requested else {})

    found = scores(lifecycle({"prefer": prefer, "sources": sources}), incoming, cluster)

    assert found == {f"n{index}": score(each) for index, each in enumerate(labels)}


def test_pod_label_that_names_no_lifecycle_causes_a_warning() -> None:
    assert lifecycle({}).pod_warnings(pod(labels={"lifecycle-preference": "Spot"})) == ()
    (warning,) = lifecycle({}).pod_warnings(pod(labels={"lifecycle-preference": "spto"}))
    assert warning == (
        "label lifecycle-preference=spto names no lifecycle and is ignored; set it to spot, on-demand or reserved"
    )

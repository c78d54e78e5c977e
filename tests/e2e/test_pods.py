"""Placements, conditions and events of valid and unusual pods."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controlplane.component import Component
from e2e.case import SOON_SECONDS, Case
from e2e.clusters import Manifest, eventually

ROOM = {"cpu": "4", "memory": "16Gi", "pods": "110"}
FINALIZER = "moorage.dev/held-by-a-test"
TAKES_ALL_NODES = [{"operator": "Exists"}]


def pinned(node_name: str) -> Manifest:
    """Return a node affinity like that of a DaemonSet's pod."""
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_a_bound_pod_gets_kube_schedulers_event_and_condition(case: Case) -> None:
    case.cluster.apply(case.policy(), case.pod("p"))
    node = case.wait_until_bound("p")
    assert case.wait_for_event("p", "Scheduled") == f"Successfully assigned default/{case.name}-p to {node}"
    assert case.pod_conditions("p")["PodScheduled"]["status"] == "True"
    described = case.cluster.kubectl("describe", "pod", f"{case.name}-p").partition("Events:")[2]
    assert "Successfully assigned" in described


def test_a_gated_pod_waits_until_its_gates_are_removed(case: Case) -> None:
    case.make_live()
    case.cluster.apply(case.pod("gated", schedulingGates=[{"name": "moorage.dev/test"}]), case.pod("free"))
    case.wait_until_bound("free")
    condition = case.pod_conditions("gated")["PodScheduled"]
    assert (condition["status"], condition["reason"]) == ("False", "SchedulingGated")
    assert case.notes("gated", "FailedScheduling") == []
    case.cluster.kubectl("patch", "pod", f"{case.name}-gated", "--patch", '{"spec": {"schedulingGates": null}}')
    assert case.wait_until_bound("gated")


def test_absurd_requests_fit_no_node_and_delay_no_other_pod(case: Case, operator: Component) -> None:
    absurd = {
        "huge": {"cpu": "9223372036854775807", "memory": "8Ei"},
        "tiny": {"cpu": "1n", "memory": "1m"},
        "foreign": {"example.com/flux-capacitors": "100000000000000"},
        "vast": {"ephemeral-storage": "123456789123456789"},
    }
    case.cluster.apply(case.policy(), *(case.pod(name, requests=amounts) for name, amounts in absurd.items()))
    case.cluster.apply(case.pod("sane", requests={"cpu": "100m"}))
    assert case.wait_until_bound("sane")
    assert case.wait_until_bound("tiny")
    assert "Insufficient cpu" in case.wait_for_event("huge", "FailedScheduling")
    assert "Insufficient example.com/flux-capacitors" in case.wait_for_event("foreign", "FailedScheduling")
    assert "Insufficient ephemeral-storage" in case.wait_for_event("vast", "FailedScheduling")
    assert operator.endpoint.ready()


def test_nodes_without_resources_get_no_pods_and_disturb_no_other_pod(case: Case, operator: Component) -> None:
    bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"{case.name}-bare", "labels": case.labels()}}
    case.cluster.apply(bare, case.node("zero", allocatable={"cpu": "0", "memory": "0", "pods": "0"}), case.policy())
    for name in ("bare", "zero"):
        case.cluster.apply(case.pod(name, affinity=pinned(f"{case.name}-{name}"), tolerations=TAKES_ALL_NODES))
        assert "1 Too many pods" in case.wait_for_event(name, "FailedScheduling")
    case.cluster.apply(case.pod("p"))
    assert not case.wait_until_bound("p").startswith(case.name)
    assert operator.endpoint.ready()


def test_a_node_whose_allocatable_falls_below_its_usage_gets_no_more_pods(case: Case) -> None:
    case.cluster.apply(case.node("n", allocatable=ROOM), case.policy())
    case.cluster.apply(
        case.pod("first", nodeSelector=case.labels(), requests={"cpu": "3"}, tolerations=TAKES_ALL_NODES)
    )
    case.wait_until_bound("first")
    less = json.dumps({"status": {"allocatable": {"cpu": "1"}}})
    case.cluster.kubectl("patch", "node", f"{case.name}-n", "--subresource=status", f"--patch={less}")
    second = case.pod("second", nodeSelector=case.labels(), requests={"cpu": "1m"}, tolerations=TAKES_ALL_NODES)
    case.cluster.apply(second)
    assert "1 Insufficient cpu" in case.wait_for_event("second", "FailedScheduling")


def test_a_pod_that_is_being_deleted_is_not_bound(case: Case) -> None:
    case.cluster.apply(case.policy(paused=True), case.pod("going", metadata=metadata_with_finalizer(case, "going")))
    case.wait_for_event("going", "SchedulingPolicyPaused")
    case.cluster.kubectl("delete", "pod", f"{case.name}-going", "--wait=false")
    case.make_live()
    case.cluster.apply(case.pod("staying"))
    case.wait_until_bound("staying")
    assert not case.node_of("going")
    remove_finalizer(case, "going")


def test_a_recreated_pod_of_a_deleted_node_is_bound_to_another_node(case: Case) -> None:
    """The new pod has the same name but another uid, so the operator must not use its state of the first pod."""
    case.make_live()
    case.cluster.apply(case.node("n", allocatable=ROOM))
    case.cluster.apply(case.pod("p", nodeSelector=case.labels(), tolerations=TAKES_ALL_NODES))
    assert case.wait_until_bound("p") == f"{case.name}-n"
    case.cluster.kubectl("delete", "node", f"{case.name}-n")
    case.cluster.kubectl("delete", "pod", f"{case.name}-p", "--force", "--grace-period=0")
    case.cluster.apply(case.pod("p"))
    assert case.wait_until_bound("p") != f"{case.name}-n"


def test_preemption_makes_room_for_pods_of_higher_priority(case: Case) -> None:
    case.cluster.apply(case.node("n", allocatable=ROOM), case.policy())
    case.cluster.apply(on_own_node(case, "low", cpu="3", metadata=metadata_with_finalizer(case, "low")))
    case.wait_until_bound("low")
    case.cluster.apply(on_own_node(case, "high", cpu="3", priorityClassName="system-cluster-critical"))

    def victim_is_preempted() -> None:
        victim, preemptor = case.get_pod("low"), case.get_pod("high")
        condition = case.conditions(victim)["DisruptionTarget"]
        assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")
        assert victim["metadata"]["deletionTimestamp"]
        assert preemptor["status"]["nominatedNodeName"] == f"{case.name}-n"
        assert "nodeName" not in preemptor["spec"]

    eventually(victim_is_preempted, SOON_SECONDS)
    assert case.wait_for_event("low", "Preempted").startswith("Preempted by pod ")
    case.cluster.apply(on_own_node(case, "late", cpu="3"))
    assert "1 Insufficient cpu" in case.wait_for_event("late", "FailedScheduling")
    remove_finalizer(case, "low")
    assert case.wait_until_bound("high") == f"{case.name}-n"
    assert not case.node_of("late")


def test_a_policy_without_preemption_evicts_no_pod(case: Case) -> None:
    case.cluster.apply(case.node("n", allocatable=ROOM), case.policy(preemption={"enabled": False}))
    case.cluster.apply(on_own_node(case, "low", cpu="3"))
    case.wait_until_bound("low")
    case.cluster.apply(on_own_node(case, "high", cpu="3", priorityClassName="system-cluster-critical"))
    case.wait_for_event("high", "FailedScheduling")
    assert "deletionTimestamp" not in case.get_pod("low")["metadata"]
    assert "nominatedNodeName" not in case.get_pod("high")["status"]


def on_own_node(case: Case, suffix: str, *, cpu: str, metadata: Manifest | None = None, **spec: Any) -> Manifest:
    """Return a pod whose node selector allows only the case's nodes."""
    return case.pod(
        suffix,
        metadata=metadata,
        requests={"cpu": cpu},
        nodeSelector=case.labels(),
        tolerations=TAKES_ALL_NODES,
        **spec,
    )


def metadata_with_finalizer(case: Case, suffix: str) -> Manifest:
    """Return metadata with a finalizer: a deleted pod stays until the test calls `remove_finalizer`."""
    return {**case.pod(suffix)["metadata"], "finalizers": [FINALIZER]}


def remove_finalizer(case: Case, suffix: str) -> None:
    """Remove the finalizer of a deleted pod, and then the pod, as its kubelet does after the pod ends."""
    name = f"{case.name}-{suffix}"
    case.cluster.kubectl("patch", "pod", name, "--type=merge", '--patch={"metadata": {"finalizers": null}}')
    case.cluster.kubectl("delete", "pod", name, "--force", "--grace-period=0", "--ignore-not-found")


class TestBesideKubeScheduler:
    """moorage and kube-scheduler get the same pods. The pods' conditions and events must be equal."""

    @pytest.mark.parametrize(
        "nodes_only", [pytest.param("kube-apiserver", marks=pytest.mark.controlplane)], indirect=True, scope="session"
    )
    def test_conditions_and_events_are_equal_word_for_word(self, case: Case) -> None:
        control_plane = case.cluster.control_plane
        assert control_plane is not None
        case.make_live(filters={"serverlessNodes": "Allow"})  # kube-scheduler has no such filter
        case.cluster.apply(
            *(case.pod(f"{name}-ours", **spec) for name, spec in TROUBLES.items()),
            *(case.pod(f"{name}-theirs", **spec, schedulerName="default-scheduler") for name, spec in TROUBLES.items()),
        )
        with control_plane.start_scheduler():
            eventually(lambda: outcomes_by_name(case, "theirs").keys() == TROUBLES.keys())
        eventually(lambda: outcomes_by_name(case, "ours").keys() == TROUBLES.keys())
        assert outcomes_by_name(case, "ours") == outcomes_by_name(case, "theirs")

    @pytest.mark.parametrize(
        "nodes_only", [pytest.param("kube-apiserver", marks=pytest.mark.controlplane)], indirect=True, scope="session"
    )
    def test_a_zone_filter_has_the_same_effect_on_pinned_pods_as_kube_schedulers_added_affinity(
        self, case: Case
    ) -> None:
        control_plane = case.cluster.control_plane
        assert control_plane is not None
        theirs = f"{case.name}-kube"
        case.make_live(filters={"zones": {"allow": ["us-east-1a"]}, "serverlessNodes": "Allow"})
        case.cluster.apply(
            *(case.pod(f"{name}-ours", **spec) for name, spec in PINNED.items()),
            *(case.pod(f"{name}-theirs", **spec, schedulerName=theirs) for name, spec in PINNED.items()),
        )
        with control_plane.start_scheduler({"profiles": [{"schedulerName": theirs, "pluginConfig": [IN_ZONE_A]}]}):
            eventually(lambda: pinned_outcomes(case, "theirs").keys() == PINNED.keys())
        eventually(lambda: pinned_outcomes(case, "ours").keys() == PINNED.keys())
        assert pinned_outcomes(case, "ours") == pinned_outcomes(case, "theirs")
        assert "match scheduler-enforced node affinity" in pinned_outcomes(case, "ours")["excluded"]
        assert pinned_outcomes(case, "ours")["allowed"] == "m5-spot-0"


IN_ZONE_A: Manifest = {
    "name": "NodeAffinity",
    "args": {
        "addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-east-1a"]}
                        ]
                    }
                ]
            }
        }
    },
}
PINNED: dict[str, dict[str, Any]] = {
    "allowed": {"affinity": pinned("m5-spot-0")},
    "excluded": {"affinity": pinned("m5-spot-1")},
    "full": {"affinity": pinned("m5-spot-0"), "requests": {"cpu": "500"}},
    "excluded-and-full": {"affinity": pinned("m5-spot-1"), "requests": {"cpu": "500"}},
    "excluded-and-tainted": {"affinity": pinned("p5-reserved-1")},
    "gone": {"affinity": pinned("no-such-node")},
}


def pinned_outcomes(case: Case, suffix: str) -> dict[str, str]:
    """Return, for each pod of `PINNED`, its node if it is bound, or the message if it is unschedulable."""
    places = {
        name: pod["spec"].get("nodeName") or case.conditions(pod).get("PodScheduled", {}).get("message", "")
        for pod in case.pods()
        for name in PINNED
        if pod["metadata"]["name"] == f"{case.name}-{name}-{suffix}"
    }
    return {name: place for name, place in places.items() if place}


AWAY: Manifest = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"no": "such"}}}
        ]
    }
}
TROUBLES: dict[str, dict[str, Any]] = {
    "too-large": {"requests": {"cpu": "500", "memory": "1Ti"}},
    "nowhere": {"nodeSelector": {"no": "such"}},
    "no-such-node": {"affinity": pinned("no-such-node")},
    "lonely": {"affinity": AWAY},
    "odd": {"requests": {"example.com/odd": "1"}, "tolerations": TAKES_ALL_NODES},
    "unspreadable": {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "no-such-key",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"a": "b"}},
            }
        ]
    },
    "important": {"requests": {"cpu": "500"}, "priorityClassName": "system-cluster-critical"},
    "tainted": {"nodeSelector": {"workload": "training"}},
    "on-a-tainted-node": {"affinity": pinned("p5-reserved-1"), "requests": {"cpu": "500"}},
    "spread-within-one-node": {
        "nodeSelector": {"workload": "inference"},
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "kubernetes.io/hostname", "namespaceSelector": {}, "labelSelector": {}}
                ]
            }
        },
        "requests": {"cpu": "100"},
    },
    "unclaimed": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "no-such-claim"}}]},
}


def outcomes_by_name(case: Case, suffix: str) -> dict[str, dict[str, Any]]:
    """Return by name the condition and first event of each pod with this suffix. Skip pods that lack either."""
    outcomes: dict[str, dict[str, Any]] = {}
    events = case.events()
    for pod in case.pods():
        name = pod["metadata"]["name"].removeprefix(f"{case.name}-")
        condition = case.conditions(pod).get("PodScheduled")
        notes = [event for event in events if event["regarding"].get("uid") == pod["metadata"]["uid"]]
        if name.endswith(f"-{suffix}") and condition and notes:
            outcomes[name.removesuffix(f"-{suffix}")] = {
                "condition": {key: condition.get(key) for key in ("status", "reason", "message", "observedGeneration")},
                "event": {key: notes[0].get(key) for key in ("type", "reason", "action", "note")},
            }
    return outcomes


def test_the_reason_names_the_device_class_of_an_extended_resource_that_no_node_has(case: Case) -> None:
    resource = f"example.com/{case.name}"
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": case.name},
        "spec": {"extendedResourceName": resource},
    }
    reason = f"have no allocatable {resource}, and moorage does not allocate devices (DRA) of DeviceClass {case.name}"
    case.make_live()
    case.cluster.apply(case.pod("early", requests={resource: "1"}))
    assert f"Insufficient {resource}" in case.wait_for_event("early", "FailedScheduling")
    case.cluster.apply(device_class)
    try:
        eventually(lambda: reason in case.pod_conditions("early")["PodScheduled"]["message"], SOON_SECONDS)
        case.cluster.apply(case.pod("late", requests={resource: "1"}))
        note = case.wait_for_event("late", "FailedScheduling")
    finally:
        case.cluster.kubectl("delete", "deviceclass", case.name)
    assert f" node(s) {reason}" in note
    assert f"Insufficient {resource}" not in note

"""What becomes of pods, good and bad, and what is told of them; seen with kubectl alone."""

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
    """Return the affinity that a DaemonSet's pod has to its node."""
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_a_bound_pod_is_told_of_in_kube_schedulers_words(case: Case) -> None:
    case.cluster.apply(case.policy(), case.pod("p"))
    node = case.bound("p")
    assert case.told("p", "Scheduled") == f"Successfully assigned default/{case.name}-p to {node}"
    assert case.pod_conditions("p")["PodScheduled"]["status"] == "True"
    described = case.cluster.kubectl("describe", "pod", f"{case.name}-p").partition("Events:")[2]
    assert "Successfully assigned" in described


def test_a_gated_pod_is_left_alone_until_its_gates_are_gone(case: Case) -> None:
    case.live()
    case.cluster.apply(case.pod("gated", schedulingGates=[{"name": "moorage.dev/test"}]), case.pod("free"))
    case.bound("free")
    condition = case.pod_conditions("gated")["PodScheduled"]
    assert (condition["status"], condition["reason"]) == ("False", "SchedulingGated")
    assert case.notes("gated", "FailedScheduling") == []
    case.cluster.kubectl("patch", "pod", f"{case.name}-gated", "--patch", '{"spec": {"schedulingGates": null}}')
    assert case.bound("gated")


def test_absurd_pods_fit_nowhere_and_hold_nobody_up(case: Case, operator: Component) -> None:
    absurd = {
        "huge": {"cpu": "9223372036854775807", "memory": "8Ei"},
        "tiny": {"cpu": "1n", "memory": "1m"},
        "foreign": {"example.com/flux-capacitors": "100000000000000"},
        "vast": {"ephemeral-storage": "123456789123456789"},
    }
    case.cluster.apply(case.policy(), *(case.pod(name, requests=amounts) for name, amounts in absurd.items()))
    case.cluster.apply(case.pod("sane", requests={"cpu": "100m"}))
    assert case.bound("sane")
    assert case.bound("tiny")
    assert "Insufficient cpu" in case.told("huge", "FailedScheduling")
    assert "Insufficient example.com/flux-capacitors" in case.told("foreign", "FailedScheduling")
    assert "Insufficient ephemeral-storage" in case.told("vast", "FailedScheduling")
    assert operator.endpoint.ready()


def test_nodes_that_say_nothing_of_themselves_take_no_pods_and_do_no_harm(case: Case, operator: Component) -> None:
    bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"{case.name}-bare", "labels": case.here()}}
    case.cluster.apply(bare, case.node("zero", allocatable={"cpu": "0", "memory": "0", "pods": "0"}), case.policy())
    for name in ("bare", "zero"):
        case.cluster.apply(case.pod(name, affinity=pinned(f"{case.name}-{name}"), tolerations=TAKES_ALL_NODES))
        assert "1 Too many pods" in case.told(name, "FailedScheduling")
    case.cluster.apply(case.pod("p"))
    assert not case.bound("p").startswith(case.name)
    assert operator.endpoint.ready()


def test_a_node_that_shrinks_below_what_runs_on_it_gets_no_more(case: Case) -> None:
    case.cluster.apply(case.node("n", allocatable=ROOM), case.policy())
    case.cluster.apply(case.pod("first", nodeSelector=case.here(), requests={"cpu": "3"}, tolerations=TAKES_ALL_NODES))
    case.bound("first")
    less = json.dumps({"status": {"allocatable": {"cpu": "1"}}})
    case.cluster.kubectl("patch", "node", f"{case.name}-n", "--subresource=status", f"--patch={less}")
    second = case.pod("second", nodeSelector=case.here(), requests={"cpu": "1m"}, tolerations=TAKES_ALL_NODES)
    case.cluster.apply(second)
    assert "1 Insufficient cpu" in case.told("second", "FailedScheduling")


def test_a_pod_that_is_being_deleted_is_not_bound(case: Case) -> None:
    case.cluster.apply(case.policy(paused=True), case.pod("going", metadata=kept_by_finalizer(case, "going")))
    case.told("going", "SchedulingPaused")
    case.cluster.kubectl("delete", "pod", f"{case.name}-going", "--wait=false")
    case.live()
    case.cluster.apply(case.pod("staying"))
    case.bound("staying")
    assert not case.node_of("going")
    let_go(case, "going")


def test_the_pod_of_a_deleted_node_comes_anew_to_another(case: Case) -> None:
    """A pod keeps its name but is another one: nothing known of the first may be used for the second."""
    case.live()
    case.cluster.apply(case.node("n", allocatable=ROOM))
    case.cluster.apply(case.pod("p", nodeSelector=case.here(), tolerations=TAKES_ALL_NODES))
    assert case.bound("p") == f"{case.name}-n"
    case.cluster.kubectl("delete", "node", f"{case.name}-n")
    case.cluster.kubectl("delete", "pod", f"{case.name}-p", "--force", "--grace-period=0")
    case.cluster.apply(case.pod("p"))
    assert case.bound("p") != f"{case.name}-n"


def test_preemption_makes_room_for_pods_of_higher_priority(case: Case) -> None:
    case.cluster.apply(case.node("n", allocatable=ROOM), case.policy())
    case.cluster.apply(here(case, "low", cpu="3", metadata=kept_by_finalizer(case, "low")))
    case.bound("low")
    case.cluster.apply(here(case, "high", cpu="3", priorityClassName="system-cluster-critical"))

    def gives_way() -> None:
        victim, preemptor = case.get_pod("low"), case.get_pod("high")
        condition = case.conditions(victim)["DisruptionTarget"]
        assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")
        assert victim["metadata"]["deletionTimestamp"]
        assert preemptor["status"]["nominatedNodeName"] == f"{case.name}-n"
        assert "nodeName" not in preemptor["spec"]

    eventually(gives_way, SOON_SECONDS)
    assert case.told("low", "Preempted").startswith("Preempted by pod ")
    case.cluster.apply(here(case, "late", cpu="3"))
    assert "1 Insufficient cpu" in case.told("late", "FailedScheduling")
    let_go(case, "low")
    assert case.bound("high") == f"{case.name}-n"
    assert not case.node_of("late")


def test_a_policy_without_preemption_evicts_nobody(case: Case) -> None:
    case.cluster.apply(case.node("n", allocatable=ROOM), case.policy(preemption={"enabled": False}))
    case.cluster.apply(here(case, "low", cpu="3"))
    case.bound("low")
    case.cluster.apply(here(case, "high", cpu="3", priorityClassName="system-cluster-critical"))
    case.told("high", "FailedScheduling")
    assert "deletionTimestamp" not in case.get_pod("low")["metadata"]
    assert "nominatedNodeName" not in case.get_pod("high")["status"]


def here(case: Case, suffix: str, *, cpu: str, metadata: Manifest | None = None, **spec: Any) -> Manifest:
    """Make a pod for the case's own node."""
    return case.pod(
        suffix,
        metadata=metadata,
        requests={"cpu": cpu},
        nodeSelector=case.here(),
        tolerations=TAKES_ALL_NODES,
        **spec,
    )


def kept_by_finalizer(case: Case, suffix: str) -> Manifest:
    """Return metadata of a pod that stays after its deletion until `let_go`."""
    return {**case.pod(suffix)["metadata"], "finalizers": [FINALIZER]}


def let_go(case: Case, suffix: str) -> None:
    """Let a pod go that a finalizer keeps, as its kubelet would after it has ended."""
    name = f"{case.name}-{suffix}"
    case.cluster.kubectl("patch", "pod", name, "--type=merge", '--patch={"metadata": {"finalizers": null}}')
    case.cluster.kubectl("delete", "pod", name, "--force", "--grace-period=0", "--ignore-not-found")


class TestBesideKubeScheduler:
    """The same pods for moorage and for kube-scheduler: both must tell the same of them."""

    @pytest.mark.parametrize(
        "nodes_only", [pytest.param("kube-apiserver", marks=pytest.mark.controlplane)], indirect=True, scope="session"
    )
    def test_what_is_told_of_pods_is_the_same_word_for_word(self, case: Case) -> None:
        control_plane = case.cluster.control_plane
        assert control_plane is not None
        case.live()
        case.cluster.apply(
            *(case.pod(f"{name}-ours", **spec) for name, spec in TROUBLES.items()),
            *(case.pod(f"{name}-theirs", **spec, schedulerName="default-scheduler") for name, spec in TROUBLES.items()),
        )
        with control_plane.start_scheduler():
            eventually(lambda: told_by_name(case, "theirs").keys() == TROUBLES.keys())
        eventually(lambda: told_by_name(case, "ours").keys() == TROUBLES.keys())
        assert told_by_name(case, "ours") == told_by_name(case, "theirs")


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


def told_by_name(case: Case, suffix: str) -> dict[str, dict[str, Any]]:
    """Return what conditions and events tell of the case's pods with that suffix, once both do, by trouble."""
    told: dict[str, dict[str, Any]] = {}
    events = case.events()
    for pod in case.pods():
        name = pod["metadata"]["name"].removeprefix(f"{case.name}-")
        condition = case.conditions(pod).get("PodScheduled")
        notes = [event for event in events if event["regarding"].get("uid") == pod["metadata"]["uid"]]
        if name.endswith(f"-{suffix}") and condition and notes:
            told[name.removesuffix(f"-{suffix}")] = {
                "condition": {key: condition.get(key) for key in ("status", "reason", "message", "observedGeneration")},
                "event": {key: notes[0].get(key) for key in ("type", "reason", "action", "note")},
            }
    return told

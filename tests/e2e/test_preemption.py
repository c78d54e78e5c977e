"""Preemption on a real API server. The audit log shows the operator's requests, their order and the victims."""

from __future__ import annotations

import json
from typing import Any

import pytest

from e2e.audited import REPLICAS, Audited, Write
from e2e.case import Case
from e2e.clusters import Manifest, eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]

ROOM = {"cpu": "4", "memory": "16Gi", "pods": "110"}
SOON = 60.0
"""The limit in seconds for steps that take one or two backoffs."""


class Scene:
    """A case with the priority classes `low`, `middle`, `high` and `polite`; `polite` never preempts."""

    def __init__(self, audited: Audited, case: Case) -> None:
        self.audited = audited
        self.case = case
        levels = {"low": 1, "middle": 10, "high": 100, "polite": 100}
        case.cluster.apply(*(self._priority_class(name, value) for name, value in levels.items()))

    def named(self, suffix: str) -> str:
        return f"{self.case.name}-{suffix}"

    def nodes(self, *suffixes: str) -> None:
        self.case.cluster.apply(*(self.case.node(suffix, allocatable=ROOM) for suffix in suffixes))

    def pod(self, suffix: str, priority: str, *, app: str = "", **spec: Any) -> Manifest:
        """Return a pod that fills one of the case's nodes."""
        made = self.case.pod(
            suffix,
            requests={"cpu": "3"},
            priorityClassName=self.named(priority),
            nodeSelector=self.case.labels(),
            **spec,
        )
        if app:
            made["metadata"]["labels"]["app"] = app
        return made

    def start_running(self, *manifests: Manifest) -> None:
        """Create pods; when each is bound, set its status to running, as its kubelet does."""
        self.case.cluster.apply(*manifests)
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        for manifest in manifests:
            name = manifest["metadata"]["name"]
            self.case.wait_until_bound(name.removeprefix(f"{self.case.name}-"), SOON)
            self.patch_status("pod", name, status)

    def budget(self, app: str, allowed: int) -> None:
        """Create a budget for an app's pods, and set its allowed disruptions as the disruption controller does."""
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}
        metadata = {"name": self.named(app), "labels": self.case.labels()}
        self.case.cluster.apply(
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}
        )
        counts = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, "disruptionsAllowed": allowed}
        self.patch_status("poddisruptionbudget", self.named(app), {**counts, "observedGeneration": 1})

    def patch_status(self, kind: str, name: str, status: Manifest) -> None:
        patch = json.dumps({"status": status})
        self.case.cluster.kubectl("patch", kind, name, "--subresource=status", "--type=merge", f"--patch={patch}")

    def is_terminating(self, suffix: str) -> bool:
        return "deletionTimestamp" in self.case.get_pod(suffix)["metadata"]

    def operator_writes(self, resource: str, suffix: str) -> list[Write]:
        """Return the operator's writes to a pod. This includes refused writes."""
        return [one for one in self.audited.answers(resource, self.named(suffix)) if one.user == REPLICAS[0]]

    def _priority_class(self, suffix: str, value: int) -> Manifest:
        return {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": self.named(suffix), "labels": self.case.labels()},
            "value": value,
            "preemptionPolicy": "Never" if suffix == "polite" else "PreemptLowerPriority",
        }


@pytest.fixture
def scene(audited_operator: Audited, case_with_operator: Case) -> Scene:
    return Scene(audited_operator, case_with_operator)


def test_a_victim_gets_its_condition_before_its_deletion_and_the_preemptor_gets_its_node(scene: Scene) -> None:
    case = scene.case
    case.make_live()
    scene.nodes("n")
    scene.start_running(scene.pod("victim", "low", terminationGracePeriodSeconds=30))
    case.cluster.apply(scene.pod("urgent", "high"))

    eventually(lambda: scene.is_terminating("victim"))
    condition = case.pod_conditions("victim")["DisruptionTarget"]
    assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")
    marked, deleted = scene.operator_writes("pods/status", "victim"), scene.operator_writes("pods", "victim")
    assert [one.verb for one in (*marked, *deleted)] == ["patch", "delete"]
    assert marked[0].seconds < deleted[0].seconds
    eventually(lambda: case.get_pod("urgent")["status"].get("nominatedNodeName") == scene.named("n"))
    assert not case.node_of("urgent")
    case.cluster.kubectl("delete", "pod", scene.named("victim"), "--force", "--grace-period=0")
    assert case.wait_until_bound("urgent", SOON) == scene.named("n")


def test_preemption_prefers_a_node_without_a_budget_violation(scene: Scene) -> None:
    """The victim on that node has the higher priority, but preemption compares budget violations before priorities."""
    case = scene.case
    case.make_live()
    scene.nodes("n1", "n2")
    scene.start_running(scene.pod("guarded", "low", app="db"), scene.pod("free", "middle"))
    scene.budget("db", 0)
    home = case.node_of("free")
    case.cluster.apply(scene.pod("urgent", "high"))

    assert case.wait_until_bound("urgent", SOON) == home
    assert not scene.is_terminating("guarded")


def test_a_pod_preempts_no_pod_if_its_preemption_policy_is_never(scene: Scene) -> None:
    case = scene.case
    case.make_live()
    scene.nodes("n")
    scene.start_running(scene.pod("stays", "low"))
    case.cluster.apply(scene.pod("polite", "polite"))

    assert "not eligible due to preemptionPolicy=Never" in case.wait_for_event(
        "polite", "FailedScheduling", seconds=SOON
    )
    assert not scene.is_terminating("stays")
    assert "nominatedNodeName" not in case.get_pod("polite")["status"]


def test_a_policy_with_preemption_disabled_preempts_no_pod(scene: Scene) -> None:
    case = scene.case
    case.make_live(preemption={"enabled": False})
    scene.nodes("n")
    scene.start_running(scene.pod("stays", "low"))
    case.cluster.apply(scene.pod("urgent", "high"))

    assert "1 Insufficient cpu" in case.wait_for_event("urgent", "FailedScheduling", seconds=SOON)
    assert not scene.is_terminating("stays")


def test_a_strict_policy_evicts_only_when_the_budget_allows_it(scene: Scene) -> None:
    case = scene.case
    case.make_live(preemption={"pdbPolicy": "Strict"})
    scene.nodes("n")
    scene.start_running(scene.pod("guarded", "low", app="db"))
    scene.budget("db", 0)
    case.cluster.apply(scene.pod("urgent", "high"))

    note = case.wait_for_event("urgent", "FailedScheduling", seconds=SOON)
    assert "1 Preemption would violate a PodDisruptionBudget" in note
    assert scene.operator_writes("pods/eviction", "guarded") == []
    assert "nominatedNodeName" not in case.get_pod("urgent")["status"]
    scene.budget("db", 1)
    assert case.wait_until_bound("urgent", SOON) == scene.named("n")
    assert [one.code for one in scene.operator_writes("pods/eviction", "guarded")][-1] == 201
    assert scene.operator_writes("pods", "guarded") == []


def test_a_pod_that_waits_for_a_budget_reserves_no_room(scene: Scene) -> None:
    case = scene.case
    case.make_live(preemption={"pdbPolicy": "Strict"})
    scene.nodes("n")
    scene.start_running(scene.pod("guarded", "low", app="db"))
    scene.budget("db", 0)
    case.cluster.apply(scene.pod("urgent", "high"))
    case.wait_for_event("urgent", "FailedScheduling", seconds=SOON)
    modest = scene.pod("modest", "middle")
    modest["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "500m"
    case.cluster.apply(modest)

    assert case.wait_until_bound("modest", SOON) == scene.named("n")

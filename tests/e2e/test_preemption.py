"""Preemption on a real API server: who goes, how, and in what order, by the audit log."""

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
"""Seconds for what takes a backoff or two."""


class Scene:
    """A case with priority classes `low`, `middle`, `high` and `polite`, which preempts nobody."""

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
        """Make a pod that fills one of the case's nodes."""
        made = self.case.pod(
            suffix, requests={"cpu": "3"}, priorityClassName=self.named(priority), nodeSelector=self.case.here(), **spec
        )
        if app:
            made["metadata"]["labels"]["app"] = app
        return made

    def running(self, *manifests: Manifest) -> None:
        """Create pods, and play their kubelet once they are bound."""
        self.case.cluster.apply(*manifests)
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        for manifest in manifests:
            name = manifest["metadata"]["name"]
            self.case.bound(name.removeprefix(f"{self.case.name}-"), SOON)
            self.patch_status("pod", name, status)

    def budget(self, app: str, allowed: int) -> None:
        """Let so many pods of an app be disrupted, as the disruption controller would say."""
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}
        metadata = {"name": self.named(app), "labels": self.case.here()}
        self.case.cluster.apply(
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}
        )
        counts = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, "disruptionsAllowed": allowed}
        self.patch_status("poddisruptionbudget", self.named(app), {**counts, "observedGeneration": 1})

    def patch_status(self, kind: str, name: str, status: Manifest) -> None:
        patch = json.dumps({"status": status})
        self.case.cluster.kubectl("patch", kind, name, "--subresource=status", "--type=merge", f"--patch={patch}")

    def is_going(self, suffix: str) -> bool:
        return "deletionTimestamp" in self.case.get_pod(suffix)["metadata"]

    def ours(self, resource: str, suffix: str) -> list[Write]:
        """Return what the operator wrote, or tried to, of a pod."""
        return [one for one in self.audited.answers(resource, self.named(suffix)) if one.user == REPLICAS[0]]

    def _priority_class(self, suffix: str, value: int) -> Manifest:
        return {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": self.named(suffix), "labels": self.case.here()},
            "value": value,
            "preemptionPolicy": "Never" if suffix == "polite" else "PreemptLowerPriority",
        }


@pytest.fixture
def scene(attended: Audited, attended_case: Case) -> Scene:
    return Scene(attended, attended_case)


def test_a_victim_is_marked_before_it_is_deleted_and_its_node_is_kept_for_the_preemptor(scene: Scene) -> None:
    case = scene.case
    case.live()
    scene.nodes("n")
    scene.running(scene.pod("victim", "low", terminationGracePeriodSeconds=30))
    case.cluster.apply(scene.pod("urgent", "high"))

    eventually(lambda: scene.is_going("victim"))
    condition = case.pod_conditions("victim")["DisruptionTarget"]
    assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")
    marked, deleted = scene.ours("pods/status", "victim"), scene.ours("pods", "victim")
    assert [one.verb for one in (*marked, *deleted)] == ["patch", "delete"]
    assert marked[0].seconds < deleted[0].seconds
    eventually(lambda: case.get_pod("urgent")["status"].get("nominatedNodeName") == scene.named("n"))
    assert not case.node_of("urgent")
    case.cluster.kubectl("delete", "pod", scene.named("victim"), "--force", "--grace-period=0")
    assert case.bound("urgent", SOON) == scene.named("n")


def test_a_node_is_preferred_on_which_no_budget_is_broken(scene: Scene) -> None:
    """Even though the victim there has the higher priority: budgets count first."""
    case = scene.case
    case.live()
    scene.nodes("n1", "n2")
    scene.running(scene.pod("guarded", "low", app="db"), scene.pod("free", "middle"))
    scene.budget("db", 0)
    home = case.node_of("free")
    case.cluster.apply(scene.pod("urgent", "high"))

    assert case.bound("urgent", SOON) == home
    assert not scene.is_going("guarded")


def test_a_pod_that_preempts_nobody_waits(scene: Scene) -> None:
    case = scene.case
    case.live()
    scene.nodes("n")
    scene.running(scene.pod("stays", "low"))
    case.cluster.apply(scene.pod("polite", "polite"))

    assert "not eligible due to preemptionPolicy=Never" in case.told("polite", "FailedScheduling", seconds=SOON)
    assert not scene.is_going("stays")
    assert "nominatedNodeName" not in case.get_pod("polite")["status"]


def test_where_the_policy_says_so_nobody_is_preempted(scene: Scene) -> None:
    case = scene.case
    case.live(preemption={"enabled": False})
    scene.nodes("n")
    scene.running(scene.pod("stays", "low"))
    case.cluster.apply(scene.pod("urgent", "high"))

    assert "1 Insufficient cpu" in case.told("urgent", "FailedScheduling", seconds=SOON)
    assert not scene.is_going("stays")


def test_a_strict_policy_waits_for_a_budget_that_is_used_up_and_evicts_when_it_is_not(scene: Scene) -> None:
    case = scene.case
    case.live(preemption={"pdbPolicy": "Strict"})
    scene.nodes("n")
    scene.running(scene.pod("guarded", "low", app="db"))
    scene.budget("db", 0)
    case.cluster.apply(scene.pod("urgent", "high"))

    told = case.told("urgent", "FailedScheduling", seconds=SOON)
    assert "1 Preemption would violate a PodDisruptionBudget" in told
    assert scene.ours("pods/eviction", "guarded") == []
    assert "nominatedNodeName" not in case.get_pod("urgent")["status"]
    scene.budget("db", 1)
    assert case.bound("urgent", SOON) == scene.named("n")
    assert [one.code for one in scene.ours("pods/eviction", "guarded")][-1] == 201
    assert scene.ours("pods", "guarded") == []


def test_room_that_a_budget_keeps_from_a_pod_of_a_strict_policy_is_not_kept_from_others(scene: Scene) -> None:
    case = scene.case
    case.live(preemption={"pdbPolicy": "Strict"})
    scene.nodes("n")
    scene.running(scene.pod("guarded", "low", app="db"))
    scene.budget("db", 0)
    case.cluster.apply(scene.pod("urgent", "high"))
    case.told("urgent", "FailedScheduling", seconds=SOON)
    modest = scene.pod("modest", "middle")
    modest["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "500m"
    case.cluster.apply(modest)

    assert case.bound("modest", SOON) == scene.named("n")

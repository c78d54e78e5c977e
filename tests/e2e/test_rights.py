"""Real RBAC: an operator that lacks a rule of the chart reports it, and continues when an admin grants the rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.component import Component, ControlPlaneError
from controlplane.launcher import ControlPlane
from e2e.case import Case, case_of
from e2e.clusters import Cluster, eventually, real_cluster
from processes import operator, started

pytestmark = [pytest.mark.slow, pytest.mark.controlplane]

USER = "moorage-with-rules"
RBAC = Path(__file__).parents[2] / "charts/moorage/templates/rbac.yaml"
CASES = count(1)
LEASES = [
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": [verb]}
    for verb in ("get", "create", "update")
]
"""The chart's Role for the Lease."""
PRIORITY = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "above"}, "value": 1000}


def chart_rules() -> list[dict[str, Any]]:
    """Return the rules of the operator's ClusterRole, one for each resource and verb."""
    role = RBAC.read_text(encoding="utf-8").partition("\n---\n")[0]
    rules = [yaml.safe_load(line.strip("- \n")) for line in role.splitlines() if line.startswith("  - {")]
    return [
        {"apiGroups": rule["apiGroups"], "resources": [resource], "verbs": [verb]}
        for rule in rules
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


@dataclass(frozen=True, slots=True)
class Guarded:
    """A cluster in which the test chooses the rules of the operator's user."""

    cluster: Cluster
    kubeconfig: Path

    def grant(self, *, without: tuple[str, ...] = (), without_verb: str = "") -> None:
        """Grant all rules except the rules for the resources `without`. With `without_verb`, omit only this verb."""
        everything = [*chart_rules(), *LEASES]
        rules = [
            rule
            for rule in everything
            if rule["resources"][0] not in without or without_verb not in {"", *rule["verbs"]}
        ]
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "rules"},
            "rules": rules,
        }
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "rules"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "rules"},
            "subjects": [{"kind": "User", "name": USER, "apiGroup": "rbac.authorization.k8s.io"}],
        }
        self.cluster.apply(role, binding)

    @contextmanager
    def operator(self, directory: Path) -> Iterator[Component]:
        component = operator(self.kubeconfig, directory, self.cluster.ports, ready="/healthz")
        with started(component):
            yield component

    @contextmanager
    def case(self) -> Iterator[Case]:
        with case_of(self.cluster, f"rights-{next(CASES)}") as case:
            yield case


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    control_plane = ControlPlane()
    control_plane.add_user(USER)
    with real_cluster(tmp_path_factory.mktemp("rights"), control_plane) as cluster:
        cluster.apply(PRIORITY)
        yield Guarded(cluster, control_plane.kubeconfig_of(USER))


def names(operator: Component, words: str) -> None:
    """Assert that the answer of /readyz contains `words`."""
    try:
        answer = operator.endpoint.read("/readyz")
    except ControlPlaneError as error:
        answer = str(error)
    assert words in answer


def test_an_operator_works_with_the_rules_of_the_chart(guarded: Guarded, tmp_path: Path) -> None:
    guarded.grant()
    with guarded.operator(tmp_path) as moorage, guarded.case() as case:
        case.make_live()
        case.cluster.apply(case.pod("p"))
        case.wait_until_bound("p")
        eventually(lambda: names(moorage, "ok"))
        assert "is forbidden" not in moorage.log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("resource", "verb", "ready"), [("pods/binding", "create", "False"), ("pods/status", "patch", "True")]
)
def test_the_operator_reports_a_refused_write_everywhere(
    guarded: Guarded, tmp_path: Path, resource: str, verb: str, ready: str
) -> None:
    guarded.grant(without=(resource,))
    rule = f'moorage may not {verb} {resource}: add the rule {{apiGroups: [""], resources: ["{resource}"]'
    with guarded.operator(tmp_path) as moorage, guarded.case() as case:
        case.cluster.apply(case.policy(), case.pod("p"), case.pod("large", requests={"cpu": "900"}))
        eventually(lambda: names(moorage, rule))
        eventually(lambda: case.policy_conditions()["Degraded"]["reason"] == "Forbidden")
        conditions = case.policy_conditions()
        assert rule in conditions["Degraded"]["message"]
        assert conditions["Ready"]["status"] == ready
        assert moorage.log.read_text(encoding="utf-8").count(f"may not {verb} {resource}:") == 1
        guarded.grant()
        case.wait_until_bound("p")
        eventually(lambda: names(moorage, "ok"))
        eventually(lambda: case.policy_conditions()["Degraded"]["status"] == "False")
        eventually(lambda: case.pod_conditions("large")["PodScheduled"]["reason"] == "Unschedulable")


@pytest.mark.parametrize(
    ("resource", "verb"),
    [
        ("events", "create"),
        ("schedulingpolicies/status", "patch"),
        ("schedulingpolicies", "watch"),
        ("leases", "get"),
        ("leases", "update"),
        ("pods", "delete"),
        ("pods/eviction", "create"),
    ],
)
def test_the_operator_names_each_missing_rule_until_it_is_granted(
    guarded: Guarded, tmp_path: Path, resource: str, verb: str
) -> None:
    guarded.grant(without=(resource,), without_verb=verb)
    with guarded.operator(tmp_path) as moorage, guarded.case() as case:
        small_node(case, "only")
        pod = partial(case.pod, nodeSelector=case.labels(), requests={"cpu": "800m"})
        spec: dict[str, Any] = {"preemption": {"pdbPolicy": "Strict"}} if resource == "pods/eviction" else {}
        case.cluster.apply(case.policy(**spec), pod("low"))
        if resource != "leases":
            case.wait_until_bound("low")
        case.cluster.apply(pod("high", priorityClassName="above"))
        eventually(lambda: names(moorage, f"moorage may not {verb} {resource}: add the rule"))
        guarded.grant()
        eventually(lambda: names(moorage, "ok"))
        case.wait_until_bound("high", 60)


def small_node(case: Case, suffix: str) -> None:
    """Create a node with room for one of the pods."""
    capacity = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    case.cluster.apply(case.node(suffix, labels=case.labels()))
    status = json.dumps({"status": {"allocatable": capacity, "capacity": capacity}})
    name = f"{case.name}-{suffix}"
    case.cluster.kubectl("patch", "node", name, "--subresource=status", "--type=merge", f"--patch={status}")


def test_a_new_budget_guards_its_pods_after_a_restart_of_the_api_server(guarded: Guarded, tmp_path: Path) -> None:
    guarded.grant()
    apiserver = guarded.cluster.apiserver
    assert apiserver is not None
    with guarded.operator(tmp_path) as moorage, guarded.case() as case:
        for suffix in ("guarded", "other"):
            small_node(case, suffix)
        pod = partial(case.pod, nodeSelector=case.labels(), requests={"cpu": "800m"})
        case.cluster.apply(case.policy(), pod("first"), pod("second"))
        case.wait_until_bound("first")
        case.wait_until_bound("second")
        case.cluster.kubectl("label", "pod", f"{case.name}-first", "guarded=yes")
        apiserver.kill()
        apiserver.start()
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": case.name, "labels": case.labels()},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"guarded": "yes"}}},
        }
        case.cluster.apply(budget)
        case.cluster.apply(pod("high", priorityClassName="above"))
        case.wait_until_bound("high", 60)
        assert case.node_of("first")
        eventually(lambda: names(moorage, "ok"))


@pytest.mark.parametrize(
    ("kind", "fields", "wrong"),
    [
        (
            "persistentvolumeclaims",
            {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
            "not found",
        ),
        ("deviceclasses", {"requests": {"example.com/unknown-device": "1"}}, "Insufficient example.com/unknown-device"),
    ],
)
def test_a_pods_condition_names_a_needed_kind_that_the_operator_may_not_list(
    guarded: Guarded, tmp_path: Path, kind: str, fields: dict[str, Any], wrong: str
) -> None:
    guarded.grant(without=(kind,))
    with guarded.operator(tmp_path) as moorage, guarded.case() as case:
        case.cluster.apply(case.policy(), case.pod("needy", **fields), case.pod("plain"))
        case.wait_until_bound("plain")
        eventually(lambda: case.pod_conditions("needy")["PodScheduled"]["reason"] == "SchedulerError")
        condition = case.pod_conditions("needy")["PodScheduled"]
        assert f"moorage may not list {kind}" in condition["message"]
        assert wrong not in condition["message"]
        names(moorage, f"moorage may not list {kind}")
        guarded.grant()
        eventually(lambda: wrong in case.pod_conditions("needy")["PodScheduled"]["message"])
        eventually(lambda: names(moorage, "ok"))


def test_preemption_waits_until_the_operator_may_list_budgets(guarded: Guarded, tmp_path: Path) -> None:
    guarded.grant(without=("poddisruptionbudgets",))
    with guarded.operator(tmp_path) as moorage, guarded.case() as case:
        small_node(case, "small")
        where: dict[str, Any] = {"nodeSelector": case.labels(), "requests": {"cpu": "800m"}}
        case.cluster.apply(case.policy(), case.pod("low", **where))
        case.wait_until_bound("low")
        case.cluster.apply(case.pod("high", priorityClassName="above", **where))
        case.wait_for_event("high", "FailedScheduling")
        assert "waits for disruption budgets" in case.wait_for_event("high", "FailedScheduling")
        names(moorage, "moorage may not list poddisruptionbudgets")
        assert "deletionTimestamp" not in case.get_pod("low")["metadata"]
        guarded.grant()
        case.wait_until_bound("high", 60)
        eventually(lambda: names(moorage, "ok"))


def test_readiness_names_every_kind_that_the_operator_may_not_list(guarded: Guarded, tmp_path: Path) -> None:
    kinds = tuple(dict.fromkeys(rule["resources"][0] for rule in chart_rules() if rule["verbs"] == ["list"]))
    guarded.grant(without=kinds)
    with guarded.operator(tmp_path) as moorage:
        for kind in kinds:
            eventually(partial(names, moorage, f"may not list {kind}"))
        guarded.grant()
        eventually(lambda: names(moorage, "ok"))

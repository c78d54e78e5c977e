"""Limits for authors of policies, with the chart's settings: schedulerNames, namespaces and roles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from controlplane.component import Component
from controlplane.launcher import ControlPlane
from e2e.case import LABEL, SOON_SECONDS, Case
from e2e.clusters import Manifest, as_text, eventually
from moorage.api.crd import crd

CHART = Path(__file__).parents[2] / "charts" / "moorage"
NOWHERE = {"matchLabels": {"example.com/no": "such"}}


def of_chart(template: str, values: dict[str, Any] | None = None) -> list[Manifest]:
    helm = pytest.importorskip("helm_python", reason="no helm wheel for this platform")
    files = helm.Chart.load(str(CHART)).render(values or {}, name="moorage", namespace="moorage-system")
    (text,) = (text for name, text in files.items() if name.endswith(f"/{template}"))
    return [document for document in yaml.safe_load_all(text) if document]


def set_label(case: Case, value: str) -> None:
    """Set the label `case.name` of the namespace `default`. An empty value removes the label."""
    label = f"{case.name}={value}" if value else f"{case.name}-"
    case.cluster.kubectl("label", "namespace", "default", label, "--overwrite")


def not_allowed(case: Case) -> int:
    return int(case.get_policy()["status"]["pods"]["notAllowed"])


def test_pods_of_a_namespace_wait_until_its_labels_or_the_policy_allow_it(case: Case) -> None:
    case.make_live(allowedNamespaces={"matchExpressions": [{"key": case.name, "operator": "In", "values": ["yes"]}]})
    case.cluster.apply(case.pod("p"), case.pod("q"))

    note = case.wait_for_event("p", "NamespaceNotAllowed")
    assert f"SchedulingPolicy {case.name} does not allow namespace default" in note
    eventually(lambda: case.pod_conditions("p")["PodScheduled"]["reason"] == "NamespaceNotAllowed", SOON_SECONDS)
    assert case.pod_conditions("p")["PodScheduled"]["status"] == "False"
    eventually(lambda: not_allowed(case) == 2, SOON_SECONDS)
    assert case.get_policy()["status"]["pods"]["pending"] == 0

    set_label(case, "yes")
    assert case.wait_until_bound("p")
    eventually(lambda: not_allowed(case) == 0, SOON_SECONDS)

    set_label(case, "no")
    case.cluster.apply(case.pod("r"))
    case.wait_for_event("r", "NamespaceNotAllowed")
    case.make_live(allowedNamespaces={})
    assert case.wait_until_bound("r")
    set_label(case, "")


def test_the_field_of_a_policy_alone_does_not_allow_the_name_default_scheduler(case: Case) -> None:
    spec: Manifest = {
        "schedulerName": "default-scheduler",
        "allowDefaultScheduler": True,
        "filters": {"nodeSelector": NOWHERE},
    }
    case.cluster.apply(case.policy(**spec), case.pod("p", schedulerName="default-scheduler"))
    eventually(lambda: case.policy_conditions()["Accepted"]["reason"] == "NameNotAllowed", SOON_SECONDS)
    assert "--allow-default-scheduler" in case.policy_conditions()["Accepted"]["message"]

    case.cluster.apply(case.policy("-2"), case.pod("q", schedulerName=f"{case.name}-2"))
    assert case.wait_until_bound("q")
    assert case.get_policy()["status"]["pods"]["pending"] == 0
    assert "PodScheduled" not in case.pod_conditions("p")
    assert [event for event in case.events() if event["regarding"]["name"] == f"{case.name}-p"] == []


def test_metrics_have_no_series_of_deleted_policies(case: Case, operator: Component) -> None:
    names = [f"-short-lived-{number}" for number in range(8)]
    case.cluster.apply(*(case.policy(name) for name in names))
    pods = [case.pod(name.strip("-"), schedulerName=f"{case.name}{name}") for name in names]
    case.cluster.apply(*pods)
    for name in names:
        case.wait_until_bound(name.strip("-"))

    def profiles() -> set[str]:
        with urlopen(f"{operator.endpoint.url}/metrics") as answer:
            families = text_string_to_metric_families(answer.read().decode())
            return {
                each.labels["profile"] for family in families for each in family.samples if "profile" in each.labels
            }

    assert {f"{case.name}{name}" for name in names} <= profiles()
    case.cluster.kubectl("delete", "schedulingpolicies", f"--selector={LABEL}={case.name}")
    eventually(lambda: not any(each.startswith(f"{case.name}-short-lived") for each in profiles()), SOON_SECONDS)


@pytest.fixture
def guarded(case_with_operator: Case) -> Iterator[Case]:
    """A case in a real cluster with the chart's admission policy."""
    objects = of_chart("admission.yaml", {"admission": {"enabled": True}})
    case_with_operator.cluster.apply(*objects)
    yield case_with_operator
    case_with_operator.cluster.kubectl("delete", "--filename=-", text=as_text(*objects))


@pytest.mark.controlplane
@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"LABEL": "yes"}},
        {"matchExpressions": [{"key": "LABEL", "operator": "In", "values": ["yes", "si"]}]},
        {"matchExpressions": [{"key": "LABEL", "operator": "Exists"}]},
        {
            "matchLabels": {"kubernetes.io/metadata.name": "default"},
            "matchExpressions": [
                {"key": "LABEL", "operator": "NotIn", "values": ["no"]},
                {"key": "LABEL", "operator": "Exists"},
                {"key": "example.com/none", "operator": "DoesNotExist"},
            ],
        },
    ],
)
def test_the_charts_admission_policy_refuses_the_pods_that_the_operator_would_hold(
    guarded: Case, selector: dict[str, Any]
) -> None:
    allowed = yaml.safe_load(yaml.safe_dump(selector).replace("LABEL", guarded.name))
    guarded.make_live(allowedNamespaces=allowed)

    def refuses() -> bool:
        done = guarded.cluster.run("apply", "--dry-run=server", "--filename=-", text=as_text(guarded.pod("p")))
        return f"SchedulingPolicy {guarded.name} does not allow namespace default" in done.stderr

    eventually(refuses, SOON_SECONDS)
    set_label(guarded, "yes")
    eventually(lambda: not refuses(), SOON_SECONDS)
    guarded.cluster.apply(guarded.pod("p"))
    assert guarded.wait_until_bound("p")
    set_label(guarded, "")


@pytest.mark.controlplane
def test_the_admission_policy_counts_only_policies_that_the_operator_has_accepted(guarded: Case) -> None:
    # Otherwise, an author could make the API server refuse all pods of another scheduler.
    guarded.make_live(allowedNamespaces=NOWHERE)
    guarded.make_live("-open")
    rival = guarded.policy("-rival", schedulerName=f"{guarded.name}-open", allowedNamespaces=NOWHERE)
    guarded.cluster.apply(rival)
    eventually(lambda: guarded.policy_conditions("-rival")["Accepted"]["reason"] == "NameConflict", SOON_SECONDS)
    # Without the dry run, the first try could create the pod, and the next ones would change nothing.
    create = ("create", "--dry-run=server", "--filename=-")
    refused = as_text(guarded.pod("p"))
    eventually(lambda: guarded.cluster.run(*create, text=refused).returncode == 1, SOON_SECONDS)
    guarded.cluster.apply(guarded.pod("q", schedulerName=f"{guarded.name}-open"))
    assert guarded.wait_until_bound("q")


@pytest.mark.controlplane
def test_the_role_view_may_read_policies_and_only_the_policy_editor_may_write_policies(
    control_plane: ControlPlane,
) -> None:
    control_plane.start_controller_manager(["clusterrole-aggregation-controller"])
    bindings = [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"tenancy-{user}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }
        for user, role in {"viewer": "view", "admin": "admin", "author": "moorage-policy-editor"}.items()
    ]
    roles = [each for each in of_chart("rbac.yaml") if each["kind"] == "ClusterRole"]
    control_plane.kubectl("apply", "--server-side", "--filename=-", input=as_text(crd(), *roles, *bindings))

    def may(user: str, verb: str, subresource: str = "") -> bool:
        asked = ("schedulingpolicies.scheduling.moorage.dev", f"--subresource={subresource}", f"--as={user}")
        answer = control_plane.kubectl("auth", "can-i", verb, *asked, check=False)
        return answer.stdout.strip() == "yes"

    eventually(lambda: may("viewer", "list") and may("admin", "watch"), SOON_SECONDS)
    for verb in ("create", "update", "patch", "delete"):
        assert may("author", verb)
        assert not may("author", verb, "status")
        assert not may("viewer", verb)
        assert not may("admin", verb)

"""The rendered chart: objects are valid, permissions are minimal, and the pod meets the "restricted" standard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from moorage.api import crd as crds
from moorage.configuration.loading import load

helm = pytest.importorskip("helm_python", reason="no helm wheel for this platform")

CHART = Path(__file__).parents[2] / "charts" / "moorage"
KUBERNETES_VERSION = "1.36"
READ = {"get", "list", "watch"}


def render(values: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    files = helm.Chart.load(str(CHART)).render(values or {}, name="moorage", namespace="moorage-system")
    return [
        document
        for name, text in files.items()
        if name.endswith(".yaml")
        for document in yaml.safe_load_all(text)
        if document
    ]


def one(kind: str, objects: list[dict[str, Any]], name: str = "") -> dict[str, Any]:
    (found,) = [object_ for object_ in objects if object_["kind"] == kind and name in {"", object_["metadata"]["name"]}]
    return found


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"rbac": {"create": False}, "serviceAccount": {"create": False}, "crds": {"enabled": False}},
        {"allowDefaultScheduler": True, "podLabels": {"a": "b"}, "config": {"parallelism": 4}},
        {"podDisruptionBudget": {"enabled": False}, "image": {"digest": "sha256:00"}},
        {"leaderElection": {"enabled": False}, "replicaCount": 1, "global": {"anything": 1}},
        {
            "reservedSchedulerNames": ["volcano", "batch-*"],
            "forbidCanaries": True,
            "policyExtenders": ["extender:8888", "*.example.com", "[fd00::7]:1"],
            "policyExtenderTlsSecrets": ["team-a", "team.b"],
            "admission": {"enabled": True},
        },
        {"recording": {"enabled": True}},
        {"recording": {"enabled": True, "onRequest": True, "size": "500Mi", "existingClaim": "records"}},
        {"metrics": {"service": {"enabled": True, "annotations": {"a": "b"}}}, "fullnameOverride": "m" * 63},
    ],
)
def test_every_rendered_object_is_valid(values: dict[str, Any]) -> None:
    for object_ in render(values):
        kubernetes_validate.validate(object_, KUBERNETES_VERSION, strict=True)


def test_helm_lint_finds_no_errors() -> None:
    assert helm.lint(str(CHART))["errors"] == []


def test_the_pod_meets_the_restricted_standard_and_uses_the_default_scheduler() -> None:
    pod = one("Deployment", render())["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["schedulerName"] == "default-scheduler"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_operators_role_has_no_wildcards_and_allows_only_the_deletion_of_pods() -> None:
    rules = one("ClusterRole", render(), "moorage")["rules"]
    assert all("*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"] for rule in rules)
    deletes = [rule["resources"] for rule in rules if "delete" in rule["verbs"]]
    assert deletes == [["pods"]]
    assert not any("secrets" in rule["resources"] for rule in rules)
    writes_to_nodes = [rule for rule in rules if "nodes" in rule["resources"] and set(rule["verbs"]) - READ]
    assert not writes_to_nodes


def test_the_metrics_reader_role_allows_only_reading_metrics() -> None:
    reader = one("ClusterRole", render(), "moorage-metrics-reader")
    assert reader["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]


def test_the_roles_of_moorage_why_allow_access_only_to_the_operator_and_its_lease() -> None:
    objects = render()
    asker, lease = (one("Role", objects, f"moorage-{name}") for name in ("why", "why-lease"))
    assert asker["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["create"]},
    ]
    assert asker["metadata"]["namespace"] != lease["metadata"]["namespace"] == "kube-system"
    assert [(rule["resourceNames"], rule["verbs"]) for rule in lease["rules"]] == [(["moorage"], ["get"])]
    subjects = [object_["roleRef"]["name"] for object_ in objects if object_["kind"].endswith("RoleBinding")]
    assert not [name for name in subjects if "why" in name]


def test_the_optional_metrics_service_selects_the_operators_pods() -> None:
    objects = render({"metrics": {"service": {"enabled": True}}})
    service, template = one("Service", objects)["spec"], one("Deployment", objects)["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert service["selector"].items() <= template["metadata"]["labels"].items()
    assert service["ports"][0]["targetPort"] in {port["name"] for port in container["ports"]}
    assert not [object_ for object_ in render() if object_["kind"] == "Service"]


def test_the_role_view_may_read_policies_and_no_default_role_may_write_policies() -> None:
    viewer, editor = (one("ClusterRole", render(), f"moorage-policy-{role}") for role in ("viewer", "editor"))
    aggregated = {key for key in viewer["metadata"]["labels"] if "aggregate-to" in key}
    assert aggregated == {"rbac.authorization.k8s.io/aggregate-to-view"}
    assert not [key for key in editor["metadata"]["labels"] if "aggregate-to" in key]
    assert set(viewer["rules"][0]["verbs"]) == READ
    for role in (viewer, editor):
        assert [rule["resources"] for rule in role["rules"]] == [["schedulingpolicies"]]


def test_the_operator_has_no_flags_for_policies_by_default() -> None:
    (container,) = one("Deployment", render())["spec"]["template"]["spec"]["containers"]
    flags = ("--allow-default-scheduler", "--policy-extender", "--reserved-scheduler-names")
    assert not [argument for argument in container["args"] if argument.startswith(flags)]


def test_the_values_for_policies_become_flags_and_mounts() -> None:
    values = {
        "reservedSchedulerNames": ["batch-*"],
        "policyExtenders": ["a:1", "*.b"],
        "policyExtenderTlsSecrets": ["team-a"],
    }
    pod = one("Deployment", render(values))["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {
        "--reserved-scheduler-names=batch-*",
        "--policy-extenders=a:1",
        "--policy-extenders=*.b",
        "--policy-extender-tls-dir=/run/moorage/policy-extenders",
    } <= set(container["args"])
    (mount,) = [each for each in container["volumeMounts"] if each["mountPath"].startswith("/run/")]
    assert mount == {
        "name": "policy-extender-tls-0",
        "mountPath": "/run/moorage/policy-extenders/team-a",
        "readOnly": True,
    }
    (volume,) = [each for each in pod["volumes"] if each["name"] == mount["name"]]
    assert volume["secret"]["secretName"] == "team-a"


def test_a_recording_goes_to_a_volume_that_the_operator_can_write() -> None:
    for claim in ("", "records"):
        pod = one("Deployment", render({"recording": {"enabled": True, "existingClaim": claim}}))["spec"]["template"][
            "spec"
        ]
        (container,) = pod["containers"]
        assert {"--record=/var/lib/moorage/recording", "--record-size=1Gi"} <= set(container["args"])
        (mount,) = [each for each in container["volumeMounts"] if each["name"] == "recording"]
        assert mount["mountPath"] == "/var/lib/moorage/recording"
        assert "readOnly" not in mount
        assert mount.get("subPathExpr", "") == ("$(POD_NAME)" if claim else "")
        (volume,) = [each for each in pod["volumes"] if each["name"] == "recording"]
        assert volume.get("persistentVolumeClaim", {}).get("claimName", "") == claim
        assert pod["securityContext"].get("fsGroup") == (65532 if claim else None)


def test_nothing_is_recorded_by_default() -> None:
    text = json.dumps(render())
    assert "recording" not in text
    assert "--record" not in text


@pytest.mark.parametrize(
    ("values", "lease"),
    [
        ({}, ("kube-system", "moorage")),
        ({"fullnameOverride": "m"}, ("kube-system", "moorage")),
        ({"leaderElection": {"resourceName": "a", "resourceNamespace": "b"}}, ("b", "a")),
        ({"config": {"leaderElection": {"resourceName": "a", "resourceNamespace": "b"}}}, ("b", "a")),
        ({"config": {"leaderElection": {"resourceName": "kube-scheduler"}}}, ("kube-system", "moorage")),
    ],
)
def test_the_role_allows_the_lease_that_the_operator_uses(values: dict[str, Any], lease: tuple[str, str]) -> None:
    objects = render(values)
    binding = one("RoleBinding", objects)
    role = one("Role", objects, binding["roleRef"]["name"])
    rule = next(rule for rule in role["rules"] if "resourceNames" in rule)
    assert (role["metadata"]["namespace"], *rule["resourceNames"]) == lease
    assert binding["metadata"]["namespace"] == lease[0]
    assert binding["subjects"][0]["namespace"] == "moorage-system"
    election = load(one("ConfigMap", objects)["data"]["config.yaml"], known_plugins=()).configuration.leader_election
    assert (election.resource_namespace, election.resource_name) == lease


def test_strict_certificate_verification_is_optional() -> None:
    for values, expected in (({}, False), ({"tlsStrict": True}, True)):
        (container,) = one("Deployment", render(values))["spec"]["template"]["spec"]["containers"]
        assert ("--tls-strict" in container["args"]) is expected


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"replicas": 3}, "replicas"),
        ({"image": {"tagg": "1"}}, "tagg"),
        ({"image": {"tag": 1.2}}, "/image/tag"),
        ({"leaderElection": {"leaseDuration": 15}}, "/leaderElection/leaseDuration"),
        ({"config": None}, "config"),
        ({"config": {"leaderElection": None}}, "/config/leaderElection"),
        ({"image": None}, "image"),
        ({"image": {"repository": ""}}, "/image/repository"),
        ({"podLabels": {"a": 1}}, "/podLabels/a"),
        ({"policyExtenders": ["http://x"]}, "/policyExtenders/0"),
        ({"policyExtenders": ["*"]}, "/policyExtenders/0"),
        ({"recording": {"size": "many"}}, "/recording/size"),
        ({"policyExtenderTlsSecrets": ["../x"]}, "/policyExtenderTlsSecrets/0"),
    ],
)
def test_an_invalid_value_is_refused_with_its_name(values: dict[str, Any], named: str) -> None:
    with pytest.raises(helm.HelmError, match="schema") as refused:
        render(values)
    assert named in str(refused.value)


def test_the_values_schema_has_every_default_value() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert schema["properties"].keys() - {"global"} == values.keys() == set(schema["required"])


@pytest.mark.parametrize(
    "values", [{"leaderElection": {"enabled": False}}, {"config": {"leaderElection": {"leaderElect": False}}}]
)
def test_the_chart_refuses_several_replicas_without_leader_election(values: dict[str, Any]) -> None:
    with pytest.raises(helm.HelmError, match=r"set leaderElection\.enabled to true, or replicaCount to 1"):
        render(values)
    alone = one("Deployment", render({**values, "replicaCount": 1}))["spec"]
    assert alone["strategy"] == {"type": "Recreate"}


def test_the_operator_accepts_the_configuration_file() -> None:
    text = one("ConfigMap", render({"config": {"percentageOfNodesToScore": 30}}))["data"]["config.yaml"]
    loaded = load(text, known_plugins=())
    assert loaded.configuration.percentage_of_nodes_to_score == 30


def test_the_crd_in_the_chart_matches_the_models() -> None:
    assert (CHART / "templates" / "crd.yaml").read_text(encoding="utf-8") == crds.render_chart_template()


def test_uninstalling_keeps_the_crd_unless_keep_is_false() -> None:
    keep = "helm.sh/resource-policy"
    assert one("CustomResourceDefinition", render())["metadata"]["annotations"][keep] == "keep"
    not_kept = one("CustomResourceDefinition", render({"crds": {"keep": False}}))
    assert keep not in not_kept["metadata"].get("annotations", {})

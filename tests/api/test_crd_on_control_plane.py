"""The CRD on a real API server: CEL costs, defaults, validation and descriptions."""

import json
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from api.samples import ACCEPTED, PATHS_OF_CEL, REFUSED, WHOLE, Spec, policy
from controlplane.launcher import ControlPlane
from moorage.api.crd import NAME, render
from moorage.api.v1alpha1 import API_VERSION, PLURAL, parse_policy

pytestmark = pytest.mark.controlplane


@pytest.fixture(scope="module")
def served(control_plane: ControlPlane) -> ControlPlane:
    """The control plane with the CRD."""
    control_plane.install(render())
    return control_plane


@pytest.fixture
def empty(served: ControlPlane) -> Iterator[ControlPlane]:
    yield served
    served.kubectl("delete", PLURAL, "--all")


def apply(server: ControlPlane, spec: Spec, name: str = "sample") -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(
        server.kubectl("apply", "-o", "json", "-f", "-", input=json.dumps(policy(spec, name))).stdout
    )
    return answer


def listed(manifests: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})


def refusal(server: ControlPlane, spec: Spec, name: str = "sample") -> str:
    manifest = json.dumps(policy(spec, name))
    result = server.kubectl("apply", "--dry-run=server", "-f", "-", input=manifest, check=False)
    assert result.returncode != 0, f"accepted: {manifest}"
    return result.stderr


def test_the_crd_is_established_and_structural(served: ControlPlane) -> None:
    crd = json.loads(served.kubectl("get", "crd", NAME, "-o", "json").stdout)
    conditions = {condition["type"]: condition["status"] for condition in crd["status"]["conditions"]}
    assert conditions.get("Established") == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"


def test_every_valid_sample_is_accepted_and_read_back_unchanged(empty: ControlPlane) -> None:
    manifests = [policy(spec, name) for name, spec in ACCEPTED.items()]
    answer = empty.kubectl("apply", "-o", "json", "-f", "-", input=listed(manifests)).stdout
    stored = {manifest["metadata"]["name"]: manifest for manifest in json.loads(answer)["items"]}
    for name, spec in ACCEPTED.items():
        assert parse_policy(stored[name]).spec == parse_policy(policy(spec, name)).spec, name


def lists_in(value: Any, path: str = "") -> Iterator[tuple[str, list[Any]]]:
    if isinstance(value, list):
        yield path, value
    for name, child in value.items() if isinstance(value, dict) else ():
        yield from lists_in(child, f"{path}.{name}")


def test_lists_are_stored_as_applied(empty: ControlPlane) -> None:
    # The sample with nulls is left out, because server-side apply sends nulls, and the API server refuses them.
    manifests = [policy(spec, name) for name, spec in ACCEPTED.items() if name != "nulls-are-absent"]
    answer = empty.kubectl("apply", "--server-side", "-o", "json", "-f", "-", input=listed(manifests)).stdout
    for stored in json.loads(answer)["items"]:
        found = dict(lists_in(stored["spec"]))
        applied = dict(lists_in(ACCEPTED[stored["metadata"]["name"]]))
        assert {path: found[path] for path in applied} == applied
    assert empty.kubectl("diff", "--server-side", "-f", "-", input=listed(manifests)).stdout == ""


@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client-side", "server-side"])
@pytest.mark.parametrize("without", [{}, {"spec": None}], ids=["absent", "null"])
def test_a_policy_without_a_spec_is_stored_with_the_defaults(
    empty: ControlPlane, without: dict[str, Any], flags: tuple[str, ...]
) -> None:
    manifest = {key: value for key, value in policy({}).items() if key != "spec"} | without
    answer = empty.kubectl("apply", *flags, "-o", "json", "-f", "-", input=json.dumps(manifest)).stdout
    stored = json.loads(answer)
    assert parse_policy(stored).spec == parse_policy(policy({})).spec
    assert stored["spec"]["preset"] == "Default"


@pytest.mark.parametrize("name", REFUSED)
def test_an_invalid_sample_is_refused_with_its_path(served: ControlPlane, name: str) -> None:
    path, spec = REFUSED[name]
    request = Request(
        f"{served.server}/apis/{API_VERSION}/{PLURAL}?dryRun=All&fieldValidation=Strict",
        data=json.dumps(policy(spec)).encode(),
        headers={"Authorization": f"Bearer {served.token}", "Content-Type": "application/json"},
    )
    with pytest.raises(HTTPError) as caught:
        urlopen(request, context=ssl.create_default_context(cafile=served.ca_file), timeout=10)
    with caught.value as answer:
        assert PATHS_OF_CEL.get(name, path) in json.load(answer)["message"]


def test_the_api_server_writes_defaults(empty: ControlPlane) -> None:
    spec = apply(empty, {"lifecycle": {}, "gpu": {}})["spec"]
    assert spec == {
        "allowDefaultScheduler": False,
        "filters": {"serverlessNodes": "Exclude"},
        "mode": "Active",
        "gpu": {
            "podsWithGpu": "Pack",
            "podsWithoutGpu": "Avoid",
            "resources": ["nvidia.com/gpu", "amd.com/gpu"],
        },
        "lifecycle": {"podLabel": "lifecycle-preference", "prefer": "spot"},
        "paused": False,
        "preemption": {"enabled": True, "pdbPolicy": "BestEffort"},
        "preset": "Default",
    }


def test_the_scheduler_name_is_immutable(empty: ControlPlane) -> None:
    apply(empty, {})
    apply(empty, {"schedulerName": "sample"})
    assert "spec.schedulerName: Invalid value" in refusal(empty, {"schedulerName": "other"})
    assert "schedulerName is immutable" in refusal(empty, {"schedulerName": "other"})


def test_long_names_and_the_name_default_scheduler_are_refused(served: ControlPlane) -> None:
    assert "metadata.name" in refusal(served, {}, name="a" * 64)
    assert "allowDefaultScheduler" in refusal(served, {}, name="default-scheduler")


def test_a_new_policy_is_shown_with_ready_unknown(empty: ControlPlane) -> None:
    apply(empty, WHOLE)
    header, row = empty.kubectl("get", "schedpol").stdout.splitlines()
    assert header.split() == ["NAME", "SCHEDULER", "READY", "PENDING", "BOUND", "UNSCHEDULABLE", "AGE"]
    assert row.split()[:2] == ["sample", "Unknown"]
    wide = empty.kubectl("get", "scheduling", "-o", "wide").stdout
    assert "no operator has read this policy yet" in wide


def test_policies_are_selected_by_scheduler_name(empty: ControlPlane) -> None:
    apply(empty, {"schedulerName": "first"}, "one")
    apply(empty, {"schedulerName": "second"}, "two")
    selected = empty.kubectl("get", PLURAL, "--field-selector", "spec.schedulerName=second", "-o", "name").stdout
    assert selected.split() == ["schedulingpolicy.scheduling.moorage.dev/two"]


def test_the_status_is_applied_without_the_spec(empty: ControlPlane) -> None:
    apply(empty, {})
    status = {
        "schedulerName": "sample",
        "observedGeneration": 1,
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Ready",
                "message": "",
                "lastTransitionTime": "2026-11-30T01:00:00Z",
            }
        ],
        "pods": {"bound": 3},
    }
    manifest = json.dumps({**policy({}), "spec": {}, "status": status})
    empty.kubectl(*("apply", "--server-side", "--force-conflicts", "--subresource=status", "-f", "-"), input=manifest)
    row = empty.kubectl("get", "schedpol", "--no-headers").stdout.split()
    assert row[:6] == ["sample", "sample", "True", "0", "3", "0"]


def test_kubectl_explain_shows_the_docstrings(served: ControlPlane) -> None:
    text = served.kubectl("explain", "schedulingpolicies.spec.lifecycle").stdout
    flat = " ".join(text.split())
    assert "Ranks nodes by lifecycle class: spot, on-demand or reserved." in flat
    assert "Preferred class of nodes for pods that ask for no class." in flat
    assert "enum: spot, on-demand, none" in flat

"""Defaults, admission and validation of pods. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

import pytest

from sandbox.api_objects import pod
from sandbox.kube_api import JSON_PATCH, KubeApi


async def test_new_pod_gets_defaults_priority_and_tolerations(api: KubeApi) -> None:
    created = (await api.create(api.pods, pod("p"))).body
    spec = created["spec"]
    assert (spec["schedulerName"], spec["restartPolicy"], spec["dnsPolicy"]) == (
        "default-scheduler",
        "Always",
        "ClusterFirst",
    )
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert spec["tolerations"] == [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    ]
    assert created["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert created["metadata"]["generation"] == 1
    assert spec["containers"][0]["imagePullPolicy"] == "IfNotPresent"


async def test_pod_keeps_the_tolerations_of_eviction_taints_from_its_spec(api: KubeApi) -> None:
    own = [{"operator": "Exists", "effect": "NoExecute"}]
    created = await api.create(api.pods, pod("p", tolerations=own))
    assert created.body["spec"]["tolerations"] == own
    other = [{"operator": "Exists", "effect": "NoSchedule"}]
    created = await api.create(api.pods, pod("q", tolerations=other))
    assert len(created.body["spec"]["tolerations"]) == 3


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
    ],
)
async def test_pod_gets_its_quality_of_service_class(api: KubeApi, resources: dict[str, object], expected: str) -> None:
    created = await api.create(api.pods, pod("p", resources=resources))
    assert created.body["status"]["qosClass"] == expected


async def test_server_returns_quantities_in_canonical_form(api: KubeApi) -> None:
    requests = {"cpu": 0.5, "memory": "1024Mi", "ephemeral-storage": "1e3", "hugepages-2Mi": "0"}
    limits = {"hugepages-2Mi": "0", "cpu": "1000m", "memory": "1536Mi"}
    created = await api.create(api.pods, pod("p", resources={"requests": requests, "limits": limits}))
    found = created.body["spec"]["containers"][0]["resources"]
    assert found["requests"] == {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1e3", "hugepages-2Mi": "0"}
    assert found["limits"] == {"cpu": "1", "memory": "1536Mi", "hugepages-2Mi": "0"}


async def test_gated_pod_has_a_condition_with_the_reason_scheduling_gated(api: KubeApi) -> None:
    created = await api.create(api.pods, pod("p", schedulingGates=[{"name": "example.dev/wait"}]))
    [condition] = created.body["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    await api.patch(f"{api.pods}/p", [{"op": "remove", "path": "/spec/schedulingGates"}], JSON_PATCH)
    assert "schedulingGates" not in (await api.get(f"{api.pods}/p")).body["spec"]


async def test_priority_comes_from_the_priority_class(api: KubeApi) -> None:
    name = api.namespace
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    await api.create(path, {"metadata": {"name": name}, "value": 1000, "preemptionPolicy": "Never"})
    created = await api.create(api.pods, pod("p", priorityClassName=name))
    assert (created.body["spec"]["priority"], created.body["spec"]["preemptionPolicy"]) == (1000, "Never")
    refused = await api.create(api.pods, pod("q", priorityClassName="none"))
    assert refused.code == 403
    assert refused.message == 'pods "q" is forbidden: no PriorityClass with name none was found'


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": []}, "spec.containers"),
        ({"containers": [{"name": "c"}]}, "spec.containers[0].image"),
        ({"containers": [{"name": "C", "image": "a"}]}, "spec.containers[0].name"),
        ({"containers": [{"name": "c", "image": "a"}, {"name": "c", "image": "a"}]}, "spec.containers[1].name"),
        ({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}, "spec.containers[0].resources.requests"),
        ({"resources": {"requests": {"x.dev/gpu": "1"}}}, "spec.containers[0].resources.limits"),
        ({"restartPolicy": "Sometimes"}, "spec.restartPolicy"),
    ],
)
async def test_pod_with_an_invalid_field_is_refused(api: KubeApi, spec: dict[str, object], field: str) -> None:
    answer = await api.create(api.pods, pod("p", **spec))
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert field in {cause["field"] for cause in answer.body["details"]["causes"]}


async def test_malformed_quantity_is_a_bad_request(api: KubeApi) -> None:
    answer = await api.create(api.pods, pod("p", resources={"requests": {"cpu": "lots"}}))
    assert answer.code == 400
    assert "quantities must match the regular expression" in answer.message


async def test_patch_cannot_change_the_node_of_a_pod(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    answer = await api.patch(f"{api.pods}/p", {"spec": {"nodeName": "n"}})
    assert answer.code == 422
    assert "spec: Forbidden: pod updates may not change fields other than" in answer.message

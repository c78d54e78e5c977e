"""The simulated kubelet, disruption controller and garbage collector."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.simulation.node_groups import load_node_groups
from moorage.sandbox.simulation.pod_requests import pod_requests
from sandbox.api_objects import binding, pod
from sandbox.kube_api import KubeApi, Object, connect, until

NODES = """
nodeGroups:
  - {name: small, count: 1, instanceType: m5.large, cpu: "2", memory: 8Gi, pods: 2}
"""


@pytest.fixture
async def api() -> AsyncIterator[KubeApi]:
    async with (
        SandboxServer(node_groups=load_node_groups(NODES)) as server,
        connect(server.url, server.token, "default") as found,
    ):
        yield found


async def run(api: KubeApi, name: str, **spec: object) -> Object:
    """Create and bind a pod, and return it as soon as it is not Pending."""
    await api.create(api.pods, pod(name, **spec))
    await api.create(f"{api.pods}/{name}/binding", binding(name, "small-0"))

    async def started() -> bool:
        return bool((await api.get(f"{api.pods}/{name}")).body["status"]["phase"] != "Pending")

    await until(started)
    body: Object = (await api.get(f"{api.pods}/{name}")).body
    return body


async def test_bound_pod_runs_with_an_address(api: KubeApi) -> None:
    status = (await run(api, "p"))["status"]
    assert status["phase"] == "Running"
    assert status["podIP"].startswith("10.128.")
    assert status["hostIP"].startswith("10.")
    assert status["startTime"]
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions["PodScheduled"] == conditions["Ready"] == "True"
    assert status["containerStatuses"][0]["state"].keys() == {"running"}


async def test_pod_that_does_not_fit_fails_and_names_the_scarce_resource(api: KubeApi) -> None:
    await run(api, "p", resources={"requests": {"cpu": "1500m"}})
    status = (await run(api, "q", resources={"requests": {"cpu": "500m"}}))["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 1500, capacity: 1930"
    )


async def test_kubelet_ignores_an_extended_resource_that_the_node_does_not_report(api: KubeApi) -> None:
    licensed = {"requests": {"example.com/licence": "1"}, "limits": {"example.com/licence": "1"}}
    assert (await run(api, "p", resources=licensed))["status"]["phase"] == "Running"


async def test_pod_on_a_full_node_fails_with_out_of_pods(api: KubeApi) -> None:
    for name in ("p", "q"):
        await run(api, name)
    assert (await run(api, "r"))["status"]["reason"] == "OutOfpods"


async def test_deleted_pod_frees_its_requests(api: KubeApi) -> None:
    await run(api, "p", resources={"requests": {"cpu": "1900m"}})
    await api.delete(f"{api.pods}/p")

    async def gone() -> bool:
        return (await api.get(f"{api.pods}/p")).code == 404

    await until(gone)
    assert (await run(api, "q", resources={"requests": {"cpu": "1900m"}}))["status"]["phase"] == "Running"


async def test_status_of_a_budget_counts_its_pods(api: KubeApi) -> None:
    budgets = f"/apis/policy/v1/namespaces/{api.namespace}/poddisruptionbudgets"
    spec = {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}}
    await api.create(budgets, {"metadata": {"name": "b"}, "spec": spec})
    for name in ("p", "q"):
        await run(api, name, metadata={"labels": {"app": "web"}})

    async def counted() -> bool:
        return bool((await api.get(f"{budgets}/b")).body["status"].get("currentHealthy") == 2)

    await until(counted)
    status = (await api.get(f"{budgets}/b")).body["status"]
    assert (status["disruptionsAllowed"], status["desiredHealthy"], status["expectedPods"]) == (1, 1, 2)


async def test_deletion_of_an_owner_deletes_its_dependents(api: KubeApi) -> None:
    sets = f"/apis/apps/v1/namespaces/{api.namespace}/replicasets"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    body = {"metadata": {"name": "rs"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}
    owner = (await api.create(sets, body)).body
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": owner["metadata"]["uid"]}
    await api.create(api.pods, pod("owned", metadata={"ownerReferences": [reference]}))
    await api.create(api.pods, pod("free"))
    await api.delete(f"{sets}/rs")

    async def collected() -> bool:
        return await api.names(api.pods) == ["free"]

    await until(collected)


def test_pod_requests_are_the_maximum_of_init_and_main_containers() -> None:
    def container(cpu: str, **fields: object) -> Object:
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **fields}

    spec = {
        "initContainers": [container("100m", restartPolicy="Always"), container("900m")],
        "containers": [container("300m"), container("200m")],
        "overhead": {"cpu": "50m"},
    }
    assert pod_requests({"spec": spec}) == {"cpu": 1050, "pods": 1}

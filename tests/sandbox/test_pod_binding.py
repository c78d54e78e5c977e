"""Binding of pods to nodes. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

from sandbox.api_objects import binding, pod
from sandbox.kube_api import KubeApi


async def test_binding_assigns_the_pod_to_the_node(api: KubeApi) -> None:
    created = await api.create(api.pods, pod("p"))
    await api.patch(f"{api.pods}/p/status", {"status": {"nominatedNodeName": "other"}})
    body = binding("p", "n1", uid=created.body["metadata"]["uid"], annotations={"why": "because"})
    answer = await api.create(f"{api.pods}/p/binding", body)
    assert (answer.code, answer.body["kind"], answer.body["status"]) == (201, "Status", "Success")
    bound = (await api.get(f"{api.pods}/p")).body
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"why": "because"}
    assert bound["metadata"]["generation"] == 1
    assert "nominatedNodeName" not in bound["status"]
    [condition] = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


async def test_bound_pod_gets_the_topology_labels_of_its_node(api: KubeApi) -> None:
    node = f"node-{api.namespace}"
    labels = {"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1", "other": "x"}
    await api.create("/api/v1/nodes", {"metadata": {"name": node, "labels": labels}})
    await api.create(api.pods, pod("p"))
    await api.create(f"{api.pods}/p/binding", binding("p", node))
    found = (await api.get(f"{api.pods}/p")).body["metadata"]["labels"]
    await api.delete(f"/api/v1/nodes/{node}")
    assert found == {"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1"}


async def test_second_binding_conflicts(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    await api.create(f"{api.pods}/p/binding", binding("p", "n1"))
    answer = await api.create(f"{api.pods}/p/binding", binding("p", "n2"))
    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert answer.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"'
    )


async def test_binding_conflicts_if_the_uid_differs(api: KubeApi) -> None:
    created = await api.create(api.pods, pod("p"))
    answer = await api.create(f"{api.pods}/p/binding", binding("p", "n1", uid="other"))
    assert answer.code == 409
    uid = created.body["metadata"]["uid"]
    assert f"Precondition failed: UID in precondition: other, UID in object meta: {uid}" in answer.message


async def test_binding_of_a_gated_pod_conflicts(api: KubeApi) -> None:
    await api.create(api.pods, pod("p", schedulingGates=[{"name": "example.dev/wait"}]))
    answer = await api.create(f"{api.pods}/p/binding", binding("p", "n1"))
    assert (answer.code, "pod p has non-empty .spec.schedulingGates" in answer.message) == (409, True)


async def test_binding_of_a_terminating_pod_conflicts(api: KubeApi) -> None:
    await api.create(api.pods, pod("p", metadata={"finalizers": ["example.dev/hold"]}))
    await api.delete(f"{api.pods}/p")
    answer = await api.create(f"{api.pods}/p/binding", binding("p", "n1"))
    await api.patch(f"{api.pods}/p", {"metadata": {"finalizers": None}})
    assert answer.code == 409
    assert "pod p is being deleted, cannot be assigned to a host" in answer.message


async def test_binding_of_an_absent_pod_is_not_found(api: KubeApi) -> None:
    answer = await api.create(f"{api.pods}/none/binding", binding("none", "n1"))
    assert (answer.code, answer.body["reason"]) == (404, "NotFound")


async def test_binding_without_a_node_is_refused(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    answer = await api.create(f"{api.pods}/p/binding", binding("p", ""))
    assert (answer.code, answer.message) == (500, "target.name: Required value")


async def test_post_to_the_bindings_collection_assigns_the_pod(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    answer = await api.create(f"/api/v1/namespaces/{api.namespace}/bindings", binding("p", "n1"))
    assert answer.code == 201
    assert (await api.get(f"{api.pods}/p")).body["spec"]["nodeName"] == "n1"

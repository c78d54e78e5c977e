"""Discovery and OpenAPI. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

from sandbox.kube_api import KubeApi


async def test_aggregated_discovery_lists_custom_kinds(api: KubeApi, widgets: str) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    answer = await api.call("GET", "/apis", accept=accept)
    assert answer.body["kind"] == "APIGroupDiscoveryList"
    groups = {group["metadata"]["name"]: group for group in answer.body["items"]}
    [resource] = groups[widgets.split("/")[2]]["versions"][0]["resources"]
    assert (resource["resource"], resource["shortNames"], resource["scope"]) == ("widgets", ["wd"], "Cluster")
    assert [item["subresource"] for item in resource["subresources"]] == ["status"]


async def test_plain_discovery_lists_pods_and_their_subresources(api: KubeApi) -> None:
    names = {resource["name"] for resource in (await api.get("/api/v1")).body["resources"]}
    assert {"pods", "pods/binding", "pods/eviction", "pods/status", "nodes", "bindings"} <= names


async def test_openapi_describes_each_group(api: KubeApi) -> None:
    index = (await api.get("/openapi/v3")).body["paths"]
    assert {"api/v1", "apis/events.k8s.io/v1"} <= index.keys()
    document = (await api.get("/openapi/v3/api/v1")).body
    containers = document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert (containers["type"], containers["x-kubernetes-patch-merge-key"]) == ("array", "name")

"""Programs of users call the embedded API server with the official Python client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import kubernetes

from moorage.api.crd import crd as policy_crd
from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.simulation.node_groups import load_node_groups
from sandbox.kubectl_client import NODES

GROUP, VERSION, PLURAL = "scheduling.moorage.dev", "v1alpha1", "schedulingpolicies"
POLICY: dict[str, Any] = {
    "apiVersion": f"{GROUP}/{VERSION}",
    "kind": "SchedulingPolicy",
    "metadata": {"name": "cheap-first"},
    "spec": {"preset": "SpotFirst"},
}
POD: dict[str, Any] = {
    "metadata": {"name": "web"},
    "spec": {"schedulerName": "cheap-first", "containers": [{"name": "main", "image": "nginx:1"}]},
}
BINDING: dict[str, Any] = {"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "m5-1"}}


def use_cluster(kubeconfig: Path) -> tuple[list[str], str, list[str]]:
    """Create a policy and a pod, bind the pod; return the nodes, the policy's preset, and the pod's watched phases."""
    library: Any = kubernetes  # The client has only some types.
    with library.config.new_client_from_config(str(kubeconfig)) as api:
        core, custom = library.client.CoreV1Api(api), library.client.CustomObjectsApi(api)
        nodes = [node.metadata.name for node in core.list_node().items]
        custom.create_cluster_custom_object(GROUP, VERSION, PLURAL, POLICY)
        policy = custom.get_cluster_custom_object(GROUP, VERSION, PLURAL, "cheap-first")
        core.create_namespaced_pod("default", POD)
        core.create_namespaced_pod_binding("web", "default", BINDING, _preload_content=False)
        phases = []
        for event in library.watch.Watch().stream(core.list_namespaced_pod, "default", timeout_seconds=30):
            phases.append(event["object"].status.phase)
            if phases[-1] == "Running":
                break
        return nodes, policy["spec"]["preset"], phases


async def test_python_client_creates_a_policy_and_sees_a_pod_run(tmp_path: Path) -> None:
    groups = load_node_groups(NODES)
    async with SandboxServer(node_groups=groups, crds=[policy_crd()]) as server:
        kubeconfig = tmp_path / "config"
        kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
        nodes, preset, phases = await asyncio.to_thread(use_cluster, kubeconfig)
    assert nodes == ["m5-0", "m5-1"]
    assert preset == "SpotFirst"
    assert phases[-1] == "Running"

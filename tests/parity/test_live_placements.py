"""kube-scheduler and moorage place the same pods on equal clusters of the real control plane.

Each scheduler chooses at random among nodes of equal score, so the two clusters soon differ. Therefore the test asks
for each placement whether the other scheduler finds that node best in the same cluster.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any

import aiohttp
import pytest

from controlplane.launcher import ControlPlane
from controlplane.objects import PODS, api_session, create_nodes, delete_nodes_and_pods, pause_pod, simulated_node
from controlplane.ports import Ports
from moorage.api.crd import render
from moorage.framework.registry import Registry
from moorage.simulator.parity.cases import Case
from moorage.simulator.parity.parity_run import decide
from parity.differential import ask_oracle
from processes import moorage

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]

COUNT = 40
NODES = 12
WAIT_SECONDS = 20.0
POLL_SECONDS = 0.02
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
PROFILE: dict[str, object] = {"schedulerName": "default-scheduler"}
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [PROFILE],
}

Body = dict[str, Any]
Placement = dict[str, Any]
"""`case`: the cluster and the pod as a parity case; `chosen`: the pod's node."""


def cluster_nodes() -> Iterator[Body]:
    """Yield large and small nodes in three zones, some of them with taints."""
    for index in range(NODES):
        labels = {ZONE: f"z{index % 3}", "disk": "ssd" if index % 4 else "hdd"}
        allocatable = {"cpu": str(4 + 4 * (index % 3)), "memory": f"{8 + 8 * (index % 2)}Gi"}
        effect = "NoSchedule" if index == 5 else "PreferNoSchedule"
        taints = [{"key": "dedicated", "value": "batch", "effect": effect}] if index % 5 == 0 else []
        yield simulated_node(f"n{index:02d}", labels=labels, allocatable=allocatable, taints=taints)


def pod(index: int) -> Body:
    """Return the pod with this number. All pods together use every default plugin."""
    app = {"matchLabels": {"app": f"a{index % 4}"}}
    specs: list[Body] = [
        {},
        {"nodeSelector": {"disk": "ssd"}},
        {"affinity": {"nodeAffinity": preferred({"preference": expression("disk", "hdd")})}},
        {"topologySpreadConstraints": [spread(ZONE, "DoNotSchedule", app), spread(HOSTNAME, "ScheduleAnyway", app)]},
        {"affinity": {"podAntiAffinity": required({"labelSelector": app, "topologyKey": HOSTNAME})}},
        {"affinity": {"podAffinity": preferred({"podAffinityTerm": {"labelSelector": app, "topologyKey": ZONE}})}},
        {"tolerations": [{"key": "dedicated", "operator": "Exists"}]},
        {"affinity": {"nodeAffinity": required_nodes(expression(ZONE, "z0", "z1"))}},
    ]
    # Each pod has different requests, because a scheduler may not score all nodes for a pod that equals the last one.
    body = pause_pod(f"p{index:02d}", cpu=f"{100 + 7 * index}m", **specs[index % len(specs)])
    body["metadata"] = {"name": f"p{index:02d}", "namespace": "default", "labels": {"app": f"a{index % 4}"}}
    return body


def expression(key: str, *values: str) -> Body:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


def preferred(term: Body) -> Body:
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, **term}]}


def required(term: Body) -> Body:
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def required_nodes(term: Body) -> Body:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}


def spread(key: str, action: str, selector: Body) -> Body:
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector}


async def placements(control_plane: ControlPlane, name: str) -> list[Placement]:
    """Create the pods one after the other, and wait for each pod's node."""
    async with api_session(control_plane) as session:
        nodes = (await read(session, "/api/v1/nodes"))["items"]
        return [await placement(session, f"{name}/{index}", nodes, pod(index)) for index in range(COUNT)]


async def placement(session: aiohttp.ClientSession, case_id: str, nodes: list[Body], body: Body) -> Placement:
    placed = (await read(session, PODS))["items"]
    async with session.post(PODS, data=json.dumps(body)) as response:
        created = await response.json()
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            now = await read(session, f"{PODS}/{body['metadata']['name']}")
            if "nodeName" in now["spec"]:
                case = {"id": case_id, "nodes": nodes, "pods": placed, "pod": created}
                return {"case": case, "chosen": now["spec"]["nodeName"]}
            await asyncio.sleep(POLL_SECONDS)


async def read(session: aiohttp.ClientSession, path: str) -> Body:
    async with session.get(path) as response:
        found: Body = await response.json()
        return found


@asynccontextmanager
async def equal_cluster(control_plane: ControlPlane) -> AsyncIterator[None]:
    await create_nodes(control_plane, cluster_nodes())
    try:
        yield
    finally:
        await delete_nodes_and_pods(control_plane)


async def by_kube_scheduler(control_plane: ControlPlane) -> list[Placement]:
    async with equal_cluster(control_plane):
        with control_plane.start_scheduler({"profiles": [PROFILE]}):
            return await placements(control_plane, "kube-scheduler")


async def by_moorage(control_plane: ControlPlane) -> list[Placement]:
    file = control_plane.directory / "moorage.config"
    file.write_text(json.dumps(CONFIGURATION), encoding="utf-8")
    flags = (f"--config={file}", "--allow-default-scheduler", "--no-leader-elect")
    async with equal_cluster(control_plane):
        with (
            policies_installed(control_plane),
            closing(Ports()) as ports,
            moorage(control_plane.kubeconfig, control_plane.directory, ports, *flags, name="moorage-placements"),
        ):
            return await placements(control_plane, "moorage")


@contextmanager
def policies_installed(control_plane: ControlPlane) -> Iterator[None]:
    """Install the CRD, because moorage is not ready without it, and delete it at the end."""
    control_plane.install(render())
    try:
        yield
    finally:
        control_plane.kubectl("delete", "-f", "-", input=render())


async def test_each_scheduler_chooses_a_node_that_the_other_finds_best(empty_control_plane: ControlPlane) -> None:
    theirs = await by_kube_scheduler(empty_control_plane)
    registry = Registry.discover()
    for made in theirs:
        case = made["case"]
        ours = decide(Case(case["id"], "kube-scheduler", case, {}), registry)
        assert made["chosen"] in ours["best"], case["id"]
    mine = await by_moorage(empty_control_plane)
    decided = ask_oracle(made["case"] for made in mine)
    assert len(decided) == COUNT
    for made, line in zip(mine, decided, strict=True):
        assert made["chosen"] in line["expect"]["best"], line["case"]["id"]

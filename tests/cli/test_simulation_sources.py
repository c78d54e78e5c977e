"""The clusters and pods that `moorage simulate` takes: tables, node groups, dumps, a live cluster, files of pods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import Run
from moorage.inventory import Inventory, write_dump
from simulator.sim_files import write

GROUPS = """\
nodeGroups:
  - {name: spot, count: 2, instanceType: m5.xlarge, lifecycle: spot, cpu: "4", memory: 16Gi}
  - name: gpu
    count: 2
    instanceType: g6.xlarge
    cpu: "4"
    memory: 16Gi
    gpus: {count: 2, product: T4}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
"""
PODS = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: v1
kind: Pod
metadata: {name: small, labels: {app: web}}
spec: {containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Pod
    metadata: {name: large}
    spec: {priorityClassName: high, containers: [{name: main, resources: {requests: {cpu: "3"}}}]}
  - apiVersion: v1
    kind: Pod
    metadata: {name: huge, namespace: other}
    spec: {containers: [{name: main, resources: {requests: {cpu: "9"}}}]}
"""
TASKS = "name,cpu_milli,memory_mib,gpu,gpu_models\na,1000,100,1,\nb,1000,100,2,T4\nc,1000,100,0,\nd,1000,100,1,H100\n"


def placed(moorage: Run, *arguments: str | Path) -> dict[str, Any]:
    """Return the result of kube-scheduler's default profile."""
    ended = moorage("simulate", *arguments, "-o", "json")
    assert ended.status == 0, ended.err
    result: dict[str, Any] = json.loads(ended.out)["policies"][0]
    return result


def pod(name: str, cpu: str, node: str = "", priority: int = 0) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    spec: dict[str, Any] = {"containers": [container], "priority": priority} | ({"nodeName": node} if node else {})
    status = {"phase": "Running" if node else "Pending"}
    return {"kind": "Pod", "metadata": {"name": name, "uid": name}, "spec": spec, "status": status}


def dump_of(folder: Path, *pods: dict[str, Any]) -> Path:
    """Write a dump of one node with 4 CPUs, and of pods."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": amounts, "capacity": amounts}}
    file = folder / "cluster.gz"
    write_dump(Inventory.of([node, *pods]), file)
    return file


def test_the_tasks_of_a_table_are_placed_on_node_groups(moorage: Run, tmp_path: Path) -> None:
    files = ("--node-groups", write(tmp_path, "groups.yaml", GROUPS), "--arrivals", write(tmp_path, "tasks.csv", TASKS))
    result = placed(moorage, *files)
    assert (result["placed"], result["unplaced"]) == (3, 1)
    assert result["groups"]["model"]["T4"]["percent"]["nvidia.com/gpu"] == 75.0
    assert set(result["groups"]["lifecycle"]) == {"spot", "on-demand"}


def test_the_pods_of_a_file_are_placed_on_node_groups(moorage: Run, tmp_path: Path) -> None:
    files = ("--node-groups", write(tmp_path, "groups.yaml", GROUPS), "--pods", write(tmp_path, "pods.yaml", PODS))
    result = placed(moorage, *files)
    assert (result["placed"], result["unplaced"]) == (2, 1)
    assert result["reasons"] == {"Insufficient cpu": 1}


def test_the_pods_of_a_file_replace_the_waiting_pods_of_a_dump(moorage: Run, tmp_path: Path) -> None:
    dump = dump_of(tmp_path, pod("runs", "2", "n"), pod("waits", "1"))
    result = placed(moorage, "--dump", dump, "--pods", write(tmp_path, "pods.yaml", PODS))
    assert (result["placed"], result["unplaced"]) == (2, 1)  # the pod `large` of priority 1000 evicts `runs`
    assert result["preemptions"] == 1


@pytest.mark.parametrize("times", [("", ""), (",created_s", ",10")])
def test_the_tasks_of_a_table_are_placed_beside_the_pods_that_run(
    moorage: Run, tmp_path: Path, times: tuple[str, str]
) -> None:
    dump = dump_of(tmp_path, pod("runs", "3", "n", 5), pod("waits", "1"))
    header, end = f"name,cpu_milli,memory_mib,priority{times[0]}\n", f"{times[1]}\n"
    fitting = write(tmp_path, "fitting.csv", f"{header}a,1000,1,0{end}b,1000,1,0{end}")
    assert placed(moorage, "--dump", dump, "--arrivals", fitting)["placed"] == 1
    preempting = write(tmp_path, "preempting.csv", f"{header}a,2000,1,9{end}")
    result = placed(moorage, "--dump", dump, "--arrivals", preempting)
    assert (result["placed"], result["preemptions"]) == (1, 1)


def test_the_pods_of_a_file_are_placed_on_a_live_cluster(moorage: Run, kubeconfig: Path, tmp_path: Path) -> None:
    pods = write(tmp_path, "pods.yaml", PODS)
    result = placed(moorage, "--cluster", "--kubeconfig", kubeconfig, "--pods", pods)
    assert result["placed"] + result["unplaced"] == 3


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "pass one of --nodes, --node-groups, --dump and --cluster"),
        (["--cluster", "--dump=x"], "pass one of --nodes, --node-groups, --dump and --cluster"),
        (["--nodes=x", "--node-groups=y"], "pass one of --nodes, --node-groups, --dump and --cluster"),
        (["--nodes=x"], "--nodes needs --arrivals"),
        (["--node-groups=x"], "--node-groups needs --arrivals or --pods"),
        (["--dump=x", "--pods=y", "--all-pods"], "pass at most one of --arrivals, --pods and --all-pods"),
    ],
)
def test_one_cluster_and_one_source_of_pods_must_be_given(moorage: Run, flags: list[str], message: str) -> None:
    ended = moorage("simulate", *flags)
    assert ended.status == 2
    assert message in ended.err.replace("\n", " ")


@pytest.mark.parametrize(
    ("groups", "pods", "message"),
    [
        ("nodes: []\n", PODS, "nodeGroups: Field required"),
        ("- a\n", PODS, "groups.yaml: the key `nodeGroups` is missing"),
        ("nodeGroups: []\n", PODS, "groups.yaml: the groups have no nodes"),
        (GROUPS.replace("count: 2", "count: 90000"), PODS, "groups.yaml: the groups have more than 100000 nodes"),
        (GROUPS.replace("name: gpu", "name: spot"), PODS, "groups.yaml: two groups have nodes with the same name"),
        (GROUPS, "kind: Pod\n", "pods.yaml:1: metadata.name: is required"),
        (GROUPS, "kind: Service\nmetadata: {name: x}\n", "pods.yaml: the file has no pods"),
        (GROUPS, PODS.replace("name: large", "name: small"), "pods.yaml: there are two pods default/small"),
        (GROUPS, PODS.replace('cpu: "3"', "cpu: much"), "pods.yaml: Pod default/large cannot be read"),
    ],
)
def test_files_that_cannot_be_used_are_named(
    moorage: Run, tmp_path: Path, groups: str, pods: str, message: str
) -> None:
    group_file, pod_file = write(tmp_path, "groups.yaml", groups), write(tmp_path, "pods.yaml", pods)
    ended = moorage("simulate", "--node-groups", group_file, "--pods", pod_file)
    assert ended.status == 1
    assert message in ended.err
    assert ended.out == ""


def test_absent_files_are_named(moorage: Run, tmp_path: Path) -> None:
    pods = write(tmp_path, "pods.yaml", PODS)
    ended = moorage("simulate", "--node-groups", tmp_path / "absent.yaml", "--pods", pods)
    assert (ended.status, "absent.yaml: No such file" in ended.err) == (1, True)
    groups = write(tmp_path, "groups.yaml", GROUPS)
    ended = moorage("simulate", "--node-groups", groups, "--pods", tmp_path / "absent.yaml")
    assert (ended.status, "absent.yaml: No such file" in ended.err) == (1, True)

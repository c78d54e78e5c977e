"""Simulations of the pods of a dump."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from builders import ZONE, node_object, pod_object
from moorage.errors import InvalidInput
from moorage.inventory import Inventory, write_dump
from moorage.simulator.dump_scene import PlacedPods
from moorage.simulator.run_result import PolicyResult
from moorage.simulator.simulation import Request, simulate

OWNER = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "d", "controller": True}
ZONE_B = """\
apiVersion: scheduling.moorage.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: only-b}
spec: {filters: {zones: {allow: [b]}}}
"""


def of_kind(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "kind": kind}


def dump(folder: Path, *pods: dict[str, Any]) -> Path:
    """Write a dump with a node of two cpus in each of two zones."""
    nodes = [node_object(f"n-{zone}", cpu="2", zone=zone) for zone in "ab"]
    file = folder / "cluster.jsonl.gz"
    write_dump(Inventory.of([*(of_kind("Node", node) for node in nodes), *(of_kind("Pod", pod) for pod in pods)]), file)
    return file


def simulated(file: Path, placed: PlacedPods = PlacedPods.WAITING, **fields: Any) -> Mapping[str, PolicyResult]:
    policy = file.with_name("policy.yaml")
    policy.write_text(ZONE_B)
    request = Request(nodes=file, tasks=file, policies=(policy,), placed_pods=placed, **fields)
    return {result.name: result for result in simulate(request, jobs=1).results}


def test_waiting_pods_are_placed_in_addition_to_the_running_pods(tmp_path: Path) -> None:
    running = pod_object("running", cpu="2", node="n-b", phase="Running")
    waiting = [pod_object(f"w{number}", cpu="1", spec={"schedulerName": "any"}) for number in range(3)]
    results = simulated(dump(tmp_path, running, *waiting))
    assert {name: (each.placed, each.unplaced) for name, each in results.items()} == {
        "kube-scheduler": (2, 1),
        "only-b": (0, 3),
    }
    assert results["kube-scheduler"].use["cpu"] == 100
    assert results["only-b"].reasons == {"Insufficient cpu": 3}


def test_all_pods_are_placed_again_except_pods_of_daemon_sets(tmp_path: Path) -> None:
    agent = pod_object("agent", cpu="1", node="n-b", owner=OWNER, phase="Running")
    running = [pod_object(f"r{number}", cpu="1", node="n-a", phase="Running") for number in range(2)]
    done = pod_object("done", cpu="1", node="n-a", phase="Succeeded")
    results = simulated(dump(tmp_path, agent, *running, done), PlacedPods.ALL)
    assert {name: (each.placed, each.unplaced) for name, each in results.items()} == {
        "kube-scheduler": (2, 0),
        "only-b": (1, 1),
    }
    assert results["only-b"].groups["zone"]["b"].percent["cpu"] == 100
    assert results["only-b"].groups["zone"]["a"].pods == 0


def test_a_placed_pod_is_evicted_for_a_pod_of_higher_priority(tmp_path: Path) -> None:
    low = [pod_object(f"low-{zone}", cpu="2", node=f"n-{zone}", phase="Running") for zone in "ab"]
    results = simulated(dump(tmp_path, *low, pod_object("high", cpu="2", priority=10)))
    assert (results["only-b"].placed, results["only-b"].preemptions) == (1, 1)


def test_placements_obey_the_hard_rules_of_the_pods(tmp_path: Path) -> None:
    pinned = pod_object("pinned", cpu="1", spec={"nodeSelector": {ZONE: "a"}})
    gated = pod_object("gated", spec={"schedulingGates": [{"name": "g"}]})
    results = simulated(dump(tmp_path, pinned, gated))
    assert {name: each.placed for name, each in results.items()} == {"kube-scheduler": 1, "only-b": 0}


@pytest.mark.parametrize("pods", [[], [pod_object("r", node="n-a", phase="Running")]])
def test_a_dump_without_waiting_pods_is_refused_with_the_next_step(tmp_path: Path, pods: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidInput, match="no pod waits for a node; --all-pods also places running pods"):
        simulated(dump(tmp_path, *pods))


def test_a_file_that_is_not_a_dump_is_named(tmp_path: Path) -> None:
    file = tmp_path / "cluster.jsonl.gz"
    file.write_text("no dump")
    with pytest.raises(InvalidInput, match=r"cluster\.jsonl\.gz"):
        simulated(file)

"""Applies each example as its README says, and checks the result that the README promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.clusters import Cluster, Manifest, eventually

EXAMPLES = Path(__file__).parents[2] / "examples"
ZONE = "topology.kubernetes.io/zone"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
CAPACITY_TYPE = "eks.amazonaws.com/capacityType"


class Applied:
    """An example that the test has applied: its pods and their nodes."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.folder = EXAMPLES / name
        cluster.kubectl("apply", f"--filename={self.folder / 'policy.yaml'}")
        cluster.kubectl("wait", "--for=condition=Ready", "schedulingpolicies", "--all", "--timeout=20s")
        cluster.kubectl("apply", f"--filename={self.folder / 'pods.yaml'}")
        self.nodes = {node["metadata"]["name"]: node for node in cluster.items("nodes")}

    def pods(self) -> list[Manifest]:
        found = self.cluster.get(f"--filename={self.folder / 'pods.yaml'}")
        items: list[Manifest] = found["items"] if found["kind"] == "List" else [found]
        return [item for item in items if item["kind"] == "Pod"]

    def wait_until_bound(self, *, pending: int = 0) -> dict[str, dict[str, Any]]:
        """Wait until all except `pending` pods are bound. Return the metadata of each pod's node by pod name."""

        def bound() -> bool:
            return sum("nodeName" in pod["spec"] for pod in self.pods()) == len(self.pods()) - pending

        eventually(bound)
        return {
            pod["metadata"]["name"]: self.nodes[pod["spec"]["nodeName"]]["metadata"]
            for pod in self.pods()
            if "nodeName" in pod["spec"]
        }

    def remove(self) -> None:
        self.cluster.kubectl(
            "delete", f"--filename={self.folder}", "--force", "--grace-period=0", "--wait=false", "--ignore-not-found"
        )


@pytest.fixture
def example(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Applied]:
    applied = Applied(cluster, request.param)
    yield applied
    applied.remove()


def of_example(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("example", [name], indirect=True)


def test_every_example_has_a_test_and_a_readme() -> None:
    folders = {path.parent.name for path in EXAMPLES.glob("*/pods.yaml")}
    text = Path(__file__).read_text(encoding="utf-8")
    assert folders == {name for name in folders if f'of_example("{name}")' in text}
    assert all((EXAMPLES / name / "README.md").is_file() for name in folders)


@of_example("01-spot-first")
def test_pods_prefer_spot_nodes_if_they_do_not_ask_for_on_demand(example: Applied) -> None:
    homes = {pod: node["labels"].get(CAPACITY_TYPE) for pod, node in example.wait_until_bound().items()}
    assert {pod: kind for pod, kind in homes.items() if pod.startswith("batch")} == {
        f"batch-{number}": "SPOT" for number in range(1, 5)
    }
    assert homes["ledger-1"] == homes["ledger-2"] == "ON_DEMAND"


@of_example("02-zone-spread")
def test_pods_of_a_namespace_spread_evenly_over_zones(example: Applied) -> None:
    zones = Counter(node["labels"][ZONE] for node in example.wait_until_bound().values())
    assert zones == {"us-east-1a": 2, "us-east-1b": 2, "us-east-1c": 2}


@of_example("03-gpu-pool")
def test_gpu_nodes_are_packed_and_kept_for_pods_with_gpu_requests(example: Applied) -> None:
    homes = example.wait_until_bound(pending=1)
    assert homes["train-1"]["name"] == homes["train-2"]["name"]
    assert "nvidia.com/gpu.present" in homes["train-1"]["labels"]
    assert "nvidia.com/gpu.present" not in homes["prepare-1"]["labels"]

    def condition_has_the_reason() -> bool:
        (pod,) = [pod for pod in example.pods() if pod["metadata"]["name"] == "colossus-1"]
        condition = {found["type"]: found for found in pod["status"].get("conditions", [])}["PodScheduled"]
        assert condition["reason"] == "Unschedulable"
        assert condition["message"].startswith("0/40 nodes are available: ")
        assert "Insufficient nvidia.com/gpu" in condition["message"]
        return True

    eventually(condition_has_the_reason)


@of_example("04-bin-packing")
def test_one_node_is_filled_before_the_next(example: Applied) -> None:
    assert len({node["name"] for node in example.wait_until_bound().values()}) == 1


@of_example("05-low-latency")
def test_each_pod_runs_on_its_own_node(example: Applied) -> None:
    assert len({node["name"] for node in example.wait_until_bound().values()}) == 4


@of_example("06-instance-types")
def test_pods_run_on_the_instance_type_with_the_highest_score(example: Applied) -> None:
    kinds = {node["labels"][INSTANCE_TYPE] for node in example.wait_until_bound().values()}
    assert kinds == {"c5.2xlarge"}

"""The examples that need an extender, the status of a disruption budget, or a volume controller."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.component import Component, Endpoint
from e2e.clusters import Cluster, Manifest, eventually
from processes import started

EXAMPLES = Path(__file__).parents[2] / "examples"

on_the_sandbox = pytest.mark.parametrize("nodes_only", ["sandbox"], indirect=True)
on_a_real_cluster = pytest.mark.parametrize(
    "nodes_only", [pytest.param("kube-apiserver", marks=pytest.mark.controlplane)], indirect=True
)


class Workload:
    """An example. The test applies its files one by one, and removes the objects at the end."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.folder = cluster, EXAMPLES / name

    def apply(self, file: str, **replacements: str) -> None:
        text = (self.folder / file).read_text(encoding="utf-8")
        for old, new in replacements.items():
            text = text.replace(old, new)
        self.cluster.apply(text)

    def pod(self, name: str) -> Manifest:
        found: Manifest = self.cluster.get("pod", name)
        return found

    def node_of(self, name: str) -> str | None:
        node_name: str | None = self.pod(name)["spec"].get("nodeName")
        return node_name

    def wait_for(self, *names: str) -> None:
        eventually(lambda: all(map(self.node_of, names)))

    def remove(self) -> None:
        flags = ("--force", "--grace-period=0", "--wait=false", "--ignore-not-found")
        self.cluster.kubectl("delete", f"--filename={self.folder}", *flags)


@pytest.fixture
def workload(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Workload]:
    applied = Workload(cluster, request.param)
    yield applied
    applied.remove()


def of_example(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("workload", [name], indirect=True)


@of_example("08-extender")
def test_pods_with_the_managed_resource_run_on_the_extenders_nodes(workload: Workload) -> None:
    cluster = workload.cluster
    port = cluster.ports.take()
    command = [sys.executable, str(workload.folder / "extender.py"), str(port)]
    log = cluster.directory / "extender.log"
    with started(Component(command, log, Endpoint(f"http://127.0.0.1:{port}", ()))):
        workload.apply("policy.yaml", **{"127.0.0.1:8888": f"127.0.0.1:{port}"})
        workload.apply("workload.yaml")
        workload.wait_for("solver-1", "solver-2", "anywhere-1")
    homes = {workload.node_of(name) for name in ("solver-1", "solver-2")}
    assert homes == {"m5-ondemand-0", "m5-ondemand-1"}


@of_example("09-preemption")
@on_the_sandbox
def test_preemption_stops_when_the_budget_is_used_up(workload: Workload) -> None:
    workload.apply("policy.yaml")
    workload.apply("workload.yaml")
    fillers = [f"filler-{number}" for number in (1, 2, 3)]
    workload.wait_for(*fillers)

    def budget_allows_one() -> bool:
        return bool(workload.cluster.get("poddisruptionbudget", "filler")["status"].get("disruptionsAllowed") == 1)

    eventually(budget_allows_one)
    workload.apply("urgent.yaml")
    eventually(lambda: any(map(workload.node_of, ("urgent-1", "urgent-2"))))
    left = [pod["metadata"]["name"] for pod in workload.cluster.items("pods", "--selector=app=filler")]
    assert len(left) == 2
    assert not all(map(workload.node_of, ("urgent-1", "urgent-2")))


@of_example("10-volumes")
@on_a_real_cluster
def test_a_pod_runs_on_the_node_of_its_volume(workload: Workload) -> None:
    control_plane = workload.cluster.control_plane
    assert control_plane is not None
    with control_plane.start_controller_manager(["persistentvolume-binder-controller"]):
        workload.apply("policy.yaml")
        workload.apply("workload.yaml")
        workload.wait_for("ledger-0")
    assert workload.node_of("ledger-0") == "r5-ondemand-0"
    assert workload.cluster.get("persistentvolumeclaim", "ledger")["status"]["phase"] == "Bound"

"""What goes wrong between an operator and its API server: no pod is lost, none is bound twice, and it is said once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controlplane.component import Component
from e2e.case import POLICIES, Case, case_of
from e2e.clusters import Manifest, eventually
from e2e.served import Served, served
from processes import operator, started

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/moorage"
SLOW = 15.0
"""Seconds for what takes a backoff or two."""
QUICK_LEASE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}
"""


class World:
    """An API server to be disturbed, operators of it, and pods that wait for them."""

    def __init__(self, api: Served, case: Case) -> None:
        self.api = api
        self.case = case

    def operator(self, name: str = "moorage", *, ready: str = "/readyz") -> Component:
        """Start an operator with a lease that is soon over."""
        cluster = self.api.cluster
        config = cluster.directory / "config.yaml"
        config.write_text(QUICK_LEASE, encoding="utf-8")
        flags = (f"--config={config}",)
        return started(operator(cluster.kubeconfig, cluster.directory, cluster.ports, *flags, name=name, ready=ready))

    def burst(self, count: int, cpu: str = "100m") -> None:
        """Create pods that go to any node, all in one go."""
        pods = [self.case.pod(f"p{number}", requests={"cpu": cpu}) for number in range(count)]
        self.api.cluster.kubectl("create", "--filename=-", text=as_list(pods))

    def bound(self) -> int:
        """Return how many pods are bound."""
        return sum("nodeName" in pod["spec"] for pod in self.case.pods())

    def all_bound(self, count: int, seconds: float = SLOW) -> None:
        """Wait until all pods are bound, and see that each was once."""
        eventually(lambda: self.bound() == count, seconds)
        assert set(self.api.bindings().values()) == {1}
        assert len(self.api.bindings()) == count

    def lease_holder(self) -> str:
        """Return who holds the lease, empty for nobody."""
        return str(self.case.reader.read(LEASE)["spec"].get("holderIdentity") or "")


def as_list(pods: list[Manifest]) -> str:
    import json

    return json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with in_world(tmp_path) as world:
        yield world


@contextmanager
def in_world(directory: Path, **served_with: Any) -> Iterator[World]:
    with served(directory, **served_with) as api, case_of(api.cluster, "fault") as case:
        yield World(api, case)


def complaints(operator: Component) -> list[str]:
    """Return what the operator's log warns of."""
    lines = operator.log.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if " WARNING " in line or " ERROR " in line or "Traceback" in line]


def failed_requests(operator: Component) -> int:
    lines = operator.endpoint.read("/metrics").splitlines()
    return sum(
        int(float(line.split()[-1]))
        for line in lines
        if line.startswith("rest_client_requests_total") and '"<error>"' in line
    )


def test_an_operator_without_api_server_says_so_once_and_waits_for_it(world: World) -> None:
    world.api.pause()
    with world.operator(ready="/healthz") as moorage:
        eventually(lambda: failed_requests(moorage) > 60)
        assert not Component([""], moorage.log, moorage.endpoint).running
        said = complaints(moorage)
        world.api.resume()
        world.case.cluster.apply(world.case.policy())
        world.burst(3)
        world.all_bound(3)
        moorage.stop()
        assert len(said) == 1, said
        assert len(complaints(moorage)) == 1, complaints(moorage)


def test_an_operator_without_its_crd_says_so_once_and_waits_for_it(tmp_path: Path) -> None:
    from moorage.api.crd import render

    with in_world(tmp_path, with_crd=False) as world, world.operator(ready="/healthz") as moorage:
        eventually(lambda: "SchedulingPolicy is not installed" in moorage.log_tail())
        world.case.cluster.apply(render())
        world.case.cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=10s")
        world.case.cluster.apply(world.case.policy())
        world.burst(3)
        world.all_bound(3)
        assert len(complaints(moorage)) == 1, complaints(moorage)

"""An embedded API server with injected faults, operators with a short lease, and pods to bind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from controlplane.component import Component, Endpoint
from e2e.case import Case, case_of
from e2e.clusters import as_text, eventually
from e2e.served import Served, served
from processes import operator, started

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/moorage"
SLOW = 60.0
"""The limit in seconds for steps that take one or two backoffs."""
QUICK_LEASE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}
"""

RESYNC_EVERY_SECOND = """
import asyncio, sys
from pathlib import Path
from moorage.app.operator import Operator
from moorage.configuration.process_configuration import ProcessConfiguration
from moorage.framework.registry import Registry
from moorage.settings import Settings

settings = Settings(kubeconfig=Path(sys.argv[1]), port=int(sys.argv[2]), policy_resync_seconds=1)
configuration = ProcessConfiguration(settings=settings, registry=Registry.discover())
sys.exit(asyncio.run(Operator(configuration).run()))
"""
"""The program of an operator with a short resync interval. No flag sets this interval."""


class World:
    """An API server with faults, its operators, and the pods of one case."""

    def __init__(self, api: Served, case: Case) -> None:
        self.api = api
        self.case = case

    def operator(self, name: str = "moorage", *, ready: str = "/readyz") -> Component:
        """Start an operator with a lease of 3 s."""
        cluster = self.api.cluster
        config = cluster.directory / "config.yaml"
        config.write_text(QUICK_LEASE, encoding="utf-8")
        flags = (f"--config={config}",)
        return started(operator(cluster.kubeconfig, cluster.directory, cluster.ports, *flags, name=name, ready=ready))

    def operator_with_short_resync(self) -> Component:
        """Start an operator that lists all policies every second."""
        cluster = self.api.cluster
        port = cluster.ports.take()
        command = [sys.executable, "-c", RESYNC_EVERY_SECOND, str(cluster.kubeconfig), str(port)]
        endpoint = Endpoint(f"http://127.0.0.1:{port}", ("/readyz",))
        return started(Component(command, cluster.directory / "moorage.log", endpoint))

    def burst(self, count: int, cpu: str = "100m") -> None:
        """Create `count` pods with one kubectl call."""
        pods = [self.case.pod(f"p{number}", requests={"cpu": cpu}) for number in range(count)]
        self.api.cluster.kubectl("create", "--filename=-", text=as_text(*pods))

    def bound_count(self) -> int:
        """Return the number of bound pods."""
        return sum("nodeName" in pod["spec"] for pod in self.case.pods())

    def wait_until_all_bound(self, count: int, seconds: float = SLOW) -> None:
        """Wait until `count` pods are bound. Check that each was bound once."""
        eventually(lambda: len(self.api.bindings()) == count, seconds)
        assert set(self.api.bindings().values()) == {1}
        assert self.bound_count() == count

    def lease_holder(self) -> str:
        """Return the identity of the replica that holds the lease, or an empty string."""
        return str(self.case.reader.read(LEASE)["spec"].get("holderIdentity") or "")


@contextmanager
def in_world(directory: Path, **served_with: Any) -> Iterator[World]:
    """Run an API server; for `served_with` see `e2e.served.served`."""
    with served(directory, **served_with) as api, case_of(api.cluster, "fault") as case:
        yield World(api, case)


def problems(operator: Component) -> list[str]:
    """Return the warnings, errors and tracebacks in the operator's log."""
    lines = operator.log.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if " WARNING " in line or " ERROR " in line or "Traceback" in line]


def failed_requests(operator: Component) -> int:
    """Return how many requests of the operator got no answer."""
    lines = operator.endpoint.read("/metrics").splitlines()
    unanswered = [line for line in lines if line.startswith("rest_client_requests_total") and '"<error>"' in line]
    return sum(int(float(line.split()[-1])) for line in unanswered)

"""An embedded API server in a thread of the test's process, so that the test can inject faults.

The operator is a separate process, which a test can stop and kill.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from uuid import uuid4

from controlplane.ports import Ports
from e2e.clusters import Cluster, Manifest
from loops import loop_in_thread
from moorage.api.crd import crd
from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.injected_faults import FaultAction
from moorage.sandbox.simulation.node_groups import NodeGroup

CALL_SECONDS = 30.0
MAYBE_BOUND = {0, int(HTTPStatus.CREATED)}
"""HTTP statuses of the bindings that the server may have carried out. 0 means that the server sent no answer."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server and its event loop. All changes to the server run in that loop."""

    server: SandboxServer
    loop: asyncio.AbstractEventLoop
    cluster: Cluster

    def fault(self, action: FaultAction, *, verb: str = "", path: str = "", times: int | None = 1) -> None:
        """Inject a fault; for the arguments see `moorage.sandbox.injected_faults.InjectedFaults.add`."""
        self._call(lambda: self.server.faults.add(action, verb=verb, path=path, times=times))

    def heal(self) -> None:
        """Remove all faults."""
        self._call(self.server.faults.clear)

    def put(self, place: str, manifest: Manifest, *, namespace: str = "") -> None:
        """Store an object without validation and without setting defaults."""
        metadata = {"namespace": namespace} if namespace else {}
        metadata |= {"uid": str(uuid4()), "creationTimestamp": "2026-01-01T00:00:00Z", **manifest["metadata"]}
        self._call(lambda: self.server.store.create(place, {**manifest, "metadata": metadata}))

    def pause(self) -> None:
        """Stop the API server; it keeps its objects."""
        self._await(self.server.pause)

    def resume(self) -> None:
        """Start the API server again."""
        self._await(self.server.resume)

    def bindings(self) -> Counter[str]:
        """Return, for each pod, how many bindings the server carried out."""
        return Counter(
            path.split("/")[-2]
            for method, path, status in tuple(self.server.requests)
            if method == "POST" and path.endswith("/binding") and status in MAYBE_BOUND
        )

    def _call(self, function: Callable[[], Any]) -> None:
        async def call() -> None:
            function()

        self._await(call)

    def _await(self, function: Callable[[], Awaitable[None]]) -> None:
        async def call() -> None:
            await function()

        asyncio.run_coroutine_threadsafe(call(), self.loop).result(CALL_SECONDS)


@contextmanager
def served(directory: Path, *, cpu: str = "16", nodes: int = 4, with_crd: bool = True) -> Iterator[Served]:
    """Run an embedded API server with equal nodes."""
    group = NodeGroup.model_validate(
        {"name": "equal", "instanceType": "m5.4xlarge", "count": nodes, "cpu": cpu, "memory": "64Gi"}
    )
    server = SandboxServer(node_groups=[group], crds=[crd()] if with_crd else [])
    with closing(Ports()) as ports, loop_in_thread("served") as loop:
        kubeconfig = directory / "served.kubeconfig"
        made = Served(server, loop, Cluster(kubeconfig, directory, ports))
        try:
            made._await(server.start)
            kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
            yield made
        finally:
            made._await(server.stop)

"""The embedded API server: HTTP on a loopback port over one store.

    async with SandboxServer(node_groups=load_node_groups(None)) as server:
        ...  # server.url, server.token, server.kubeconfig()

Everything runs in the caller's event loop; entering starts, leaving stops.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

import yaml
from aiohttp import web

from moorage.sandbox.faults import Faults
from moorage.sandbox.http.endpoints import Endpoints
from moorage.sandbox.objects import Object
from moorage.sandbox.simulation.collector import Collector
from moorage.sandbox.simulation.disruption import DisruptionController
from moorage.sandbox.simulation.kubelet import Kubelet
from moorage.sandbox.simulation.nodes import NodeGroup
from moorage.sandbox.storage.initial_objects import seed
from moorage.sandbox.storage.registry import Registry
from moorage.sandbox.storage.store import Store

CONTEXT = "moorage-sandbox"
"""The name of cluster, user and context in the kubeconfigs of sandboxes."""
_MAX_BODY_BYTES = 3 * 1024 * 1024  # kube-apiserver's limit for one object
_KEPT_REQUESTS = 100_000


class Request(NamedTuple):
    """One request that was answered; `status` 0: the connection was dropped instead."""

    method: str
    path: str
    status: int


class _Simulation(Protocol):
    """A part of the cluster that runs beside the API server."""

    async def run(self) -> None: ...


class SandboxServer:
    """An API server with simulated nodes. `pause` and `resume` make it unreachable for a while, state kept."""

    def __init__(  # noqa: PLR0913 - one entry point, all keywords with defaults
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        node_groups: Sequence[NodeGroup] = (),
        crds: Sequence[Mapping[str, Any]] = (),
        kubelet: bool = True,
        history: int = 10_000,
    ) -> None:
        """Serve on `port` (0: a free one) with nodes and custom kinds in place; `history` changes a kind are kept.

        `kubelet` False leaves bound pods and budgets alone, as an API server without any controller does.
        """
        self._host = host
        self._port = port
        self.token = secrets.token_hex(16)
        self.store = Store(history=history)
        self.faults = Faults()
        self.requests: deque[Request] = deque(maxlen=_KEPT_REQUESTS)
        self.registry = Registry(self.store, lambda: datetime.now(UTC))
        seed(self.registry, node_groups, crds)
        self._simulations: list[_Simulation] = [Collector(self.registry)]
        if kubelet:
            self._simulations += [Kubelet(self.registry), DisruptionController(self.registry)]
        self._tasks: list[asyncio.Task[None]] = []
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        await self.stop()

    @property
    def url(self) -> str:
        """The server's address, known once it has started."""
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen, and start the simulated rest of the cluster."""
        await self.resume()
        self._tasks = [asyncio.create_task(simulation.run()) for simulation in self._simulations]

    async def stop(self) -> None:
        """Close everything; open watches end."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._tasks = []
        await self.pause()

    async def pause(self) -> None:
        """Go away: the port is closed and every connection dropped. Objects stay, and so do simulations."""
        runner, self._runner = self._runner, None
        if runner is None:
            return
        for site in tuple(runner.sites):
            await site.stop()
        if runner.server is not None:
            for connection in tuple(runner.server.connections):
                if connection.transport is not None:
                    connection.transport.abort()
        await runner.cleanup()

    async def resume(self) -> None:
        """Listen, on the port of before if there was one."""
        if self._runner is not None:
            return
        endpoints = Endpoints(self.registry, self.faults, self.token, self._record)
        app = web.Application(client_max_size=_MAX_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", endpoints.handle)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self._port, reuse_address=True).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        self._port = runner.addresses[0][1]

    def kubeconfig(self) -> str:
        """YAML that kubectl and clients take to reach this server."""
        config: Object = {
            "apiVersion": "v1", "kind": "Config", "current-context": CONTEXT,
            "clusters": [{"name": CONTEXT, "cluster": {"server": self.url}}],
            "users": [{"name": CONTEXT, "user": {"token": self.token}}],
            "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
        }  # fmt: skip
        return yaml.safe_dump(config, sort_keys=False)

    def _record(self, request: web.Request, status: int) -> None:
        self.requests.append(Request(request.method, request.path, HTTPStatus(status) if status else 0))

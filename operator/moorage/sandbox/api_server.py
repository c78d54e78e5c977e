"""The embedded API server: builds the store, the HTTP handlers and the simulated controllers, and runs them.

    async with SandboxServer(node_groups=load_node_groups(None)) as server:
        ...  # server.url, server.token, server.kubeconfig()

The server and the controllers run in the caller's event loop.
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

from moorage.sandbox.http.handler_chain import HandlerChain
from moorage.sandbox.injected_faults import InjectedFaults
from moorage.sandbox.objects import Object
from moorage.sandbox.operations.object_registry import ObjectRegistry
from moorage.sandbox.simulation.disruption import DisruptionController
from moorage.sandbox.simulation.garbage_collector import GarbageCollector
from moorage.sandbox.simulation.initial_objects import create_initial_objects
from moorage.sandbox.simulation.kubelet import Kubelet
from moorage.sandbox.simulation.node_groups import NodeGroup
from moorage.sandbox.storage.store import Store

CONTEXT = "moorage-sandbox"
"""The name of the cluster, user and context in a sandbox's kubeconfig."""
_MAX_BODY_BYTES = 3 * 1024 * 1024  # kube-apiserver's limit for one object
_KEPT_REQUESTS = 100_000


class AnsweredRequest(NamedTuple):
    """One answered request. `status` 0 means that an injected fault dropped the connection."""

    method: str
    path: str
    status: int


class _Controller(Protocol):
    """A controller that runs together with the API server."""

    async def run(self) -> None: ...


class SandboxServer:
    """An API server with simulated nodes. It runs inside `async with`, or from `start` to `stop`."""

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
        """Create the nodes and custom kinds. With `port` 0, the server chooses a free port when it starts.

        With `kubelet` False, the kubelet and the disruption controller do not run. `history` is the number of changes
        that the store keeps for each resource.
        """
        self._host = host
        self._port = port
        self.token = secrets.token_hex(16)
        self.store = Store(history=history)
        self.faults = InjectedFaults()
        self.requests: deque[AnsweredRequest] = deque(maxlen=_KEPT_REQUESTS)
        self.registry = ObjectRegistry(self.store, lambda: datetime.now(UTC))
        create_initial_objects(self.registry, node_groups, crds)
        self._controllers: list[_Controller] = [GarbageCollector(self.registry)]
        if kubelet:
            self._controllers += [Kubelet(self.registry), DisruptionController(self.store)]
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
        """The server's URL. With `port` 0, the URL is valid only after the start."""
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen, and start the controllers."""
        await self.resume()
        self._tasks = [asyncio.create_task(controller.run()) for controller in self._controllers]

    async def stop(self) -> None:
        """Stop the controllers and the server. Open watches end."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._tasks = []
        await self.pause()

    async def pause(self) -> None:
        """Close the port and drop all connections. Keeps all objects, and lets the controllers run."""
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
        """Listen. After a pause, use the same port as before."""
        if self._runner is not None:
            return
        handlers = HandlerChain(self.registry, self.faults, self.token, self._record)
        app = web.Application(client_max_size=_MAX_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", handlers.handle)
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
        """Return a kubeconfig for this server, as YAML."""
        config: Object = {
            "apiVersion": "v1", "kind": "Config", "current-context": CONTEXT,
            "clusters": [{"name": CONTEXT, "cluster": {"server": self.url}}],
            "users": [{"name": CONTEXT, "user": {"token": self.token}}],
            "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
        }  # fmt: skip
        return yaml.safe_dump(config, sort_keys=False)

    def _record(self, request: web.Request, status: int) -> None:
        self.requests.append(AnsweredRequest(request.method, request.path, HTTPStatus(status) if status else 0))

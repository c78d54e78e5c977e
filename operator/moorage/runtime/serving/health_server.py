"""Serves kube-scheduler's HTTP endpoints: health, metrics, configuration, and a summary of the cache."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from moorage.errors import MoorageError
from moorage.outside_text import one_line
from moorage.runtime.clock import Clock
from moorage.runtime.metrics.pod_resources import render_pod_resources
from moorage.runtime.metrics.process_metrics import CONTENT_TYPE
from moorage.runtime.serving.connection_acceptor import ConnectionAcceptor, ConnectionLimits, listening_sockets
from moorage.runtime.serving.explanation_turns import ExplanationTurns
from moorage.runtime.serving.recording_endpoint import PATH as RECORDING_PATH
from moorage.runtime.serving.recording_endpoint import RecordingEndpoint, RecordingSwitch
from moorage.runtime.serving.statusz import Statusz
from moorage.runtime.serving.why_endpoint import Explain, ReadableNamespaces, SearchChanges, WhyEndpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from ssl import SSLContext

    from aiohttp.typedefs import Middleware

    from moorage.engine.records.explanation import Explanation
    from moorage.model.pods.pod import Pod
    from moorage.runtime.metrics.serving_metrics import ServingMetrics

SHUTDOWN_SECONDS = 1.0
"""The longest time that open connections may delay a stop."""
UNHEALTHY = 500
PORT_ERRORS = frozenset({errno.EADDRINUSE, errno.EACCES})
"""Errors that the user can solve with another port. All other errors need another address."""
DEFAULT_LIMITS = ConnectionLimits()


def _explain_nothing(namespace: str, name: str, node: str) -> None:
    """Return None, because no pod is known."""
    del namespace, name, node


def _search_nothing(explanation: Explanation) -> None:
    """Return None, because there is nothing to search for."""
    del explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSources:
    """The sources of the endpoints' answers. A check returns a text that describes its failure; empty if it passes."""

    livez: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    readyz: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    details: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    """Texts that are shown for checks that pass, by the name of the check."""
    metrics: Callable[[], bytes]
    pods: Callable[[], Iterable[Pod]] = tuple
    """The pods of `/metrics/resources`; none on a replica that does not lead."""
    clock: Clock = field(default_factory=Clock)
    started_at: float = 0.0
    """The start of the process, in seconds since the epoch."""
    configz: Callable[[], Any]
    debug_cache: Callable[[], Any]
    explain: Explain = _explain_nothing
    """The explanations of `/why`."""
    recording: RecordingSwitch | None = None
    """Starts and stops recordings."""
    search_changes: SearchChanges = _search_nothing
    """The searches for changes in the explanations of `/why`."""


OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz"})
"""Open to all callers: kubelets have no token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingSecurity:
    """The TLS context, and the middleware that authorizes callers."""

    context: SSLContext
    middleware: Middleware
    readable_namespaces: ReadableNamespaces | None = None
    """Returns the namespaces whose pods a caller may get. None means all namespaces."""


class HealthServer:
    """Serves the endpoints."""

    def __init__(
        self,
        endpoints: EndpointSources,
        metrics: ServingMetrics,
        security: ServingSecurity | None = None,
        limits: ConnectionLimits = DEFAULT_LIMITS,
    ) -> None:
        """Prepare the server; `start` starts it. Without `security`, it serves plain HTTP to all callers."""
        self._endpoints = endpoints
        self._serving_metrics = metrics
        self._security = security
        self._limits = limits
        self._runner: web.AppRunner | None = None
        self._acceptor: ConnectionAcceptor | None = None

    async def start(self, address: str, port: int) -> int:
        """Listen on `port` and return it. If `port` is 0, choose a free port.

        Raise MoorageError if the port is taken, or if this machine does not have the address.
        """
        runner = web.AppRunner(
            self._application(),
            access_log=None,
            shutdown_timeout=SHUTDOWN_SECONDS,
            keepalive_timeout=self._limits.idle_seconds,  # this time also limits the first request of a connection
            logger=ServerLog(logging.getLogger("aiohttp.server")),
        )
        await runner.setup()
        try:
            listening = listening_sockets(address, port)
        except OSError as error:
            await runner.cleanup()
            flag = "--port" if error.errno in PORT_ERRORS else "--bind-address"
            where = f"{in_url(address)}:{port}"
            raise MoorageError(f"cannot listen on {where}: {error.strerror}; choose another {flag}") from error
        context = self._security.context if self._security else None
        self._runner = runner
        factory = cast("web.Server", runner.server)  # `setup` has set it
        self._acceptor = ConnectionAcceptor(listening, factory, context, self._limits, self._serving_metrics)
        self._acceptor.start()
        return int(listening[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop listening."""
        if self._acceptor and self._runner:
            await self._acceptor.close()
            await self._runner.cleanup()
            self._acceptor = self._runner = None

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[self._security.middleware] if self._security else [])
        live, ready, details = self._endpoints.livez, self._endpoints.readyz, self._endpoints.details
        application.router.add_get("/healthz", _probe("healthz", live, details))
        application.router.add_get("/livez", _probe("livez", live, details))
        application.router.add_get("/readyz", _probe("readyz", {**live, **ready}, details))
        application.router.add_get("/metrics", self._metrics)
        application.router.add_get("/metrics/resources", self._pod_resources)
        application.router.add_get("/configz", _json(self._endpoints.configz))
        application.router.add_get("/debug/cache", _json(self._endpoints.debug_cache))
        readable = self._security.readable_namespaces if self._security else None
        turns = ExplanationTurns(self._endpoints.clock)
        why = WhyEndpoint(self._endpoints.explain, self._endpoints.search_changes, readable, turns)
        application.router.add_get("/why", why.answer)
        if self._endpoints.recording is not None:
            recording = RecordingEndpoint(self._endpoints.recording)
            application.router.add_get(RECORDING_PATH, recording.show)
            application.router.add_post(RECORDING_PATH, recording.start)
            application.router.add_delete(RECORDING_PATH, recording.stop)
        paths = sorted(resource.canonical for resource in application.router.resources())
        statusz = Statusz(self._endpoints.clock, self._endpoints.started_at, paths)
        application.router.add_get("/statusz", statusz.answer)
        return application

    async def _metrics(self, request: web.Request) -> web.Response:
        del request
        return web.Response(body=self._endpoints.metrics(), headers={"Content-Type": CONTENT_TYPE})

    async def _pod_resources(self, request: web.Request) -> web.Response:
        """Render the metrics in a thread, because this takes long in a large cluster."""
        del request
        text = await asyncio.to_thread(render_pod_resources, [*self._endpoints.pods()])
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE})


class ServerLog(logging.LoggerAdapter[logging.Logger]):
    """The log of aiohttp. Malformed requests are logged at DEBUG, because any client can send them."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log at `level`, or at DEBUG if the request is malformed."""
        is_malformed = isinstance(kwargs.get("exc_info"), HttpProcessingError)
        super().log(logging.DEBUG if is_malformed else level, msg, *args, **kwargs)


def _probe(
    name: str, checks: Mapping[str, Callable[[], str]], details: Mapping[str, Callable[[], str]]
) -> Callable[[web.Request], Any]:
    """Return a handler that answers as Kubernetes' components do: `ok`, or one line for each check."""

    def passed(check: str) -> str:
        return f"[+]{check} ok: {details[check]()}" if check in details else f"[+]{check} ok"

    async def answer(request: web.Request) -> web.Response:
        faults = {check: fault for check, test in checks.items() if (fault := test())}
        if not faults and "verbose" not in request.query:
            return web.Response(text="ok")
        lines = [f"[-]{check} failed: {faults[check]}" if check in faults else passed(check) for check in checks]
        lines.append(f"{name} check {'failed' if faults else 'passed'}")
        text = "\n".join(map(one_line, lines)) + "\n"
        return web.Response(text=text, status=UNHEALTHY if faults else web.HTTPOk.status_code)

    return answer


def _json(read: Callable[[], Any]) -> Callable[[web.Request], Any]:
    async def answer(request: web.Request) -> web.Response:
        del request
        return web.json_response(read(), dumps=lambda value: json.dumps(value, default=str))

    return answer


def in_url(address: str) -> str:
    """Return the address as in URLs, with brackets around an IPv6 address."""
    return f"[{address}]" if ":" in address else address


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"

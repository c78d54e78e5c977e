"""The HTTP endpoints that kube-scheduler has too: health, metrics, configuration, and a look into the cache."""

from __future__ import annotations

import errno
import ipaddress
import json
import logging
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from moorage.errors import MoorageError
from moorage.runtime.metrics.process_metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from ssl import SSLContext

    from aiohttp.typedefs import Middleware

SHUTDOWN_SECONDS = 1.0
"""How long open connections may hold up a stop."""
IDLE_SECONDS = 10.0
"""How long a connection may stay open without a whole request's head: the first, or the next one."""
UNHEALTHY = 500
FAULTS_OF_PORTS = frozenset({errno.EADDRINUSE, errno.EACCES})
"""Errors that another port helps against; the others are the address's."""
EVERY_ADDRESS = "::"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """What the endpoints answer from. A check returns why it fails, or nothing."""

    livez: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    readyz: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    metrics: Callable[[], bytes]
    configz: Callable[[], Any]
    debug_cache: Callable[[], Any]


OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz"})
"""What anybody may ask: kubelets have no token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """HTTPS, and who may read what."""

    context: SSLContext
    middleware: Middleware


class HealthServer:
    """Serves the endpoints."""

    def __init__(
        self, endpoints: Endpoints, security: Security | None = None, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        """Nothing is served before `start`; without `security` it is served as plain HTTP, to everybody."""
        self._idle_seconds = idle_seconds
        self._endpoints = endpoints
        self._security = security
        self._runner: web.AppRunner | None = None

    async def start(self, address: str, port: int) -> int:
        """Listen, and return the port: the one that was asked for, or a free one for 0.

        Raises MoorageError where the port is taken, or the address is none of this machine's.
        """
        context = self._security.context if self._security else None
        runner = web.AppRunner(
            self._application(),
            access_log=None,
            shutdown_timeout=SHUTDOWN_SECONDS,
            keepalive_timeout=self._idle_seconds,  # counts from the connection's start too
            logger=_ServerLog(logging.getLogger("aiohttp.server")),
        )
        await runner.setup()
        try:
            await _site(runner, address, port, context).start()
        except OSError as error:
            await runner.cleanup()
            flag = "--port" if error.errno in FAULTS_OF_PORTS else "--bind-address"
            where = f"{in_url(address)}:{port}"
            raise MoorageError(f"cannot listen on {where}: {error.strerror}; choose another {flag}") from error
        self._runner = runner
        return int(runner.addresses[0][1])

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[self._security.middleware] if self._security else [])
        live, ready = self._endpoints.livez, self._endpoints.readyz
        application.router.add_get("/healthz", _probe("healthz", live))
        application.router.add_get("/livez", _probe("livez", live))
        application.router.add_get("/readyz", _probe("readyz", {**live, **ready}))
        application.router.add_get("/metrics", self._metrics)
        application.router.add_get("/configz", _json(self._endpoints.configz))
        application.router.add_get("/debug/cache", _json(self._endpoints.debug_cache))
        return application

    async def _metrics(self, request: web.Request) -> web.Response:
        del request
        return web.Response(body=self._endpoints.metrics(), headers={"Content-Type": CONTENT_TYPE})


class _ServerLog(logging.LoggerAdapter[logging.Logger]):
    """aiohttp's log, in which what is no HTTP is no error: anybody can send that."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log, or log as DEBUG where the client is to blame."""
        is_garbage = isinstance(kwargs.get("exc_info"), HttpProcessingError)
        super().log(logging.DEBUG if is_garbage else level, msg, *args, **kwargs)


def _probe(name: str, checks: Mapping[str, Callable[[], str]]) -> Callable[[web.Request], Any]:
    """Answer as Kubernetes' components do: `ok`, or each check on a line of its own."""

    async def answer(request: web.Request) -> web.Response:
        faults = {check: fault for check, test in checks.items() if (fault := test())}
        if not faults and "verbose" not in request.query:
            return web.Response(text="ok")
        lines = [f"[-]{check} failed: {faults[check]}" if check in faults else f"[+]{check} ok" for check in checks]
        lines.append(f"{name} check {'failed' if faults else 'passed'}")
        return web.Response(text="\n".join(lines) + "\n", status=UNHEALTHY if faults else web.HTTPOk.status_code)

    return answer


def _json(read: Callable[[], Any]) -> Callable[[web.Request], Any]:
    async def answer(request: web.Request) -> web.Response:
        del request
        return web.json_response(read(), dumps=lambda value: json.dumps(value, default=str))

    return answer


def _site(runner: web.AppRunner, address: str, port: int, context: SSLContext | None) -> web.BaseSite:
    """Listen for IPv4 too where the address is all of IPv6's, as Go's servers do; asyncio would not."""
    if address == EVERY_ADDRESS and socket.has_dualstack_ipv6():
        listening = socket.create_server((address, port), family=socket.AF_INET6, dualstack_ipv6=True)
        return web.SockSite(runner, listening, ssl_context=context)
    return web.TCPSite(runner, address, port, ssl_context=context)


def in_url(address: str) -> str:
    """Return an address as URLs have it: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


def is_loopback(address: str) -> bool:
    """Whether an address is reached from this machine alone."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"

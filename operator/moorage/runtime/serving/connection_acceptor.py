"""Accepts connections for the HTTP endpoints, with a limit on their number and on the time of a TLS handshake.

asyncio's own server has no limit on connections, and a connection that never finishes its handshake needs 300 kB of
memory. At the limit, each new connection closes the oldest connection. A kubelet's probe needs milliseconds, so it is
answered even while another client opens thousands of connections.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from dataclasses import dataclass
from traceback import clear_frames
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from ssl import SSLContext

    from moorage.runtime.metrics.serving_metrics import ServingMetrics

logger = logging.getLogger(__name__)

BACKLOG = 128
ACCEPT_PAUSE_SECONDS = 1.0
"""The pause after a connection could not be accepted, for example because the process has no file descriptor left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Limits on connections, which any client in the network can open."""

    connections: int = 128
    """Kubelets and Prometheus need fewer than ten connections. 128 connections without a finished handshake need 40
    MB."""
    handshake_seconds: float = 5.0
    """The longest TLS handshake. Even over a slow network, a handshake needs only one second."""
    idle_seconds: float = 10.0
    """Time limit for a connection to send the complete head of its first or next request."""


class ConnectionAcceptor:
    """A server that accepts connections. `factory` returns the protocol for a new connection."""

    def __init__(
        self,
        listening: Sequence[socket.socket],
        factory: Callable[[], asyncio.Protocol],
        tls: SSLContext | None,
        limits: ConnectionLimits,
        metrics: ServingMetrics,
    ) -> None:
        """Store the settings; `start` begins to accept connections."""
        self._listening = listening
        self._factory = factory
        self._tls = tls
        self._limits = limits
        self._metrics = metrics
        self._open: list[socket.socket] = []
        """The open connections, the oldest first."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_logged_limit = False

    def start(self) -> None:
        """Accept connections in the background."""
        for listening in self._listening:
            listening.setblocking(False)
            self._run(self._accept_all(listening))

    async def close(self) -> None:
        """Stop accepting, and cancel the handshakes. The protocols close the other connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for listening in self._listening:
            listening.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept_all(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                logger.warning("A connection to the HTTP endpoints cannot be accepted: %s", error)
                await asyncio.sleep(ACCEPT_PAUSE_SECONDS)
                continue
            self._make_room()
            self._open.append(accepted)
            self._run(self._connect(accepted))
            await asyncio.sleep(0)  # a flood of connections must not stop the other tasks

    async def _connect(self, accepted: socket.socket) -> None:
        timeout = self._limits.handshake_seconds if self._tls else None
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._factory, accepted, ssl=self._tls, ssl_handshake_timeout=timeout
            )
        except OSError as error:  # ssl.SSLError and the timeout of the handshake are OSErrors
            self._metrics.observe_refused("handshake")
            logger.debug("The TLS handshake of a client failed: %s", error)
            # asyncio's frames refer to the error. They would keep 300 kB of TLS state in memory until a full garbage
            # collection.
            clear_frames(error.__traceback__)
            accepted.close()

    def _make_room(self) -> None:
        """Close the oldest connection if the number of open connections has reached the limit."""
        if len(self._open) < self._limits.connections:
            return
        self._open = [accepted for accepted in self._open if accepted.fileno() >= 0]
        if len(self._open) < self._limits.connections:
            return
        with suppress(OSError):  # the client has closed the connection
            self._open.pop(0).shutdown(socket.SHUT_RDWR)
        self._metrics.observe_refused("connections")
        if not self._has_logged_limit:
            self._has_logged_limit = True
            logger.warning(
                "%d connections to the HTTP endpoints are open at once; each further one closes the oldest and is "
                "counted in moorage_serving_refused_total",
                self._limits.connections,
            )


def listening_sockets(address: str, port: int) -> list[socket.socket]:
    """Return a listening socket for each address of a host; raise OSError if that fails.

    As in Go, `::` accepts IPv4 too.
    """
    if address == "::" and socket.has_dualstack_ipv6():
        return [socket.create_server((address, port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True)]
    made: list[socket.socket] = []
    found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    try:
        for family, where in dict.fromkeys((family, where[:2]) for family, _, _, _, where in found):
            made.append(socket.create_server(where, family=family, backlog=BACKLOG))
    except OSError:
        for each in made:
            each.close()
        raise
    return made

"""Sockets that detect a dead peer, with TCP keep-alive and a limit on unacknowledged data."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import WriteTransport

CONNECT_SECONDS = 5.0
IDLE_CONNECTION_SECONDS = 75.0
"""An idle connection is closed after this time. Any cloud's load balancer would close it later (AWS 350 s, Azure 240 s,
GCP 600 s)."""
KEEPALIVE_IDLE_SECONDS, KEEPALIVE_INTERVAL_SECONDS, KEEPALIVE_PROBES = 30, 10, 3
"""These settings detect a dead peer after a minute, even if a watch is silent."""
UNACKNOWLEDGED_MILLISECONDS = 30_000
"""TCP_USER_TIMEOUT: data that is not acknowledged for this long breaks the connection."""

RESET_AT_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with zero seconds. Without it, the system sends unsent bytes for half a minute after the close."""


def keepalive_socket(address: tuple[int, int, int, str, tuple[object, ...]]) -> socket.socket:
    """Return a socket for an entry of `getaddrinfo`."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):  # Linux; other systems keep their own timing
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_PROBES)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MILLISECONDS)
    return made


async def connected_socket(host: str, port: int) -> socket.socket:
    """Return a socket to the first address of a host that accepts; raise OSError if no address does."""
    loop = asyncio.get_running_loop()
    fault: OSError = OSError(f"{host} has no address")
    for address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        made = keepalive_socket(address)
        try:
            await loop.sock_connect(made, address[4])
        except OSError as error:
            made.close()
            fault = error
        except BaseException:
            made.close()
            raise
        else:
            return made
    raise fault


def reset(transport: WriteTransport) -> None:
    """Close a connection at once. Neither asyncio nor the system sends more of its bytes."""
    sock = transport.get_extra_info("socket")
    if sock is not None and sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
    transport.abort()

"""Chooses loopback ports, without conflicts between test runs on the same machine."""

import random
import socket
from collections.abc import Sequence
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"
PORTS = range(20000, 32000)
"""These ports are below the ports of outgoing connections, so that a port stays free while its server is down."""


class Ports:
    """A reservation of TCP ports until `close` or the end of the process.

    A port is free until its server binds it, so another test run could choose it too. Therefore a reservation holds the
    UDP port with the same number, which no server here uses.
    """

    def __init__(self, numbers: Sequence[int] = PORTS) -> None:
        self._numbers = numbers
        self._held = ExitStack()

    def take(self) -> int:
        """Return a port without a listener and without another reservation; raise OSError if there is none."""
        for port in random.sample(self._numbers, len(self._numbers)):
            if self._hold(port):
                return port
        raise OSError(f"no free port among {len(self._numbers)} on {LOOPBACK}")

    def close(self) -> None:
        """Release all ports."""
        self._held.close()

    def _hold(self, port: int) -> bool:
        with ExitStack() as attempt:
            lock = attempt.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            try:
                lock.bind((LOOPBACK, port))
                with socket.socket() as probe:
                    probe.bind((LOOPBACK, port))
            except OSError:
                return False
            self._held.enter_context(attempt.pop_all())
            return True

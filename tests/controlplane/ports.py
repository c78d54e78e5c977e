"""Loopback ports that several test runs on one machine can choose at once without a clash."""

import random
import socket
from collections.abc import Sequence
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"
PORTS = range(20000, 32000)
"""Below the range that outgoing connections take theirs from: a port stays free while its server is down."""


class Ports:
    """TCP ports that are nobody's until `close`.

    Between the choice and the server's own bind a port is free, so another run could choose it, too. Therefore the UDP
    port of the same number, which no server here uses, is held as long as the TCP port is ours, or the process lives.
    """

    def __init__(self, numbers: Sequence[int] = PORTS) -> None:
        self._numbers = numbers
        self._held = ExitStack()

    def take(self) -> int:
        """Return a port that nobody listens on and nobody else has taken."""
        for port in random.sample(self._numbers, len(self._numbers)):
            if self._hold(port):
                return port
        raise OSError(f"no free port among {len(self._numbers)} on {LOOPBACK}")

    def close(self) -> None:
        """Give all ports back."""
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

"""Columns of the host ports in use on nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from moorage.cluster.arrays import BoolArray
    from moorage.cluster.columns.column import Column, Slots
    from moorage.model.pods.pod import HostPort

ANY_IP = "0.0.0.0"  # noqa: S104 - in the API, all addresses of the node


def conflicts(one: HostPort, other: HostPort) -> bool:
    """Return whether pods with these ports cannot share a node."""
    same = one.port == other.port and one.protocol == other.protocol
    return same and (one.ip == other.ip or ANY_IP in {one.ip, other.ip})


class PortColumns:
    """The number of pods that use each host port, by node."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._unused = slots.add_flags()
        self._users: dict[tuple[str, int], dict[str, Column[np.int64]]] = {}

    def add(self, port: HostPort, slot: int) -> None:
        """Count a pod that uses the port."""
        by_ip = self._users.setdefault((port.protocol, port.port), {})
        column = by_ip.get(port.ip)
        if column is None:
            column = by_ip[port.ip] = self._slots.add_integers()
        column.data[slot] += 1

    def remove(self, port: HostPort, slot: int) -> None:
        """Stop counting a pod that uses the port."""
        by_ip = self._users[port.protocol, port.port]
        column = by_ip[port.ip]
        column.data[slot] -= 1
        if not column.data[slot] and not column.entries.any():
            self._slots.discard(column)
            del by_ip[port.ip]
            if not by_ip:
                del self._users[port.protocol, port.port]

    def in_use(self, port: HostPort) -> BoolArray:
        """Return the nodes on which the port is in use. A port on all addresses conflicts with any address."""
        by_ip = self._users.get((port.protocol, port.port), {})
        taken = [column.entries > 0 for ip, column in by_ip.items() if ANY_IP in {port.ip, ip} or ip == port.ip]
        if not taken:
            return self._unused.entries
        result = taken[0]
        for each in taken[1:]:
            result |= each
        return result

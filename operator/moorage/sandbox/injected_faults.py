"""Faults that tests inject between a client and the API server.

This example fails the next two bindings:

    server.faults.add(Fail(429, retry_after_seconds=1), verb="create", path="/binding$", times=2)
"""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Delay:
    """A delay before the server handles the request."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """An error response. The request has no effect. An empty `reason` means the usual reason of the code."""

    code: int = 500
    reason: str = ""
    message: str = "injected fault"
    retry_after_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Reset:
    """A dropped connection. The request has an effect only if `handled` is true."""

    handled: bool = False


@dataclass(frozen=True, slots=True)
class Expire:
    """An error 410, as for a compacted revision. A watch gets the error as an ERROR event."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A pause of watches, including open watches. A paused watch sends nothing until the fault is removed."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a watch after `after_seconds`. If `midline` is true, the watch breaks in the middle of an event."""

    after_seconds: float = 0
    midline: bool = False


@dataclass(frozen=True, slots=True)
class Garbage:
    """A response with code 200 and a body that is not JSON, as from a broken proxy."""

    body: bytes = b"<html>502 Bad Gateway</html>"
    content_type: str = "text/html"


FaultAction: TypeAlias = Delay | Fail | Reset | Expire | Stall | End | Garbage


@dataclass(slots=True, eq=False)
class InjectedFault:
    """One action and the requests that it affects. `times` counts down to 0; None means no limit."""

    action: FaultAction
    verb: str
    path: re.Pattern[str]
    times: int | None

    def matches(self, verb: str, path: str) -> bool:
        """Return whether the fault affects a request."""
        return self.times != 0 and self.verb in {"", verb} and self.path.search(path) is not None


class InjectedFaults:
    """The active faults."""

    def __init__(self) -> None:
        """Start with no fault."""
        self._faults: list[InjectedFault] = []
        self._changed = asyncio.Event()

    def add(self, action: FaultAction, *, verb: str = "", path: str = "", times: int | None = 1) -> InjectedFault:
        """Activate a fault for the next `times` matching requests.

        If `times` is None, the fault stays active until it is removed.

        `verb` is a Kubernetes verb (get, list, watch, create, update, patch, delete). An empty verb matches all verbs.
        `path` is a regular expression that is searched in the path and query. A Stall ignores `times`.
        """
        fault = InjectedFault(action, verb, re.compile(path), times)
        self._faults.append(fault)
        self._wake_stalled()
        return fault

    def remove(self, fault: InjectedFault) -> None:
        """Deactivate a fault."""
        if fault in self._faults:
            self._faults.remove(fault)
        self._wake_stalled()

    def clear(self) -> None:
        """Deactivate all faults."""
        self._faults.clear()
        self._wake_stalled()

    def take(self, verb: str, path: str) -> Iterator[FaultAction]:
        """Yield the actions for a request, in the order in which they were added, and decrement their `times`."""
        for fault in tuple(self._faults):
            if isinstance(fault.action, Stall) or not fault.matches(verb, path):
                continue
            if fault.times is not None:
                fault.times -= 1
            yield fault.action

    async def stall(self, path: str) -> None:
        """Wait while a Stall is active for watches of `path`."""
        while any(isinstance(fault.action, Stall) and fault.matches("watch", path) for fault in self._faults):
            await self._changed.wait()

    def _wake_stalled(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

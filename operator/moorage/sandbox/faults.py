"""Faults that tests inject: what can go wrong between a client and an API server.

server.faults.add(Fail(429, retry_after_seconds=1), verb="create", path="/binding$", times=2)
"""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Delay:
    """Answer late."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """Answer with a failure instead of doing anything. The reason is the code's own unless one is given."""

    code: int = 500
    reason: str = ""
    message: str = "injected fault"
    retry_after_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Reset:
    """Drop the connection: before anything is done, or after it is done but not answered."""

    handled: bool = False


@dataclass(frozen=True, slots=True)
class Expire:
    """Say that the history is compacted: 410, in a watch as an ERROR event."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Keep watches open and silent, those that are open already included, until the fault is removed."""


@dataclass(frozen=True, slots=True)
class End:
    """End a watch after some time: cleanly, as an API server under load does, or in the middle of an event."""

    after_seconds: float = 0
    midline: bool = False


@dataclass(frozen=True, slots=True)
class Garbage:
    """Answer 200 with something else than was asked for, as a broken proxy does."""

    body: bytes = b"<html>502 Bad Gateway</html>"
    content_type: str = "text/html"


Action: TypeAlias = Delay | Fail | Reset | Expire | Stall | End | Garbage


@dataclass(slots=True, eq=False)
class Fault:
    """One action, the requests it strikes and how many are left to strike (None: all)."""

    action: Action
    verb: str
    path: re.Pattern[str]
    times: int | None

    def strikes(self, verb: str, path: str) -> bool:
        """Whether a request is struck."""
        return self.times != 0 and self.verb in {"", verb} and self.path.search(path) is not None


class Faults:
    """The faults in force. Each matching request takes one off their number."""

    def __init__(self) -> None:
        """Start without any."""
        self._faults: list[Fault] = []
        self._changed = asyncio.Event()

    def add(self, action: Action, *, verb: str = "", path: str = "", times: int | None = 1) -> Fault:
        """Put a fault in force for `times` requests (None: until removed).

        `verb` is Kubernetes' (get, list, watch, create, update, patch, delete; empty: any), `path` a regular
        expression that is searched in the path with its query. A Stall counts no requests.
        """
        fault = Fault(action, verb, re.compile(path), times)
        self._faults.append(fault)
        self._wake()
        return fault

    def remove(self, fault: Fault) -> None:
        """Take a fault out of force."""
        if fault in self._faults:
            self._faults.remove(fault)
        self._wake()

    def clear(self) -> None:
        """Take all faults out of force."""
        self._faults.clear()
        self._wake()

    def take(self, verb: str, path: str) -> Iterator[Action]:
        """Take what strikes this request, in the order it was added."""
        for fault in tuple(self._faults):
            if isinstance(fault.action, Stall) or not fault.strikes(verb, path):
                continue
            if fault.times is not None:
                fault.times -= 1
            yield fault.action

    async def stall(self, path: str) -> None:
        """Wait as long as watches of that path are to be silent."""
        while any(isinstance(fault.action, Stall) and fault.strikes("watch", path) for fault in self._faults):
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

"""PolicyStatusWriter: writes the statuses of policies by server-side apply, as soon as they change.

A change of the conditions or the generations is written at once, so that `kubectl wait` and users see the result of an
edit. If only counts change, the status is written at most once a second. Metrics show counts that change faster.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.errors import ApiError, ApiUnreachable, Conflict, NotFound, NotLeader
from moorage.runtime.api_resources import SCHEDULING_POLICY
from moorage.runtime.client.reachability import level_of
from moorage.runtime.wakeup import Wakeup

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

FIELD_MANAGER = "moorage"
INTERVAL_SECONDS = 1.0
"""The minimum time between two writes of one policy's status, and before a failed write is repeated."""
URGENT_SECONDS = 0.1
"""The minimum time between two writes if the conditions or the generations changed. It limits the writes for a policy
that is edited in a loop."""
PARALLEL_WRITES = 8
MAIN_FIELDS = ("schedulerName", "observedGeneration", "activeGeneration")


@dataclass(slots=True)
class _PendingStatus:
    """The wanted status of a policy, and the last written status."""

    uid: str
    wanted: Mapping[str, Any]
    written: Mapping[str, Any] | None = None
    tried_at: float = float("-inf")
    is_in_flight: bool = False
    has_failed: bool = False
    """Whether the last try failed."""
    has_logged: bool = False
    """Whether an error was logged since the last success."""

    @property
    def is_written(self) -> bool:
        """Whether the API server has the wanted status."""
        return self.wanted == self.written

    @property
    def due_at(self) -> float:
        """The time of the next write, on the monotonic clock."""
        is_urgent = self.written is None or _urgent_part(self.wanted) != _urgent_part(self.written)
        return self.tried_at + (URGENT_SECONDS if is_urgent and not self.has_failed else INTERVAL_SECONDS)


class PolicyStatusWriter:
    """Writes statuses. Repeats failed writes until the API server has the newest status of each policy."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        """Write through `client`."""
        self._client = client
        self._clock = clock
        self._policies: dict[str, _PendingStatus] = {}
        self._unwritten: dict[str, _PendingStatus] = {}
        self._wakeup = Wakeup(clock)
        self._turns = asyncio.Semaphore(PARALLEL_WRITES)

    def publish(self, name: str, uid: str, status: Mapping[str, Any]) -> None:
        """Set the wanted status of a policy, as JSON. It is written if it differs from the last one."""
        policy = self._policies.get(name)
        if policy is None or policy.uid != uid:
            policy = self._policies[name] = _PendingStatus(uid, status)
        policy.wanted = status
        if policy.is_written:
            self._unwritten.pop(name, None)
        else:
            self._unwritten[name] = policy
            self._wakeup.signal()

    def forget(self, name: str) -> None:
        """Drop a deleted policy."""
        self._policies.pop(name, None)
        self._unwritten.pop(name, None)

    async def run(self) -> None:
        """Write statuses until cancelled. A write that hangs delays no other policy."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                for name, policy in self._take_due():
                    tasks.create_task(self._write(name, policy))
                await self._wakeup.wait(self._seconds_to_next())

    async def flush(self) -> None:
        """Write every status that is due, and wait until that is done."""
        await asyncio.gather(*(self._write(name, policy) for name, policy in self._take_due()))

    def _take_due(self) -> list[tuple[str, _PendingStatus]]:
        """Return the policies to write now, and mark them as in flight."""
        now = self._clock.monotonic()
        due = [(name, one) for name, one in self._unwritten.items() if not one.is_in_flight and one.due_at <= now]
        for _, policy in due:
            policy.is_in_flight = True
        return due

    def _seconds_to_next(self) -> float | None:
        times = [policy.due_at for policy in self._unwritten.values() if not policy.is_in_flight]
        return max(0.0, min(times) - self._clock.monotonic()) if times else None

    async def _write(self, name: str, policy: _PendingStatus) -> None:
        """Write a status that `_take_due` returned."""
        try:
            async with self._turns:
                policy.tried_at = self._clock.monotonic()
                await self._apply(name, policy)
        finally:
            policy.is_in_flight = False
            if policy.is_written and self._unwritten.get(name) is policy:
                del self._unwritten[name]
            self._wakeup.signal()

    async def _apply(self, name: str, policy: _PendingStatus) -> None:
        wanted = policy.wanted
        body = {
            "apiVersion": SCHEDULING_POLICY.api_version,
            "kind": SCHEDULING_POLICY.kind,
            "metadata": {"name": name, "uid": policy.uid},
            "status": wanted,
        }
        path = f"{SCHEDULING_POLICY.path(name)}/status"
        try:
            await self._client.apply(path, msgspec.json.encode(body), FIELD_MANAGER)
        except (NotFound, Conflict, NotLeader):
            # The policy was deleted or created again, or another replica leads. A call of `forget` or `publish`
            # follows.
            policy.has_failed = True
        except (ApiError, ApiUnreachable) as error:
            policy.has_failed = True
            if not policy.has_logged:
                message = "The status of SchedulingPolicy %s cannot be written; trying again every %g s: %s"
                logger.log(level_of(error), message, name, INTERVAL_SECONDS, error)
            policy.has_logged = True
        else:
            policy.written = wanted
            policy.has_failed = policy.has_logged = False


def _urgent_part(status: Mapping[str, Any]) -> Hashable:
    """Return the part of a status that is written at once: names, generations, and conditions without texts."""
    conditions = ((one["type"], one["status"], one["reason"]) for one in status.get("conditions", ()))
    return tuple(status.get(field) for field in MAIN_FIELDS), tuple(conditions)

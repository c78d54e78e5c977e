"""PolicyStatusWriter: writes the statuses of policies by server-side apply, when they change, at most once a second.

Statuses are for users and `kubectl wait`. Numbers that change faster belong in metrics.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from moorage.errors import ApiError, ApiUnreachable, Conflict, NotFound, NotLeader
from moorage.runtime.api_resources import SCHEDULING_POLICY
from moorage.runtime.client.reachability import level_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

FIELD_MANAGER = "moorage"
INTERVAL_SECONDS = 1.0
"""The minimum time between two writes of one policy's status."""


@dataclass(slots=True)
class _PendingStatus:
    """The wanted status of a policy, and the last one that was written."""

    uid: str
    wanted: Mapping[str, object]
    written: Mapping[str, object] | None = None
    written_at: float = float("-inf")
    has_failed: bool = False

    def is_due(self, now: float) -> bool:
        return self.wanted != self.written and now - self.written_at >= INTERVAL_SECONDS


class PolicyStatusWriter:
    """A writer that repeats failed writes until the API server has the newest status of each policy."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        """Write through `client`."""
        self._client = client
        self._clock = clock
        self._policies: dict[str, _PendingStatus] = {}

    def publish(self, name: str, uid: str, status: Mapping[str, object]) -> None:
        """Set the wanted status of a policy, as JSON. It is written if it differs from the last one."""
        policy = self._policies.get(name)
        if policy is None or policy.uid != uid:
            self._policies[name] = _PendingStatus(uid, status)
        else:
            policy.wanted = status

    def forget(self, name: str) -> None:
        """Drop a deleted policy."""
        self._policies.pop(name, None)

    async def run(self) -> None:
        """Write statuses until cancelled."""
        while True:
            await self.flush()
            await self._clock.sleep(INTERVAL_SECONDS)

    async def flush(self) -> None:
        """Write every status that changed, except those that were written within the last second."""
        now = self._clock.monotonic()
        due = [(name, policy) for name, policy in self._policies.items() if policy.is_due(now)]
        await asyncio.gather(*(self._write(name, policy) for name, policy in due))

    async def _write(self, name: str, policy: _PendingStatus) -> None:
        policy.written_at = self._clock.monotonic()
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
            return  # deleted, created again, or another replica leads; `forget` or `publish` follows
        except (ApiError, ApiUnreachable) as error:
            if not policy.has_failed:
                message = "The status of SchedulingPolicy %s cannot be written, trying again every %g s: %s"
                logger.log(level_of(error), message, name, INTERVAL_SECONDS, error)
            policy.has_failed = True
        else:
            policy.written = wanted
            policy.has_failed = False

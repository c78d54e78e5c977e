"""The one writer of policies' statuses: server-side apply, on change, and seldom.

A status is read by people and by `kubectl wait`; what changes fast belongs to the metrics.
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
"""How often one policy's status is written at most."""


@dataclass(slots=True)
class _Written:
    """What a policy's status says, or shall say."""

    uid: str
    wanted: Mapping[str, object]
    written: Mapping[str, object] | None = None
    written_at: float = float("-inf")

    def is_due(self, now: float) -> bool:
        return self.wanted != self.written and now - self.written_at >= INTERVAL_SECONDS


class PolicyStatusWriter:
    """Writes statuses of policies, by the policy's name."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        """Write through `client`."""
        self._client = client
        self._clock = clock
        self._policies: dict[str, _Written] = {}
        self._failing = False

    def publish(self, name: str, uid: str, status: Mapping[str, object]) -> None:
        """Say what a policy's status shall be, as JSON has it. Nothing is written while it says so already."""
        policy = self._policies.get(name)
        if policy is None or policy.uid != uid:
            self._policies[name] = _Written(uid, status)
        else:
            policy.wanted = status

    def forget(self, name: str) -> None:
        """Drop a policy that was deleted."""
        self._policies.pop(name, None)

    async def run(self) -> None:
        """Write what has changed, until cancelled."""
        while True:
            await self.flush()
            await self._clock.sleep(INTERVAL_SECONDS)

    async def flush(self) -> None:
        """Write what has changed and is due."""
        now = self._clock.monotonic()
        due = [(name, policy) for name, policy in self._policies.items() if policy.is_due(now)]
        await asyncio.gather(*(self._write(name, policy) for name, policy in due))

    async def _write(self, name: str, policy: _Written) -> None:
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
            return  # gone, another one by now, or another leader's business; `forget` or `publish` follows
        except (ApiError, ApiUnreachable) as error:
            if not self._failing:
                words = "The status of SchedulingPolicy %s cannot be written, trying again: %s"
                logger.log(level_of(error), words, name, error)
            self._failing = True
        else:
            policy.written = wanted
            self._failing = False

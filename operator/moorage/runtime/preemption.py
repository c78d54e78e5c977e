"""Makes room for a pod that was nominated to a node: its victims get the DisruptionTarget condition and are deleted.

Where the policy's `pdbPolicy` is Strict, the eviction subresource deletes them instead, so that budgets hold.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec

from moorage.errors import ApiError, ApiUnreachable, Conflict, NotFound, NotLeader, TooManyRequests
from moorage.runtime.event import preempted
from moorage.runtime.kube import STRATEGIC_MERGE_PATCH
from moorage.runtime.resources import POD
from moorage.runtime.timestamps import whole_time

if TYPE_CHECKING:
    from moorage.engine.outcomes import Unschedulable
    from moorage.model.pod import Pod
    from moorage.runtime.clock import Clock
    from moorage.runtime.kube import KubeClient
    from moorage.runtime.reporter import Recorder

logger = logging.getLogger(__name__)

EVICTORS = 4
TRIES = 3
PAUSE_SECONDS = 1.0


class PreemptionObserver(Protocol):
    """Is told of preemptions, for metrics."""

    def observe_preemption(self, victims: int) -> None:
        """Count a preemption of that many victims."""


@dataclass(frozen=True, slots=True)
class _Eviction:
    """One victim, and who takes its place."""

    victim: Pod
    preemptor: Pod
    profile: str
    strict: bool


class Evictor:
    """Evicts victims, a few at a time."""

    def __init__(self, client: KubeClient, recorder: Recorder, observer: PreemptionObserver, clock: Clock) -> None:
        """Evict through `client`."""
        self._client = client
        self._recorder = recorder
        self._observer = observer
        self._clock = clock
        self._queue: asyncio.Queue[_Eviction] = asyncio.Queue()

    def submit(self, outcome: Unschedulable) -> None:
        """Evict the outcome's victims."""
        self._observer.observe_preemption(len(outcome.victims))
        strict = outcome.profile.settings.strict_preemption
        for victim in outcome.victims:
            self._queue.put_nowait(_Eviction(victim, outcome.pod, outcome.profile.name, strict))

    async def run(self) -> None:
        """Evict until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(EVICTORS):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            await self._evict(await self._queue.get())

    async def _evict(self, eviction: _Eviction) -> None:
        """Evict with a few tries; a victim that stays is chosen again when the preemptor is tried again."""
        for attempt in range(TRIES):
            try:
                await (self._ask(eviction) if eviction.strict else self._delete(eviction))
            except (NotFound, Conflict):
                return  # gone already, or another pod of that name
            except (NotLeader, TooManyRequests) as error:
                logger.info("Pod %s is not preempted for %s: %s", eviction.victim.key, eviction.preemptor.key, error)
                return
            except (ApiError, ApiUnreachable) as error:
                logger.warning("Pod %s cannot be preempted: %s", eviction.victim.key, error)
                await self._clock.sleep(PAUSE_SECONDS * 2**attempt)
            else:
                self._recorder.record(preempted(eviction.victim, eviction.preemptor, eviction.profile))
                return

    async def _delete(self, eviction: _Eviction) -> None:
        victim = eviction.victim
        path = POD.path(victim.name, victim.namespace)
        if not victim.disruption_target:
            patch = {"metadata": {"uid": victim.uid}, "status": {"conditions": [self._condition(eviction)]}}
            await self._client.patch(f"{path}/status", msgspec.json.encode(patch), STRATEGIC_MERGE_PATCH)
        await self._client.delete(path, msgspec.json.encode(_delete_options(victim)))

    async def _ask(self, eviction: _Eviction) -> None:
        victim = eviction.victim
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": victim.name, "namespace": victim.namespace},
            "deleteOptions": _delete_options(victim),
        }
        path = f"{POD.path(victim.name, victim.namespace)}/eviction"
        await self._client.create(path, msgspec.json.encode(body))

    def _condition(self, eviction: _Eviction) -> dict[str, str]:
        return {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{eviction.profile}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": whole_time(self._clock.time()),
        }


def _delete_options(victim: Pod) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": victim.uid}}

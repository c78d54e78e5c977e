"""Evicts the victims of a pod that was nominated to a node: sets their DisruptionTarget condition and deletes them.

The last victim is deleted after all others, so that the node is free when its deletion event arrives. If a victim
cannot be deleted, the last victim is not deleted either, and the preemptor is tried again.

With `pdbPolicy: Strict` the victims are evicted one after the other through the eviction subresource, which keeps
disruption budgets. If a victim cannot be evicted, the preemptor's nomination is cleared, so that it reserves no
resources. The pod status writer does all other writes to `status.nominatedNodeName`.
Upstream: pkg/scheduler/framework/preemption/executor.go.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from moorage.engine.messages import TryAgain
from moorage.errors import ApiError, ApiUnreachable, Conflict, Forbidden, MoorageError, NotFound, NotLeader
from moorage.runtime.events.event import preempted, preemption_failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moorage.engine.outcomes import Unschedulable
    from moorage.model.pods.pod import Pod
    from moorage.runtime.clock import Clock
    from moorage.runtime.events.event_recorder import EventRecorder
    from moorage.runtime.metrics.scheduling_metrics import SchedulingMetrics
    from moorage.runtime.preemption.evicted_pods import EvictedPods
    from moorage.runtime.preemption.victim_writer import VictimWriter

logger = logging.getLogger(__name__)

PARALLEL_WRITES = 16
TRIES = 5
PAUSE_SECONDS = 1.0
"""The first pause between tries. Each pause is twice as long as the last, so all tries take 15 s. After the last try,
the preemptor is scheduled again."""


@dataclass(slots=True, kw_only=True)
class Evictor:
    """A queue of preemptors, and the tasks that evict their victims. The scheduling loop does not wait for them."""

    writer: VictimWriter
    evicted: EvictedPods
    recorder: EventRecorder
    metrics: SchedulingMetrics
    clock: Clock
    post: Callable[[TryAgain], None]
    knows_budgets: Callable[[], bool] = lambda: True
    """Whether the known disruption budgets are up to date. A failed eviction is repeated only if this is true."""
    _queue: asyncio.Queue[Unschedulable] = field(default_factory=asyncio.Queue, init=False)
    _preemptors: set[str] = field(default_factory=set, init=False)
    _writes: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PARALLEL_WRITES), init=False)

    def submit(self, outcome: Unschedulable) -> None:
        """Evict the outcome's victims. Do nothing if other victims of the same preemptor are still being evicted."""
        if outcome.pod.uid in self._preemptors:
            return
        self.metrics.observe_preemption(len(outcome.victims))
        self._preemptors.add(outcome.pod.uid)
        self._queue.put_nowait(outcome)

    async def run(self) -> None:
        """Evict until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(self._work(await self._queue.get()))

    async def _work(self, outcome: Unschedulable) -> None:
        result = _EvictionResult.FAILED
        try:
            result = await self._make_room(outcome)
            if result is _EvictionResult.FAILED and _is_strict(outcome):
                await self._clear_nominations([outcome.pod])
        except Exception:  # a bug must not end all other preemptions
            logger.exception("Preemption for pod %s failed with a bug; please report it", outcome.pod.key)
        finally:
            self._preemptors.discard(outcome.pod.uid)
        if result is _EvictionResult.FAILED:
            self.post(TryAgain(outcome.pod.uid, outcome.pod.nominated_node_name if _is_strict(outcome) else ""))

    async def _make_room(self, outcome: Unschedulable) -> _EvictionResult:
        await self._clear_nominations(outcome.displaced)
        victims = [victim for victim in outcome.victims if not victim.terminating]
        if not victims:
            return _EvictionResult.EVICTED
        if _is_strict(outcome):
            return await self._evict_in_turn(victims, outcome)
        results = await asyncio.gather(*(self._evict(victim, outcome) for victim in victims[:-1]))
        worst = max(results, key=lambda result: result.value, default=_EvictionResult.EVICTED)
        return await self._evict(victims[-1], outcome) if worst is _EvictionResult.EVICTED else worst

    async def _evict_in_turn(self, victims: Iterable[Pod], outcome: Unschedulable) -> _EvictionResult:
        """Evict victims in order. Stop at the first failure, because further evictions would not make enough room."""
        for victim in victims:
            result = await self._evict(victim, outcome)
            if result is not _EvictionResult.EVICTED:
                return result
        return _EvictionResult.EVICTED

    async def _clear_nominations(self, pods: Iterable[Pod]) -> None:
        """Clear the nominations of pods that have no room on their nominated nodes."""
        for pod in pods:
            try:
                async with self._writes:
                    await self.writer.clear_nomination(pod)
            except MoorageError as error:  # as upstream, no retry: the pod's next attempt writes its nomination
                logger.info("The nomination of pod %s was not cleared; its next attempt clears it: %s", pod.key, error)

    async def _evict(self, victim: Pod, outcome: Unschedulable) -> _EvictionResult:
        pause_seconds = PAUSE_SECONDS
        for attempt in range(1, TRIES + 1):
            try:
                grace_seconds = await self._write(victim, outcome)
            except (NotFound, Conflict):
                return _EvictionResult.EVICTED  # the victim is gone; another pod may have its name
            except NotLeader:
                return _EvictionResult.NOT_LEADER
            except (ApiError, ApiUnreachable) as error:
                if attempt == TRIES or isinstance(error, Forbidden):
                    self._report_failure(victim, outcome, error)
                    return _EvictionResult.FAILED
                await self.clock.sleep(pause_seconds)
                if not self.knows_budgets():
                    return _EvictionResult.FAILED  # a budget that is not known yet may protect the victim
                pause_seconds *= 2
            else:
                self.recorder.record(preempted(victim, outcome.pod, outcome.profile.name))
                self.evicted.add(victim, outcome.pod, outcome.profile.name, grace_seconds)
                return _EvictionResult.EVICTED
        raise AssertionError("the last try returns")

    async def _write(self, victim: Pod, outcome: Unschedulable) -> float:
        """Evict or delete the victim; return its grace period in seconds."""
        async with self._writes:
            if _is_strict(outcome):
                return await self.writer.evict(victim, outcome.profile.name)
            return await self.writer.delete(victim, outcome.profile.name)

    def _report_failure(self, victim: Pod, outcome: Unschedulable, error: MoorageError) -> None:
        logger.warning("Pod %s was not preempted for pod %s, trying again: %s", victim.key, outcome.pod.key, error)
        note = f"Pod {victim.key} on node {victim.node_name} could not be evicted; another attempt follows: {error}"
        self.recorder.record(preemption_failed(outcome.pod, note, outcome.profile.name))


class _EvictionResult(Enum):
    """The result of one eviction. The result of several evictions is the result with the highest value."""

    EVICTED = 1
    FAILED = 2
    NOT_LEADER = 3
    """This replica stopped leading. The next leader decides again."""


def _is_strict(outcome: Unschedulable) -> bool:
    return outcome.profile.settings.strict_preemption

"""Makes room for a pod that was nominated to a node: its victims get the DisruptionTarget condition and are deleted.

The last victim goes when all others are on their way, so that its end finds the node free; if one cannot go, the others
stay as far as they still can, and the preemptor is tried again. Where the policy's `pdbPolicy` is Strict, the eviction
subresource deletes them instead, one after the other, so that budgets hold; if one may not go, the nomination is taken
back, so that it keeps no room from others. Otherwise `status.nominatedNodeName` is the pod status writer's.
Upstream: pkg/scheduler/framework/preemption/executor.go.
"""

from __future__ import annotations

import asyncio
import logging
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from moorage.errors import ApiError, ApiUnreachable, Conflict, Forbidden, MoorageError, NotFound, NotLeader
from moorage.runtime.events.event import Event, pod_reference, preempted
from moorage.runtime.preemption.evicted_pods import Evicted, EvictedPods
from moorage.runtime.preemption.victim_writer import VictimWriter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.engine.outcomes import Unschedulable
    from moorage.model.pods.pod import Pod
    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.clock import Clock
    from moorage.runtime.reporter import Recorder

logger = logging.getLogger(__name__)

PARALLEL_WRITES = 16
TRIES = 5
PAUSE_SECONDS = 1.0
"""Between the tries, doubled each time: 15 s in all. A budget that stays used up longer is for another attempt."""


class PreemptionObserver(Protocol):
    """Is told of preemptions, for metrics."""

    def observe_preemption(self, victims: int) -> None:
        """Count a preemption of that many victims."""


class Surroundings(Protocol):
    """What preemption has to know of other pods, and whom it tells that it failed."""

    def is_there(self, pod: Pod) -> bool:
        """Whether the pod still exists, and is the same one."""

    def retry(self, preemptor: Pod, void_nomination: str = "") -> None:
        """Have a waiting pod tried again, though nothing has happened that it waits for.

        `void_nomination` is the node, if any, where no room could be made for it after all.
        """


class _Fate(Enum):
    """What became of a victim."""

    GOES = 1
    STAYS = 2
    NOT_OURS = 3
    """Another leader decides."""


class Evictor:
    """Evicts victims. Never makes the loop wait."""

    def __init__(
        self,
        client: KubeClient,
        recorder: Recorder,
        observer: PreemptionObserver,
        clock: Clock,
        surroundings: Surroundings,
    ) -> None:
        """Evict through `client`, and tell through `recorder`."""
        self._writer = VictimWriter(client, clock)
        self._recorder = recorder
        self._observer = observer
        self._clock = clock
        self._surroundings = surroundings
        self._evicted = EvictedPods(clock, surroundings.is_there, self._overdue)
        self._queue: asyncio.Queue[Unschedulable] = asyncio.Queue()
        self._preemptors: set[str] = set()
        self._writing = asyncio.Semaphore(PARALLEL_WRITES)

    def submit(self, outcome: Unschedulable) -> None:
        """Evict the outcome's victims, unless room is being made for the pod already."""
        if outcome.pod.uid in self._preemptors:
            return
        self._observer.observe_preemption(len(outcome.victims))
        self._preemptors.add(outcome.pod.uid)
        self._queue.put_nowait(outcome)

    async def run(self) -> None:
        """Evict until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._evicted.run())
            while True:
                tasks.create_task(self._work(await self._queue.get()))

    async def _work(self, outcome: Unschedulable) -> None:
        fate = _Fate.STAYS
        try:
            fate = await self._make_room(outcome)
            if fate is _Fate.STAYS and _is_strict(outcome):
                await self._clear_nominations([outcome.pod])
        except Exception:  # the border of the task: a fault must not end all other preemptions
            logger.exception("Preempting for pod %s failed in an unforeseen way", outcome.pod.key)
        finally:
            self._preemptors.discard(outcome.pod.uid)
        if fate is _Fate.STAYS:
            void = outcome.pod.nominated_node_name if _is_strict(outcome) else ""
            self._surroundings.retry(outcome.pod, void)

    async def _make_room(self, outcome: Unschedulable) -> _Fate:
        await self._clear_nominations(outcome.displaced)
        victims = [victim for victim in outcome.victims if not victim.terminating]
        if not victims:
            return _Fate.GOES
        if _is_strict(outcome):
            return await self._evict_in_turn(victims, outcome)
        fates = await asyncio.gather(*(self._evict(victim, outcome) for victim in victims[:-1]))
        worst = max(fates, key=lambda fate: fate.value, default=_Fate.GOES)
        return await self._evict(victims[-1], outcome) if worst is _Fate.GOES else worst

    async def _evict_in_turn(self, victims: Iterable[Pod], outcome: Unschedulable) -> _Fate:
        """Evict victims in the given order, until one does not go: whoever comes after it would go in vain."""
        for victim in victims:
            fate = await self._evict(victim, outcome)
            if fate is not _Fate.GOES:
                return fate
        return _Fate.GOES

    async def _clear_nominations(self, pods: Iterable[Pod]) -> None:
        """Take back the nominations of pods for which there is no room on their nodes after all."""
        for pod in pods:
            try:
                async with self._writing:
                    await self._writer.clear_nomination(pod)
            except MoorageError as error:  # as upstream: the pod's next attempt sets it right
                logger.info("The nomination of pod %s was not cleared: %s", pod.key, error)

    async def _evict(self, victim: Pod, outcome: Unschedulable) -> _Fate:
        pause_seconds = PAUSE_SECONDS
        for attempt in range(1, TRIES + 1):
            try:
                grace_seconds = await self._write(victim, outcome)
            except (NotFound, Conflict):
                return _Fate.GOES  # gone already, or another pod of that name
            except NotLeader:
                return _Fate.NOT_OURS
            except (ApiError, ApiUnreachable) as error:
                if attempt == TRIES or isinstance(error, Forbidden):
                    self._stays(victim, outcome, error)
                    return _Fate.STAYS
                await self._clock.sleep(pause_seconds)
                pause_seconds *= 2
            else:
                self._recorder.record(preempted(victim, outcome.pod, outcome.profile.name))
                self._evicted.add(victim, outcome.pod, outcome.profile.name, grace_seconds)
                return _Fate.GOES
        raise AssertionError("the last try returns")

    async def _write(self, victim: Pod, outcome: Unschedulable) -> float:
        async with self._writing:
            if _is_strict(outcome):
                return await self._writer.evict(victim, outcome.profile.name)
            return await self._writer.delete(victim, outcome.profile.name)

    def _stays(self, victim: Pod, outcome: Unschedulable, error: MoorageError) -> None:
        logger.warning("Pod %s was not preempted for pod %s: %s", victim.key, outcome.pod.key, error)
        note = f"Pod {victim.key} on node {victim.node_name} could not be evicted, another attempt follows: {error}"
        self._recorder.record(_failed(outcome.pod, note, outcome.profile.name))

    def _overdue(self, evicted: Evicted, seconds: float) -> None:
        victim = evicted.victim
        note = (
            f"Pod {victim.key} was evicted from node {victim.node_name} {seconds:.0f} s ago and is still there; "
            "look at its finalizers, and whether the node's kubelet is well"
        )
        self._recorder.record(_failed(evicted.preemptor, note, evicted.reporter))
        self._surroundings.retry(evicted.preemptor)


def _is_strict(outcome: Unschedulable) -> bool:
    return outcome.profile.settings.strict_preemption


def _failed(preemptor: Pod, note: str, reporter: str) -> Event:
    return Event(
        regarding=pod_reference(preemptor),
        reason="PreemptionFailed",
        action="Preempting",
        note=note,
        reporter=reporter,
        warning=True,
    )

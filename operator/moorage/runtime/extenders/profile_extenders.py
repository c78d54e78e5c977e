"""Asks a profile's extenders, in upstream's order and by its rules; and beyond them, within a time for all together.

Those that must not fail come first, then the ignorable ones, both as they were written. Upstream: extendersBinding in
pkg/scheduler/schedule_one.go, callExtenders in pkg/scheduler/framework/preemption/preemption.go.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moorage.engine.messages import ExtendersAnswered
from moorage.errors import ExtenderError, NotFound, NotLeader
from moorage.runtime.extenders.circuit_breaker import BreakerState, CircuitBreaker
from moorage.runtime.extenders.extender_connection import ExtenderConnection, without_user
from moorage.runtime.extenders.extender_cycle import ExtenderCycle
from moorage.runtime.extenders.http_extender import HttpExtender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from moorage.api.extender import Extender
    from moorage.engine.candidate import Candidate
    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod
    from moorage.runtime.extenders.extender_context import ExtenderContext, ExtenderLimits

VICTIM_READS = 16
"""How many victims' objects are read at once."""


@dataclass(frozen=True, slots=True)
class ExtenderHealth:
    """How an extender does."""

    state: BreakerState
    error: str
    """Why the last call failed; empty after a success."""


class ProfileExtenders:
    """The extenders of one profile."""

    def __init__(self, extenders: Iterable[Extender], ports: ExtenderContext, limits: ExtenderLimits) -> None:
        """Call nothing yet."""
        self._ports = ports
        self._limits = limits
        self._breakers: dict[str, CircuitBreaker] = {}
        in_order = sorted(extenders, key=lambda extender: extender.ignorable)
        self._extenders = tuple(self._connected(extender) for extender in in_order)
        self._asking = asyncio.Semaphore(limits.parallelism)

    def health(self) -> Mapping[str, ExtenderHealth]:
        """Return the extenders' health by urlPrefix."""
        return {name: ExtenderHealth(breaker.state, breaker.error) for name, breaker in self._breakers.items()}

    async def ask(self, pod: Pod, nodes: Mapping[str, Node]) -> ExtendersAnswered:
        """Filter these nodes, and rank what is left. An extender's failure is in the answer; never raises."""
        async with self._asking:
            until = self._ports.clock.monotonic() + self._limits.cycle_seconds
            cycle = ExtenderCycle(pod, nodes, until)
            interested = [extender for extender in self._extenders if extender.is_interested(pod)]
            try:
                await cycle.filter(interested)
            except ExtenderError as error:
                return ExtendersAnswered(pod_uid=pod.uid, error=str(error))
            await cycle.prioritize(interested)
            return cycle.answer()

    async def bind(self, pod: Pod, node_name: str) -> bool:
        """Have the extender that binds bind the pod; return whether there is one, and it has bound.

        Raises ExtenderError when it failed and is not ignorable, NotLeader when this replica may not bind any more.
        """
        for extender in self._extenders:
            if not extender.binds or not extender.is_interested(pod):
                continue
            if not self._ports.may_write():
                raise NotLeader(f"pod {pod.key} was not bound: this replica is not the leader any more")
            try:
                await extender.bind(pod, node_name)
            except ExtenderError:
                if not extender.is_ignorable:
                    raise
            else:
                return True
        return False

    async def preempt(
        self, pod: Pod, candidates: Sequence[Candidate], pods_on: Callable[[str], Iterable[Pod]]
    ) -> Sequence[Candidate]:
        """Return what the extenders leave of the candidates for preemption, and the victims that they want.

        `pods_on` gives the pods that are on a node. Raises ExtenderError when one fails that is not ignorable.
        """
        for extender in self._extenders:
            if not extender.preempts or not extender.is_interested(pod):
                continue
            try:
                candidates = await self._preempt(extender, pod, candidates, pods_on)
            except ExtenderError:
                if not extender.is_ignorable:
                    raise
            if not candidates:
                break
        return candidates

    async def _preempt(
        self,
        extender: HttpExtender,
        pod: Pod,
        candidates: Sequence[Candidate],
        pods_on: Callable[[str], Iterable[Pod]],
    ) -> Sequence[Candidate]:
        if not extender.needs_whole_victims:
            return await extender.preempt(pod, candidates, None, pods_on)
        objects = await self._read(victim for candidate in candidates for victim in candidate.victims)
        # Where a victim is gone, the node is another by now: its deletion brings the preemptor back.
        lasting = [one for one in candidates if objects.keys() >= {victim.uid for victim in one.victims}]
        return await extender.preempt(pod, lasting, objects, pods_on) if lasting else ()

    async def _read(self, pods: Iterable[Pod]) -> Mapping[str, bytes]:
        """Read the objects of pods, by uid; those that are gone are left out."""
        objects: dict[str, bytes] = {}
        free = asyncio.Semaphore(VICTIM_READS)

        async def read(pod: Pod) -> None:
            async with free:
                try:
                    objects[pod.uid] = await self._ports.read_pod(pod)
                except NotFound:
                    return

        await asyncio.gather(*map(read, pods))
        return objects

    def _connected(self, configuration: Extender) -> HttpExtender:
        breaker = self._breaker(without_user(configuration.url_prefix))
        connection = ExtenderConnection(configuration, self._ports, breaker, self._limits.cycle_seconds)
        return HttpExtender(configuration, connection)

    def _breaker(self, name: str) -> CircuitBreaker:
        """Return the breaker of an address: what is down there, is down for all its entries."""
        if name not in self._breakers:
            self._breakers[name] = CircuitBreaker(
                self._ports.clock,
                self._limits.failures_to_open,
                self._limits.open_seconds,
                lambda state: self._ports.observer.observe_extender_state(name, state.value),
            )
        return self._breakers[name]

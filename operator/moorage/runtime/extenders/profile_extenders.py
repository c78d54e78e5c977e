"""Calls the extenders of one profile, in upstream's order, with one time limit for all their calls.

Extenders that are not ignorable are called first, then ignorable extenders. Each group is called in the configured
order. Upstream has no time limit for all calls together.
Upstream: extendersBinding in pkg/scheduler/schedule_one.go, callExtenders in
pkg/scheduler/framework/preemption/preemption.go.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from moorage.engine.messages import ExtendersAnswered
from moorage.errors import ApiError, ApiUnreachable, ExtenderError, NotFound, NotLeader
from moorage.runtime.extenders.circuit_breaker import BreakerState, CircuitBreaker
from moorage.runtime.extenders.extender_connection import ExtenderConnection, without_user
from moorage.runtime.extenders.extender_cycle import ExtenderCycle
from moorage.runtime.extenders.http_extender import HttpExtender

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from moorage.api.extender import Extender
    from moorage.engine.candidate import Candidate
    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod
    from moorage.runtime.extenders.extender_context import ExtenderContext, ExtenderLimits
    from moorage.runtime.extenders.extender_results import ChooseVictims

PARALLEL_READS = 16
"""Number of victims' objects that are read at the same time."""


@dataclass(frozen=True, slots=True)
class ExtenderHealth:
    """The state of an extender's circuit breaker, and its last error."""

    state: BreakerState
    error: str
    """Error of the last call; empty after a success."""


class ProfileExtenders:
    """The extenders of one profile."""

    def __init__(self, extenders: Iterable[Extender], context: ExtenderContext, limits: ExtenderLimits) -> None:
        """Build the extenders without calling them."""
        self._context = context
        self._limits = limits
        self._breakers: dict[str, CircuitBreaker] = {}
        in_order = sorted(extenders, key=lambda extender: extender.ignorable)
        self._extenders = tuple(self._build(extender) for extender in in_order)
        self._turns = asyncio.Semaphore(limits.parallelism)

    def health(self) -> Mapping[str, ExtenderHealth]:
        """Return the health of each extender, by urlPrefix."""
        return {name: ExtenderHealth(breaker.state, breaker.error) for name, breaker in self._breakers.items()}

    async def filter_and_prioritize(self, pod: Pod, nodes: Mapping[str, Node]) -> ExtendersAnswered:
        """Filter the nodes, and score the remaining nodes. If an extender fails, return its error in the answer."""
        async with self._turns:
            until = self._context.clock.monotonic() + self._limits.cycle_seconds
            interested = [extender for extender in self._extenders if extender.is_interested(pod)]
            try:
                cycle = ExtenderCycle(await self._whole(pod), nodes, until, self._context.clock)
            except (ApiError, ApiUnreachable) as error:
                return ExtendersAnswered(pod_uid=pod.uid, error=str(error))
            try:
                await cycle.filter(interested)
            except (ExtenderError, ApiError, ApiUnreachable) as error:
                return ExtendersAnswered(pod_uid=pod.uid, error=str(error), calls=tuple(cycle.calls))
            await cycle.prioritize(interested)
            return cycle.answer()

    async def bind(self, pod: Pod, node_name: str) -> bool:
        """Let an extender that has a bindVerb bind the pod; return whether an extender bound it.

        Raises ExtenderError if an extender that is not ignorable fails, and NotLeader if this replica does not lead.
        """
        for extender in self._extenders:
            if not extender.binds or not extender.is_interested(pod):
                continue
            if not self._context.may_write():
                raise NotLeader(f"pod {pod.key} was not bound: this replica is not the leader any more")
            try:
                await extender.bind(pod, node_name)
            except ExtenderError:
                if not extender.is_ignorable:
                    raise
            else:
                return True
        return False

    async def preempt(self, pod: Pod, candidates: Sequence[Candidate], choose: ChooseVictims) -> Sequence[Candidate]:
        """Return the candidates for preemption that the extenders keep, with the victims that they choose.

        `choose` checks these victims. Raises ExtenderError if an extender that is not ignorable fails, and ApiError or
        ApiUnreachable if the pod cannot be read.
        """
        pod = await self._whole(pod)
        for extender in self._extenders:
            if not extender.preempts or not extender.is_interested(pod):
                continue
            try:
                candidates = await self._preempt(extender, pod, candidates, choose)
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
        choose: ChooseVictims,
    ) -> Sequence[Candidate]:
        if not extender.needs_whole_victims:
            return await extender.preempt(pod, candidates, None, choose)
        objects = await self._read_objects(victim for candidate in candidates for victim in candidate.victims)
        extender.check_size("preempt", objects.values())
        # Skip candidates whose victims were deleted. Each deletion makes the engine try the preemptor again, and the
        # new attempt reads the changed node.
        current = [one for one in candidates if objects.keys() >= {victim.uid for victim in one.victims}]
        return await extender.preempt(pod, current, objects, choose) if current else ()

    async def _whole(self, pod: Pod) -> Pod:
        """Return the pod with its whole object, because extenders receive whole objects."""
        return pod if pod.raw else replace(pod, raw=await self._context.read_pod(pod))

    async def _read_objects(self, pods: Iterable[Pod]) -> Mapping[str, bytes]:
        """Read the objects of pods, by uid. Leave out deleted pods. Stop after too many bytes."""
        objects: dict[str, bytes] = {}
        reads, size = asyncio.Semaphore(PARALLEL_READS), 0

        async def read(pod: Pod) -> None:
            nonlocal size
            async with reads:
                if size > self._limits.request_bytes:
                    return
                try:
                    objects[pod.uid] = await self._context.read_pod(pod)
                except NotFound:
                    return
                size += len(objects[pod.uid])

        await asyncio.gather(*map(read, pods))
        return objects

    def _build(self, configuration: Extender) -> HttpExtender:
        breaker = self._breaker_of(without_user(configuration.url_prefix))
        connection = ExtenderConnection(configuration, self._context, breaker, self._limits.cycle_seconds)
        return HttpExtender(configuration, connection, self._limits.request_bytes)

    def _breaker_of(self, name: str) -> CircuitBreaker:
        """Return the breaker of an address. Several extenders with the same address share one breaker."""
        if name not in self._breakers:
            self._breakers[name] = CircuitBreaker(
                self._context.clock,
                self._limits.failures_to_open,
                self._limits.open_seconds,
                lambda state: self._context.metrics.observe_extender_state(name, state.value),
            )
        return self._breakers[name]

"""Calls a profile's extenders for one pod: the filter calls in order, then all prioritize calls at once.

Upstream: findNodesThatPassExtenders and prioritizeNodes in pkg/scheduler/schedule_one.go.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from moorage.engine.messages import ExtenderCall, ExtendersAnswered
from moorage.errors import ExtenderError
from moorage.runtime.extenders.extender_results import ADDABLE

FILTER = "filter"
PRIORITIZE = "prioritize"

if TYPE_CHECKING:
    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod
    from moorage.runtime.clock import Clock
    from moorage.runtime.extenders.http_extender import HttpExtender


class ExtenderCycle:
    """The calls of extenders for one pod, and their combined answers."""

    def __init__(self, pod: Pod, nodes: Mapping[str, Node], until: float, clock: Clock) -> None:
        """Start with all nodes; `until` is when the time for all calls ends, on the monotonic clock."""
        self.calls: list[ExtenderCall] = []
        """The calls so far."""
        self._clock = clock
        self._pod = pod
        self._nodes = nodes
        self._until = until
        self._failed: dict[str, str] = {}
        self._unresolvable: dict[str, str] = {}
        self._scores: Counter[str] = Counter()

    async def filter(self, extenders: Sequence[HttpExtender]) -> None:
        """Call one extender after the other, until no node is left. Raises ExtenderError."""
        for extender in extenders:
            if not self._nodes:
                return
            started = self._clock.monotonic()
            try:
                result = await extender.filter(self._pod, self._nodes, self._until)
            except ExtenderError as error:
                self._record(extender, FILTER, started, str(error))
                if not extender.is_ignorable:
                    raise
            else:
                if extender.filters:
                    answer = f"keeps {len(result.kept)} of {len(self._nodes)} nodes"
                    self._record(extender, FILTER, started, answer)
                self._nodes = {name: self._nodes[name] for name in result.kept}
                self._failed |= result.failed
                self._unresolvable |= result.unresolvable

    async def prioritize(self, extenders: Sequence[HttpExtender]) -> None:
        """Call all extenders at once if there are several nodes. An extender that fails adds no score."""
        if len(self._nodes) > 1:
            await asyncio.gather(*map(self._add_scores, extenders))

    async def _add_scores(self, extender: HttpExtender) -> None:
        started = self._clock.monotonic()
        try:
            scores = await extender.prioritize(self._pod, self._nodes, self._until)
        except ExtenderError as error:
            self._record(extender, PRIORITIZE, started, str(error))
            return  # `ExtenderConnection` has logged the error; upstream also continues without the scores
        if extender.prioritizes:
            self._record(extender, PRIORITIZE, started, f"scores {len(scores)} of {len(self._nodes)} nodes")
        self._scores.update(scores)

    def _record(self, extender: HttpExtender, verb: str, started: float, answer: str) -> None:
        self.calls.append(ExtenderCall(extender.name, verb, self._clock.monotonic() - started, answer))

    def answer(self) -> ExtendersAnswered:
        """Return all answers as a message for the engine."""
        return ExtendersAnswered(
            pod_uid=self._pod.uid,
            node_names=frozenset(self._nodes),
            failed=self._failed,
            unresolvable=self._unresolvable,
            scores={name: min(max(score, ADDABLE[0]), ADDABLE[-1]) for name, score in self._scores.items()},
            calls=tuple(self.calls),
        )

"""Calls a profile's extenders for one pod: the filter calls in order, then all prioritize calls at once.

Upstream: findNodesThatPassExtenders and prioritizeNodes in pkg/scheduler/schedule_one.go.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from moorage.engine.messages import ExtendersAnswered
from moorage.errors import ExtenderError
from moorage.runtime.extenders.extender_results import ADDABLE

if TYPE_CHECKING:
    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod
    from moorage.runtime.extenders.http_extender import HttpExtender


class ExtenderCycle:
    """The calls of extenders for one pod, and their combined answers."""

    def __init__(self, pod: Pod, nodes: Mapping[str, Node], until: float) -> None:
        """Start with all nodes; `until` is when the time for all calls ends, on the monotonic clock."""
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
            try:
                result = await extender.filter(self._pod, self._nodes, self._until)
            except ExtenderError:
                if not extender.is_ignorable:
                    raise
            else:
                self._nodes = {name: self._nodes[name] for name in result.kept}
                self._failed |= result.failed
                self._unresolvable |= result.unresolvable

    async def prioritize(self, extenders: Sequence[HttpExtender]) -> None:
        """Call all extenders at once if there are several nodes. An extender that fails adds no score."""
        if len(self._nodes) > 1:
            await asyncio.gather(*map(self._add_scores, extenders))

    async def _add_scores(self, extender: HttpExtender) -> None:
        try:
            self._scores.update(await extender.prioritize(self._pod, self._nodes, self._until))
        except ExtenderError:
            return  # the connection has logged it; upstream continues without the scores too

    def answer(self) -> ExtendersAnswered:
        """Return all answers as a message for the engine."""
        return ExtendersAnswered(
            pod_uid=self._pod.uid,
            node_names=frozenset(self._nodes),
            failed=self._failed,
            unresolvable=self._unresolvable,
            scores={name: min(max(score, ADDABLE[0]), ADDABLE[-1]) for name, score in self._scores.items()},
        )

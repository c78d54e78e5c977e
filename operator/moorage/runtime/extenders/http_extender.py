"""One extender: whom it wants to be asked about, and its verbs. Upstream: HTTPExtender in pkg/scheduler/extender.go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.runtime.extenders.extender_connection import Question
from moorage.runtime.extenders.extender_protocol import (
    FilterAnswer,
    binding_arguments,
    nodes_arguments,
    preemption_arguments,
    read_binding,
    read_filter,
    read_preemption,
    read_scores,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from moorage.api.extender import Extender
    from moorage.engine.candidate import Candidate
    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod
    from moorage.runtime.extenders.extender_connection import ExtenderConnection

SCORE_FACTOR = 10
"""Extenders score 0 to 10, plugins 0 to 100."""


class HttpExtender:
    """An extender. Every call raises ExtenderError when it fails, ignorable or not."""

    def __init__(self, configuration: Extender, connection: ExtenderConnection) -> None:
        """Ask as `configuration` says, over `connection`."""
        self._configuration = configuration
        self._connection = connection
        self.is_ignorable = configuration.ignorable
        self.binds = configuration.bind_verb is not None
        self.preempts = configuration.preempt_verb is not None
        self.needs_whole_victims = not configuration.node_cache_capable
        """Whether a preempt call carries the victims' objects, not just their uids."""

    def is_interested(self, pod: Pod) -> bool:
        """Return whether the extender is asked about this pod."""
        return self._configuration.is_interested(pod.shape.limit_names)

    async def filter(self, pod: Pod, nodes: Mapping[str, Node], until: float) -> FilterAnswer:
        """Ask which nodes it keeps; all without a filterVerb. `until`: when the cycle's time ends, monotonic."""
        path = self._configuration.filter_verb
        if path is None:
            return FilterAnswer(tuple(nodes))
        names_only = self._configuration.node_cache_capable
        question = Question("filter", path, self._about(pod, nodes, path), until)
        answer = await self._connection.call(question, lambda body: read_filter(body, nodes, names_only=names_only))
        self._raise_if(answer.error, path)
        return answer

    async def prioritize(self, pod: Pod, nodes: Mapping[str, Node], until: float) -> Mapping[str, int]:
        """Ask what it adds to the nodes' totals, weight included; nothing without a prioritizeVerb."""
        path = self._configuration.prioritize_verb
        if path is None:
            return {}
        question = Question("prioritize", path, self._about(pod, nodes, path), until)
        factor = self._configuration.weight * SCORE_FACTOR
        scores = await self._connection.call(question, lambda body: read_scores(body, factor))
        return {name: score for name, score in scores.items() if name in nodes}

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Have it bind the pod. A failure leaves open whether it did."""
        path = self._configuration.bind_verb or ""
        question = Question("bind", path, binding_arguments(pod, node_name), repeatable=False)
        self._raise_if(await self._connection.call(question, read_binding), path)

    async def preempt(
        self,
        pod: Pod,
        candidates: Sequence[Candidate],
        objects: Mapping[str, bytes] | None,
        pods_on: Callable[[str], Iterable[Pod]],
    ) -> Sequence[Candidate]:
        """Ask which candidates it keeps, with which victims.

        `objects` are the victims' by uid where it `needs_whole_victims`; `pods_on` gives the pods on a node.
        """
        path = self._configuration.preempt_verb or ""
        body = self._encoded(path, lambda: preemption_arguments(pod, candidates, objects))
        question = Question("preempt", path, body)
        kept = await self._connection.call(question, lambda body: read_preemption(body, candidates, pods_on))
        empty = [candidate.node_name for candidate in kept if not candidate.victims]
        if empty and not self.is_ignorable:
            raise self._connection.error(path, f"it keeps node {empty[0]} and names no victim there")
        return [candidate for candidate in kept if candidate.victims]

    def _about(self, pod: Pod, nodes: Mapping[str, Node], path: str) -> bytes:
        names_only = self._configuration.node_cache_capable
        return self._encoded(path, lambda: nodes_arguments(pod, nodes, names_only=names_only))

    def _encoded(self, path: str, encode: Callable[[], bytes]) -> bytes:
        try:
            return encode()
        except ValueError as error:
            raise self._connection.error(path, f"it was not asked: {error}") from error

    def _raise_if(self, error: str, path: str) -> None:
        if error:
            raise self._connection.error(path, f"it answered with an error: {error}")

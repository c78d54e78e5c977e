"""One extender: the pods for which it is called, and its verbs. Upstream: HTTPExtender in pkg/scheduler/extender.go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.api.policy_extender import PolicyExtender
from moorage.runtime.extenders.extender_args import encode_args, encode_binding_args, encode_preemption_args
from moorage.runtime.extenders.extender_connection import ExtenderConnection, ExtenderRequest, without_user
from moorage.runtime.extenders.extender_results import (
    ExtenderFilterResult,
    decode_binding_result,
    decode_filter_result,
    decode_host_priorities,
    decode_preemption_result,
)
from moorage.runtime.extenders.shared_pod import shared_pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from moorage.api.extender import Extender
    from moorage.engine.candidate import Candidate
    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod
    from moorage.runtime.extenders.extender_results import ChooseVictims

SCORE_FACTOR = 10
"""Extenders score from 0 to 10, plugins from 0 to 100."""


class HttpExtender:
    """An extender. Every call raises ExtenderError when it fails, even if the extender is ignorable."""

    def __init__(self, configuration: Extender, connection: ExtenderConnection, max_request_bytes: int) -> None:
        """Call the extender over `connection`, with the verbs and limits of `configuration`."""
        self._max_request_bytes = max_request_bytes
        self._configuration = configuration
        self._connection = connection
        self._show = shared_pod if isinstance(configuration, PolicyExtender) else bytes
        """Returns the part of a pod's object that the extender receives."""
        self.name = without_user(configuration.url_prefix)
        self.filters = configuration.filter_verb is not None
        self.prioritizes = configuration.prioritize_verb is not None
        self.is_ignorable = configuration.ignorable
        self.binds = configuration.bind_verb is not None
        self.preempts = configuration.preempt_verb is not None
        self.needs_whole_victims = not configuration.node_cache_capable
        """Whether preempt calls contain the victims' objects instead of their uids."""

    def is_interested(self, pod: Pod) -> bool:
        """Return whether the extender is called for this pod."""
        return self._configuration.is_interested(pod.shape.limit_names)

    def check_size(self, verb: str, objects: Iterable[bytes]) -> None:
        """Raise ExtenderError if a request with these objects would be too large."""
        size = sum(map(len, objects))
        if size > self._max_request_bytes:
            raise self._connection.error(
                verb,
                f"not called: its request would have {size} bytes, more than {self._max_request_bytes}; "
                "set nodeCacheCapable: true to send names only",
            )

    async def filter(self, pod: Pod, nodes: Mapping[str, Node], until: float) -> ExtenderFilterResult:
        """Ask the extender which nodes to keep. Without a filterVerb, keep all nodes.

        `until` is the end of the cycle's time, on the monotonic clock.
        """
        path = self._configuration.filter_verb
        if path is None:
            return ExtenderFilterResult(tuple(nodes))
        names_only = self._configuration.node_cache_capable
        request = ExtenderRequest("filter", path, self._nodes_body(pod, nodes, path), until)
        result = await self._connection.call(
            request, lambda body: decode_filter_result(body, nodes, names_only=names_only)
        )
        self._raise_if(result.error, path)
        return result

    async def prioritize(self, pod: Pod, nodes: Mapping[str, Node], until: float) -> Mapping[str, int]:
        """Return the weighted scores to add to the nodes' totals. Without a prioritizeVerb, return no scores."""
        path = self._configuration.prioritize_verb
        if path is None:
            return {}
        request = ExtenderRequest("prioritize", path, self._nodes_body(pod, nodes, path), until)
        factor = self._configuration.weight * SCORE_FACTOR
        scores = await self._connection.call(request, lambda body: decode_host_priorities(body, factor))
        return {name: score for name, score in scores.items() if name in nodes}

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Let the extender bind the pod. If this raises an error, the pod may be bound nevertheless."""
        path = self._configuration.bind_verb or ""
        request = ExtenderRequest("bind", path, encode_binding_args(pod, node_name), repeatable=False)
        self._raise_if(await self._connection.call(request, decode_binding_result), path)

    async def preempt(
        self,
        pod: Pod,
        candidates: Sequence[Candidate],
        objects: Mapping[str, bytes] | None,
        choose: ChooseVictims,
    ) -> Sequence[Candidate]:
        """Return the candidates that the extender keeps, with the victims that it chooses.

        `objects` are the victims' objects by uid if the extender `needs_whole_victims`. `choose` checks the chosen
        victims.
        """
        path = self._configuration.preempt_verb or ""
        body = self._encode(path, lambda: encode_preemption_args(pod, candidates, objects, self._show))
        request = ExtenderRequest("preempt", path, body, decodes_in_loop=True)
        kept = await self._connection.call(request, lambda body: decode_preemption_result(body, candidates, choose))
        empty = [candidate.node_name for candidate in kept if not candidate.victims]
        if empty and not self.is_ignorable:
            raise self._connection.error(path, f"keeps node {empty[0]} without a victim")
        return [candidate for candidate in kept if candidate.victims]

    def _nodes_body(self, pod: Pod, nodes: Mapping[str, Node], path: str) -> bytes:
        names_only = self._configuration.node_cache_capable
        if not names_only:
            self.check_size(path, (node.raw for node in nodes.values()))
        return self._encode(path, lambda: encode_args(pod, nodes, names_only=names_only, show=self._show))

    def _encode(self, path: str, encode: Callable[[], bytes]) -> bytes:
        try:
            return encode()
        except ValueError as error:
            raise self._connection.error(path, f"not called: {error}") from error

    def _raise_if(self, error: str, path: str) -> None:
        if error:
            raise self._connection.refusal(path, error)

"""`/why`: answers why a pod is on its node, or why it waits.

The middleware has checked that the caller may get the pod. Other pods, such as victims of preemption, are named only if
the caller may get the pods of their namespaces.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web
from msgspec.structs import replace

from moorage.engine.records.redaction import namespaces_in, redact
from moorage.outside_text import one_line
from moorage.runtime.serving.explanation_turns import ExplanationTurns, TooManyQuestions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from moorage.engine.counterfactuals.counterfactual import Counterfactual
    from moorage.engine.records.explanation import Explanation

Explain = Callable[[str, str, str], "Explanation | None"]
"""Takes a namespace, the name of a pod and the name of a node. Explains the pod, and why it is not on the node. Returns
None for an unknown pod."""
SearchChanges = Callable[["Explanation"], "Callable[[], tuple[Counterfactual, ...]] | None"]
"""Returns the search for changes after which the explained pod would fit; None if there is nothing to search for."""
ReadableNamespaces = Callable[[str, "Iterable[str]"], "Awaitable[set[str]]"]
"""Returns the namespaces that the sender of an Authorization header may read."""


class WhyEndpoint:
    """The handler."""

    def __init__(
        self, explain: Explain, search: SearchChanges, readable: ReadableNamespaces | None, turns: ExplanationTurns
    ) -> None:
        """If `readable` is None, name all pods: the endpoints are open to all callers."""
        self._explain = explain
        self._search = search
        self._readable = readable
        self._turns = turns

    async def answer(self, request: web.Request) -> web.Response:
        """Answer with JSON, or with a text if there is no explanation."""
        namespace, name = request.query.get("namespace", ""), request.query.get("pod", "")
        if not namespace or not name:
            return web.Response(status=web.HTTPBadRequest.status_code, text="pass ?namespace=NAMESPACE&pod=NAME\n")
        try:
            async with self._turns.turn():
                if request.transport is None:  # the caller has gone, so the next one gets the turn
                    return web.Response(status=web.HTTPRequestTimeout.status_code)
                explanation = await self._explanation(namespace, name, request.query.get("node", ""))
        except TooManyQuestions:
            return web.Response(status=web.HTTPTooManyRequests.status_code, text="too many requests wait; try again\n")
        if explanation is None:
            return web.Response(
                status=web.HTTPNotFound.status_code, text=one_line(f"pod {namespace}/{name} is not known") + "\n"
            )
        if self._readable is not None:
            others = namespaces_in(explanation) - {namespace}
            readable = await self._readable(request.headers.get("Authorization", ""), others)
            explanation = redact(explanation, {namespace, *readable})
        return web.Response(body=msgspec.json.encode(explanation), content_type="application/json")

    async def _explanation(self, namespace: str, name: str, node: str) -> Explanation | None:
        """Explain a pod. The search for changes runs in a thread, so that scheduling continues."""
        explanation = self._explain(namespace, name, node)
        search = self._search(explanation) if explanation else None
        if explanation is None or search is None:
            return explanation
        return replace(explanation, changes=await asyncio.to_thread(search))

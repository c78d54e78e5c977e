"""`/why`: answers why a pod is on its node, or why it waits.

The middleware has checked that the caller may get the pod. Other pods, such as victims of preemption, are named only if
the caller may get the pods of their namespaces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from moorage.engine.records.redaction import namespaces_in, redact

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from moorage.engine.records.explanation import Explanation

Explain = Callable[[str, str, str], "Explanation | None"]
"""Explains the pod with a namespace and a name, and why it is not on a node; None for an unknown pod."""
ReadableNamespaces = Callable[[str, "Iterable[str]"], "Awaitable[set[str]]"]
"""Returns the namespaces that the sender of an Authorization header may read."""


class WhyEndpoint:
    """The handler."""

    def __init__(self, explain: Explain, readable: ReadableNamespaces | None) -> None:
        """Name all pods if `readable` is None, because then the endpoints are open to all callers."""
        self._explain = explain
        self._readable = readable

    async def answer(self, request: web.Request) -> web.Response:
        """Answer with JSON, or with a text for an unknown pod or a query without a pod."""
        namespace, name = request.query.get("namespace", ""), request.query.get("pod", "")
        if not namespace or not name:
            return web.Response(status=web.HTTPBadRequest.status_code, text="pass ?namespace=NAMESPACE&pod=NAME\n")
        explanation = self._explain(namespace, name, request.query.get("node", ""))
        if explanation is None:
            return web.Response(status=web.HTTPNotFound.status_code, text=f"pod {namespace}/{name} is not known\n")
        if self._readable is not None:
            others = namespaces_in(explanation) - {namespace}
            readable = await self._readable(request.headers.get("Authorization", ""), others)
            explanation = redact(explanation, {namespace, *readable})
        return web.Response(body=msgspec.json.encode(explanation), content_type="application/json")

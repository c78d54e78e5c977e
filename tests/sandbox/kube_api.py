"""A minimal client of an API server for tests. It returns error responses and raises no exception for them."""

from __future__ import annotations

import asyncio
import io
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

Object = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@dataclass(frozen=True)
class Answer:
    """The status code, the decoded body and the headers of a response."""

    code: int
    body: Any
    headers: Any = field(repr=False, default=None)

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))

    @property
    def revision(self) -> str:
        return str(self.body["metadata"]["resourceVersion"])


class KubeApi:
    """A client of one server. Only one test uses `namespace`."""

    def __init__(self, session: aiohttp.ClientSession, namespace: str) -> None:
        self._session = session
        self.namespace = namespace

    @property
    def pods(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods"

    @property
    def configmaps(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/configmaps"

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        accept: str = "",
        **query: str,
    ) -> Answer:
        headers = {"Content-Type": content_type} if body is not None else {}
        if accept:
            headers["Accept"] = accept
        encoded = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        data = None if encoded is None else io.BytesIO(encoded)
        async with self._session.request(method, path, data=data, headers=headers, params=query) as response:
            text = await response.text()
            decoded = json.loads(text) if text.startswith(("{", "[")) else text
            return Answer(response.status, decoded, response.headers)

    async def get(self, path: str, **query: str) -> Answer:
        return await self.call("GET", path, **query)

    async def create(self, path: str, body: Any, **query: str) -> Answer:
        return await self.call("POST", path, body, **query)

    async def update(self, path: str, body: Any, **query: str) -> Answer:
        return await self.call("PUT", path, body, **query)

    async def patch(self, path: str, body: Any, content_type: str = MERGE, **query: str) -> Answer:
        return await self.call("PATCH", path, body, content_type=content_type, **query)

    async def apply(self, path: str, body: Any, manager: str, **query: str) -> Answer:
        return await self.call("PATCH", path, body, content_type=APPLY, fieldManager=manager, **query)

    async def delete(self, path: str, body: Any = None, **query: str) -> Answer:
        return await self.call("DELETE", path, body, **query)

    async def names(self, path: str, **query: str) -> list[str]:
        answer = await self.get(path, **query)
        assert answer.code == 200, answer.message
        return [item["metadata"]["name"] for item in answer.body["items"]]

    async def watch(self, path: str, count: int, **query: str) -> list[tuple[str, Object]]:
        """Return at most `count` events of a watch. By default, the watch ends after one second."""
        found: list[tuple[str, Object]] = []
        async with aclosing(self.events(path, **query)) as events:
            async for event in events:
                found.append(event)
                if len(found) == count:
                    break
        return found

    async def events(self, path: str, **query: str) -> AsyncGenerator[tuple[str, Object], None]:
        """Yield the events of a watch. By default, the watch ends after one second."""
        query = {"timeoutSeconds": "1", "watch": "true", **query}
        async with self._session.get(path, params=query) as response:
            assert response.status == 200, await response.text()
            async for line in response.content:
                event = json.loads(line)
                yield event["type"], event["object"]


@asynccontextmanager
async def connect(server: str, token: str, namespace: str, ca_file: str | None = None) -> AsyncIterator[KubeApi]:
    """Open a client and create its namespace."""
    headers = {"Authorization": f"Bearer {token}"}
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=ca_file)) if ca_file else None
    async with aiohttp.ClientSession(server, headers=headers, connector=connector) as session:
        api = KubeApi(session, namespace)
        if namespace != "default":
            created = await api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
            assert created.code == 201, created.message
        yield api


async def until(condition: Callable[[], Awaitable[bool]], timeout_seconds: float = 30) -> None:
    """Wait until `condition` returns true. Another task or process must make it true."""
    async with asyncio.timeout(timeout_seconds):
        while not await condition():  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.01)

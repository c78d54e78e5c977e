"""A bare client of an API server, for tests: one call a request, and what comes back as it is."""

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

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@dataclass(frozen=True)
class Answer:
    """A status, the decoded body, and the headers."""

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
    """Requests to one server. `namespace` is the test's own."""

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
        """Collect the first events of a watch; fewer if there are no more within a second."""
        found: list[tuple[str, Object]] = []
        async with aclosing(self.events(path, **query)) as events:
            async for event in events:
                found.append(event)
                if len(found) == count:
                    break
        return found

    async def events(self, path: str, **query: str) -> AsyncGenerator[tuple[str, Object], None]:
        """Follow a watch, for a second unless told otherwise."""
        query = {"timeoutSeconds": "1", "watch": "true", **query}
        async with self._session.get(path, params=query) as response:
            assert response.status == 200, await response.text()
            try:
                async for line in response.content:
                    event = json.loads(line)
                    yield event["type"], event["object"]
            finally:
                _abort(response)


def _abort(response: aiohttp.ClientResponse) -> None:
    """Drop a connection at once: TLS would say goodbye for longer than the test's loop lives."""
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()


@asynccontextmanager
async def connect(server: str, token: str, namespace: str, ca_file: str | None = None) -> AsyncIterator[KubeApi]:
    """Open a client, and make its namespace."""
    headers = {"Authorization": f"Bearer {token}"}
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=ca_file)) if ca_file else None
    async with aiohttp.ClientSession(server, headers=headers, connector=connector) as session:
        api = KubeApi(session, namespace)
        if namespace != "default":
            made = await api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
            assert made.code == 201, made.message
        yield api


async def until(condition: Callable[[], Awaitable[bool]], timeout_seconds: float = 10) -> None:
    """Wait for what another task or process brings about."""
    async with asyncio.timeout(timeout_seconds):
        while not await condition():  # noqa: ASYNC110 - there is nothing to be woken by
            await asyncio.sleep(0.01)


def pod(name: str, **spec: Any) -> Object:
    """Make a small pod, as a user would write it."""
    container = {"name": "main", "image": "app:1", "resources": spec.pop("resources", {})}
    meta = {"name": name, **spec.pop("metadata", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 30, **spec},
    }


def binding(name: str, node: str, **metadata: Any) -> Object:
    """Make a Binding."""
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, **metadata}, "target": target}


def widget_definition(group: str) -> Object:
    """Make a CustomResourceDefinition that has one of everything."""
    condition = {
        "type": "object",
        "required": ["type", "status"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
    }
    port = {
        "type": "object",
        "required": ["number"],
        "properties": {"number": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
    }
    spec = {
        "type": "object",
        "default": {},
        "x-kubernetes-validations": [
            {"rule": "!has(self.weight) || self.mode == 'Fast'", "message": "weight needs mode Fast"}
        ],
        "properties": {
            "mode": {"type": "string", "enum": ["Fast", "Slow"], "default": "Fast"},
            "weight": {"type": "integer", "minimum": 0, "maximum": 100},
            "owner": {
                "type": "string",
                "maxLength": 10,
                "pattern": "^[a-z]+$",
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}],
            },
            "tags": {"type": "array", "maxItems": 2, "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "ports": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["number"],
                "items": port,
            },
        },
    }
    status = {
        "type": "object",
        "properties": {
            "note": {"type": "string"},
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": condition,
            },
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": ".spec.mode"}],
        "additionalPrinterColumns": [
            {"name": "Mode", "type": "string", "jsonPath": ".spec.mode"},
            {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
            {"name": "Weight", "type": "integer", "jsonPath": ".spec.weight", "priority": 1},
        ],
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": names, "versions": [version]},
    }

"""A fake extender. The test sets its verdicts and scores, and can make it misbehave.

    async with FakeExtender() as extender:
        extender.verdicts["n1"] = "is not mine"
        extender.scores["n2"] = 7
        ...  # call extender.url

The extender answers with node names or whole nodes, as the request has them. `misbehave` replaces the answer.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web
from aiohttp.test_utils import TestServer

from fakes import settle
from loops import loop_in_thread

START_SECONDS = 10.0

Misbehaviour = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the extender received."""

    path: str
    body: Any
    headers: dict[str, str]


@dataclass
class FakeExtender:
    """An extender on loopback. It serves inside an `async with` block."""

    verdicts: dict[str, str] = field(default_factory=dict)
    """The reasons for rejected nodes on which preemption may help."""
    unresolvable: dict[str, str] = field(default_factory=dict)
    """The reasons for rejected nodes on which preemption cannot help."""
    scores: dict[str, int] = field(default_factory=dict)
    bind_error: str = ""
    spared: set[str] = field(default_factory=set)
    """Nodes on which the extender allows no preemption."""
    misbehave: Misbehaviour | None = None
    tls: ssl.SSLContext | None = None
    url: str = ""
    asked: list[Call] = field(default_factory=list)
    """The received calls."""
    bound: list[Any] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=1 << 26)
        application.router.add_post("/{prefix:.*}", self._handle)
        self._server = TestServer(application, scheme="https" if self.tls else "http")
        await self._server.start_server(ssl=self.tls)
        self.url = f"{self._server.scheme}://localhost:{self._server.port}/scheduler"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.released.set()
        await self._server.close()
        await settle()  # connections close a few turns of the event loop later

    @property
    def verbs(self) -> list[str]:
        return [asked.path.rpartition("/")[2] for asked in self.asked]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append(Call(request.path, body, dict(request.headers)))
        if self.misbehave:
            return await self.misbehave(request)
        answer = getattr(self, f"_{request.path.rpartition('/')[2]}")
        return web.json_response(answer(body))

    def _filter(self, body: Any) -> Any:
        kept = [name for name in _names(body) if name not in self.verdicts and name not in self.unresolvable]
        nodes = None
        if body["Nodes"] is not None:
            nodes = {"items": [node for node in body["Nodes"]["items"] if node["metadata"]["name"] in kept]}
        return {
            "Nodes": nodes,
            "NodeNames": kept if nodes is None else None,
            "FailedNodes": self.verdicts,
            "FailedAndUnresolvableNodes": self.unresolvable,
            "Error": "",
        }

    def _prioritize(self, body: Any) -> Any:
        return [{"Host": name, "Score": self.scores.get(name, 0)} for name in _names(body)]

    def _bind(self, body: Any) -> Any:
        if not self.bind_error:
            self.bound.append(body)
        return {"Error": self.bind_error}

    def _preempt(self, body: Any) -> Any:
        kept = {}
        for name, victims in (body["NodeNameToMetaVictims"] or body["NodeNameToVictims"]).items():
            uids = [pod.get("UID") or pod["metadata"]["uid"] for pod in victims["Pods"]]
            if name not in self.spared:
                pods = [{"UID": uid} for uid in uids]
                kept[name] = {"Pods": pods, "NumPDBViolations": victims["NumPDBViolations"]}
        return {"NodeNameToMetaVictims": kept}

    async def never(self, _: web.Request) -> web.StreamResponse:
        """Do not answer until the test ends."""
        await self.released.wait()
        return web.Response()


@contextmanager
def threaded(extender: FakeExtender) -> Iterator[FakeExtender]:
    """Serve an extender in a thread, for a synchronous test. The test can change its attributes at any time."""
    with loop_in_thread("extender") as loop:
        asyncio.run_coroutine_threadsafe(extender.__aenter__(), loop).result(START_SECONDS)
        yield extender
        asyncio.run_coroutine_threadsafe(extender.__aexit__(), loop).result(START_SECONDS)


def answering(answer: Any, status: int = 200) -> Misbehaviour:
    """Return a misbehaviour that answers with `answer`: a string as text, any other value as JSON."""

    async def handle(_: web.Request) -> web.StreamResponse:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return web.Response(text=text, status=status, headers={"Location": "/elsewhere"})

    return handle


async def half_a_body(request: web.Request) -> web.StreamResponse:
    """Close the connection in the middle of an answer."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"NodeNames": ["n1"')
    _hang_up(request)
    return response


async def endless(request: web.Request, status: int = 200) -> web.StreamResponse:
    """Send a body without end until the client closes the connection."""
    response = web.StreamResponse(status=status)
    await response.prepare(request)
    while request.transport is not None and not request.transport.is_closing():
        await response.write(b" " * 1_000_000)
    return response


async def hang_up(request: web.Request) -> web.StreamResponse:
    """Close the connection without an answer."""
    _hang_up(request)
    return web.Response()


def hanging_up_once(extender: FakeExtender) -> Misbehaviour:
    """Return a misbehaviour that closes the connection of the first call, like a server whose idle timeout expires."""

    async def handle(request: web.Request) -> web.StreamResponse:
        extender.misbehave = None
        return await hang_up(request)

    return handle


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _names(body: Any) -> list[str]:
    if body["NodeNames"] is not None:
        return list(body["NodeNames"])
    return [node["metadata"]["name"] for node in body["Nodes"]["items"]]

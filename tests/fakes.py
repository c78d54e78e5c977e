"""Fakes of the clock and the API server, and runtime parts that keep what they get instead of sending it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol, Self

import msgspec
from prometheus_client import CollectorRegistry

from moorage.engine.outcomes import AskAboutVictims, CallExtenders
from moorage.errors import ApiError, TooManyRequests
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod
from moorage.runtime.api_resources import Resource
from moorage.runtime.client.credentials import Credentials
from moorage.runtime.client.kube import MERGE_PATCH, KubeClient
from moorage.runtime.client.pooled_transport import open_transport
from moorage.runtime.client.rate_limiter import RateLimiter
from moorage.runtime.client.server_access import ServerAccess
from moorage.runtime.client.transport import Answer
from moorage.runtime.clock import Clock
from moorage.runtime.events.event import Event
from moorage.runtime.events.event_recorder import EventRecorder
from moorage.runtime.extenders.extender_dispatcher import ExtenderDispatcher
from moorage.runtime.latest_objects import LatestObjects
from moorage.runtime.metrics.client_metrics import ClientMetrics
from moorage.runtime.metrics.informer_metrics import InformerMetrics
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.pod_status_writer import PodScheduled, PodStatusWriter
from moorage.runtime.tls.pem import Pem
from moorage.runtime.tls.tls_contexts import ClientTls
from moorage.sandbox.api_server import SandboxServer


class FakeClock(Clock):
    """A clock that the test moves.

    With `auto`, each sleep moves the clock and returns at once, so that a loop with sleeps does not wait.
    """

    def __init__(self, start: float = 1_000_000.0, *, auto: bool = False) -> None:
        self.now = start
        self.auto = auto
        self.slept: list[float] = []
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.auto or seconds <= 0:
            self.now += max(seconds, 0)
            await asyncio.sleep(0)
            return
        wakes: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + seconds, wakes))
        await wakes

    async def advance(self, seconds: float) -> None:
        """Move the clock; wake the sleeping tasks that are due, in the order of their times, and let them run."""
        end = self.now + seconds
        await settle()
        while due := sorted((at for at, wakes in self._sleepers if at <= end and not wakes.done())):
            self.now = due[0]
            self._wake()
            await settle()
        self.now = end
        await settle()

    def _wake(self) -> None:
        sleepers, self._sleepers = self._sleepers, []
        for at, wakes in sleepers:
            if wakes.done():
                continue
            if at <= self.now:
                wakes.set_result(None)
            else:
                self._sleepers.append((at, wakes))


async def settle() -> None:
    """Yield to the event loop 20 times, so that every task runs until it waits for I/O or a timer."""
    for _ in range(20):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until the condition holds, for work in another thread or process; raise TimeoutError after `seconds`."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.002)


def client_metrics(registry: CollectorRegistry | None = None) -> ClientMetrics:
    return ClientMetrics(registry or CollectorRegistry(), "api")


def informer_metrics(registry: CollectorRegistry | None = None) -> InformerMetrics:
    return InformerMetrics(registry or CollectorRegistry())


class StaticTokens:
    """A token source with a fixed Authorization header; None: no header."""

    def __init__(self, header: str | None) -> None:
        self._header = header

    async def current(self) -> str | None:
        return self._header

    async def renew(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that the fake API server received."""

    method: str
    path: str
    body: Any
    content_type: str


@dataclass
class FakeApi:
    """An API server in memory; the test's `answer` returns an object or bytes for each request, or raises ApiError."""

    answer: Callable[[Sent], Any]
    clock: FakeClock = field(default_factory=lambda: FakeClock(auto=True))
    may_write: Callable[[], bool] = lambda: True
    sent: list[Sent] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    """Requests get no answer while this event is cleared."""

    def __post_init__(self) -> None:
        self.released.set()

    def client(self) -> KubeClient:
        return KubeClient(self, self.clock, RateLimiter(0, 0, self.clock), client_metrics(), self._ask_leader)

    def _ask_leader(self) -> bool:
        """Return `may_write()`; a test can replace `may_write` at any time."""
        return self.may_write()

    async def exchange(self, method: str, path: str, body: bytes, content_type: str, timeout_seconds: float) -> Answer:
        del timeout_seconds
        sent = Sent(method, path, msgspec.json.decode(body) if body else None, content_type)
        self.sent.append(sent)
        await asyncio.sleep(0)
        await self.released.wait()
        try:
            answer = self.answer(sent)
        except ApiError as error:
            seconds = error.retry_after_seconds if isinstance(error, TooManyRequests) else None
            status = {"reason": error.reason, "message": error.message}
            return Answer(error.status, msgspec.json.encode(status), None if seconds is None else f"{seconds:.0f}")
        return Answer(200, answer if isinstance(answer, bytes) else msgspec.json.encode(answer))

    async def stream(self, path: str, inactivity_seconds: float) -> AsyncGenerator[Answer, None]:
        del inactivity_seconds
        for read in self.answer(Sent("WATCH", path, None, "")):
            await asyncio.sleep(0)
            yield Answer(200, read)


class Client:
    """A real client of a server on loopback; use it as `async with`."""

    def __init__(self, url: str, token: str, ca_file: Path | None = None) -> None:
        settings = ClientTls(authority=Pem("the authority", path=str(ca_file)))
        self._credentials = Credentials(
            url, StaticTokens(f"Bearer {token}"), tls=(lambda: settings) if ca_file else None
        )

    async def __aenter__(self) -> KubeClient:
        clock = Clock()
        self._open = open_transport(ServerAccess(self._credentials, clock), 32)
        return KubeClient(await self._open.__aenter__(), clock, RateLimiter(0, 0, clock), client_metrics())

    async def __aexit__(self, *_: object) -> None:
        await self._open.__aexit__(None, None, None)


class FakeRecorder(EventRecorder):
    """A recorder that keeps all events instead of sending them."""

    def __init__(self) -> None:
        super().__init__(FakeApi(lambda _: {}).client(), "host", FakeClock(), ProcessMetrics("api").recorder)
        self.events: list[Event] = []

    def record(self, event: Event) -> None:
        self.events.append(event)

    @property
    def notes(self) -> list[str]:
        return [event.note for event in self.events]


class FakeStatuses(PodStatusWriter):
    """A writer that keeps all statuses instead of writing them."""

    def __init__(self) -> None:
        super().__init__(FakeApi(lambda _: {}).client(), LatestObjects({}, {}), FakeClock(), fixed_random())
        self.submitted: list[tuple[Pod, PodScheduled]] = []

    def submit(self, pod: Pod, wanted: PodScheduled) -> None:
        self.submitted.append((pod, wanted))


class FakeDispatcher(ExtenderDispatcher):
    """A dispatcher that keeps outcomes instead of calling extenders."""

    def __init__(self) -> None:
        self.submitted: list[CallExtenders | AskAboutVictims] = []
        self.binder: Callable[[Pod], Awaitable[bool]] | None = None
        """Binds pods in place of an extender; None for no extender with a bindVerb."""
        self._turns = asyncio.Semaphore(2)

    def submit(self, outcome: CallExtenders | AskAboutVictims) -> None:
        self.submitted.append(outcome)

    def binds(self, profile: Profile, pod: Pod) -> bool:
        del profile, pod
        return self.binder is not None

    def binding_turns(self, profile: Profile) -> asyncio.Semaphore:
        del profile
        return self._turns

    async def bind(self, profile: Profile, pod: Pod, node_name: str) -> bool:
        del profile, node_name
        return self.binder is not None and await self.binder(pod)


def fixed_random() -> Random:
    """Return a random generator with a fixed seed."""
    return Random(1)


class Cluster:
    """An embedded API server and its client; use it as `async with`."""

    def __init__(self) -> None:
        self.server = SandboxServer(kubelet=False)

    async def __aenter__(self) -> Self:
        await self.server.start()
        self._connection = Client(self.server.url, self.server.token)
        self.client = await self._connection.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.__aexit__()
        await self.server.stop()

    async def create(self, resource: Resource, body: dict[str, Any]) -> dict[str, Any]:
        path = resource.within(body["metadata"].get("namespace", ""))
        made: dict[str, Any] = msgspec.json.decode(await self.client.create(path, msgspec.json.encode(body)))
        return made

    async def get(self, resource: Resource, name: str, namespace: str = "") -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(await self.client.get(resource.path(name, namespace)))
        return found

    async def list(self, resource: Resource) -> list[dict[str, Any]]:
        found = msgspec.json.decode(await self.client.list_page(resource.collection, {}))
        items: list[dict[str, Any]] = found["items"]
        return items

    async def merge(self, path: str, patch: dict[str, Any]) -> None:
        await self.client.patch(path, msgspec.json.encode(patch), MERGE_PATCH)


class Part(Protocol):
    """A part of the runtime that runs in its own task."""

    async def run(self) -> None: ...


@asynccontextmanager
async def running(*parts: Part) -> AsyncIterator[None]:
    """Run the parts until the block ends, then raise the first exception of any of them."""
    tasks = [asyncio.create_task(part.run()) for part in parts]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result

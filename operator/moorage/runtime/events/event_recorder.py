"""Writes events.k8s.io/v1 objects about pods, policies and leases.

`record` never blocks: it puts events into a bounded queue that a few sender tasks empty. A full queue drops its oldest
event. Repeated events become a series (`moorage.runtime.events.event_series`). The recorder drops and counts events
that the API server refuses, and logs only the first of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec

from moorage.errors import ApiError, ApiUnreachable, NotFound, NotLeader
from moorage.runtime.api_resources import EVENT
from moorage.runtime.client.kube import MERGE_PATCH
from moorage.runtime.events.event import Event, event_name
from moorage.runtime.events.event_series import REFRESH_SECONDS, Series, SeriesCache
from moorage.runtime.timestamps import micro_time

if TYPE_CHECKING:
    from collections.abc import Hashable

    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

QUEUE_LENGTH = 10_000
"""Several seconds of binding at full speed; each event takes less than a kilobyte."""
SENDERS = 8
TRIES = 3
PAUSE_SECONDS = 1.0
"""Between the tries, doubled each time: an event is not worth more."""
NANOSECONDS = 1_000_000_000


class RecorderObserver(Protocol):
    """Is told what became of events, for metrics."""

    def observe_event(self, result: str) -> None:
        """Count an event: `sent`, `folded`, `dropped` or `refused`."""


@dataclass(frozen=True, slots=True)
class _New:
    """An event to be created."""

    event: Event
    name: str
    seconds: float
    series: Series | None


@dataclass(frozen=True, slots=True)
class _Repeated:
    """A series whose count is to be written."""

    key: Hashable
    series: Series


class EventRecorder:
    """Queues events and sends them."""

    def __init__(self, client: KubeClient, hostname: str, clock: Clock, observer: RecorderObserver) -> None:
        """Report as `<reporter>-<hostname>`."""
        self._client = client
        self._hostname = hostname
        self._clock = clock
        self._observer = observer
        self._queue: deque[_New | _Repeated] = deque()
        self._queued = asyncio.Semaphore(0)
        self._in_flight = 0
        self._series = SeriesCache()
        self._serial = int(clock.time() * NANOSECONDS)
        self._told = False

    def __len__(self) -> int:
        """How many events wait to be sent, or are being sent."""
        return len(self._queue) + self._in_flight

    def record(self, event: Event) -> None:
        """Queue an event; one of a running series is only counted, and written from time to time."""
        now = self._clock.time()
        series = self._series.see(event.key, now) if event.repeats else None
        if series is None:
            self._enqueue(self._new(event, now))
        elif self._series.is_due(series, now):
            self._series.written(series, now)
            self._enqueue(_Repeated(event.key, series))
        else:
            self._observer.observe_event("folded")

    async def run(self) -> None:
        """Send what is queued until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(SENDERS):
                tasks.create_task(self._send_queued())
            tasks.create_task(self._refresh_series())

    async def flush(self) -> None:
        """Send what is queued now; for a clean stop."""
        while self._queue:
            await self._send(self._queue.popleft())

    def _new(self, event: Event, now: float) -> _New:
        self._serial += 1
        name = event_name(event, self._serial)
        path = EVENT.path(name, event.namespace)
        series = self._series.remember(event.key, path, now) if event.repeats else None
        return _New(event, name, now, series)

    def _enqueue(self, item: _New | _Repeated) -> None:
        if len(self._queue) >= QUEUE_LENGTH:
            self._drop(self._queue.popleft(), "dropped")
        else:
            self._queued.release()
        self._queue.append(item)

    async def _send_queued(self) -> None:
        while True:
            await self._queued.acquire()
            if self._queue:  # `flush` may have been quicker
                await self._send(self._queue.popleft())

    async def _refresh_series(self) -> None:
        while True:
            await self._clock.sleep(REFRESH_SECONDS)
            now = self._clock.time()
            for key, series in self._series.due(now):
                self._series.written(series, now)
                self._enqueue(_Repeated(key, series))

    async def _send(self, item: _New | _Repeated) -> None:
        self._in_flight += 1
        try:
            await self._try_to_send(item)
        finally:
            self._in_flight -= 1

    async def _try_to_send(self, item: _New | _Repeated) -> None:
        """Send with a few tries; what fails in the end is counted and dropped."""
        for attempt in range(TRIES):
            try:
                await (self._create(item) if isinstance(item, _New) else self._patch(item))
            except ApiUnreachable:
                await self._clock.sleep(PAUSE_SECONDS * 2**attempt)
            except (ApiError, NotLeader) as error:
                self._refused(item, error)
                return
            else:
                self._observer.observe_event("sent")
                return
        self._drop(item, "dropped")

    async def _create(self, item: _New) -> None:
        body = item.event.body(item.name, self._hostname, item.seconds)
        await self._client.create(EVENT.within(item.event.namespace), body)
        if item.series:
            item.series.created = True

    async def _patch(self, item: _Repeated) -> None:
        series = {"count": item.series.count, "lastObservedTime": micro_time(item.series.last_observed)}
        await self._client.patch(item.series.path, msgspec.json.encode({"series": series}), MERGE_PATCH)

    def _refused(self, item: _New | _Repeated, error: ApiError | NotLeader) -> None:
        self._drop(item, "refused")
        if not self._told and not isinstance(error, (NotFound, NotLeader)):
            self._told = True
            logger.warning("An event was refused, as others may be from now on without a word: %s", error)

    def _drop(self, item: _New | _Repeated, result: str) -> None:
        """Count an event that does not arrive; its next sighting is a new event."""
        self._observer.observe_event(result)
        if isinstance(item, _Repeated):
            self._series.forget(item.key)
        elif item.series:
            self._series.forget(item.event.key)

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
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from moorage.errors import ApiError, ApiUnreachable, Conflict, NotFound, NotLeader
from moorage.runtime.api_resources import EVENT
from moorage.runtime.client.kube import MERGE_PATCH
from moorage.runtime.events.event import NOTE_BYTES, Event, cut_note, event_name
from moorage.runtime.events.event_series import REFRESH_SECONDS, EventSeries, SeriesCache
from moorage.runtime.timestamps import micro_time

if TYPE_CHECKING:
    from collections.abc import Hashable

    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.clock import Clock
    from moorage.runtime.metrics.recorder_metrics import RecorderMetrics

logger = logging.getLogger(__name__)

QUEUE_LENGTH = 10_000
"""The maximum number of queued events: enough for several seconds of binding at full speed. An event takes less than 1
kB."""
SENDERS = 8
TRIES = 3
PAUSE_SECONDS = 1.0
"""The first pause between tries. The second pause is twice as long. After the last try, the event is dropped."""
NANOSECONDS = 1_000_000_000


class EventRecorder:
    """A queue of events, and the tasks that send them."""

    def __init__(self, client: KubeClient, hostname: str, clock: Clock, metrics: RecorderMetrics) -> None:
        """Send events through `client`. The reporting instance of an event is `<reporter>-<hostname>`."""
        self._client = client
        self._hostname = hostname
        self._clock = clock
        self._metrics = metrics
        self._queue: deque[_NewEvent | _RepeatedEvent] = deque()
        self._queued = asyncio.Semaphore(0)
        self._in_flight = 0
        self._series = SeriesCache()
        self._serial = int(clock.time() * NANOSECONDS)
        self._has_logged_refusal = False

    def __len__(self) -> int:
        """Return the number of events that are queued or being sent."""
        return len(self._queue) + self._in_flight

    def record(self, event: Event) -> None:
        """Queue an event. An event of a known series is counted, and its count is written once a minute."""
        now = self._clock.time()
        series = self._series.count(event.key, now) if event.repeats else None
        if series is None:
            self._enqueue(self._new_event(event, now))
        elif self._series.is_due(series, now):
            self._series.mark_written(series, now)
            self._enqueue(_RepeatedEvent(event.key, series))
        else:
            self._metrics.observe_event("folded")

    async def run(self) -> None:
        """Send queued events until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(SENDERS):
                tasks.create_task(self._send_queued())
            tasks.create_task(self._refresh_series())

    def _new_event(self, event: Event, now: float) -> _NewEvent:
        if len(event.note) > NOTE_BYTES:  # the queue must not keep long texts
            event = replace(event, note=cut_note(event.note))
        self._serial += 1
        name = event_name(event, self._serial)
        path = EVENT.path(name, event.namespace)
        series = self._series.add(event.key, path, now) if event.repeats else None
        return _NewEvent(event, name, now, series)

    def _enqueue(self, item: _NewEvent | _RepeatedEvent) -> None:
        if len(self._queue) >= QUEUE_LENGTH:
            self._drop(self._queue.popleft(), "dropped")
        else:
            self._queued.release()
        self._queue.append(item)

    async def _send_queued(self) -> None:
        while True:
            await self._queued.acquire()
            self._in_flight += 1
            try:
                await self._send(self._queue.popleft())
            finally:
                self._in_flight -= 1

    async def _refresh_series(self) -> None:
        while True:
            await self._clock.sleep(REFRESH_SECONDS)
            now = self._clock.time()
            for key, series in self._series.due(now):
                self._series.mark_written(series, now)
                self._enqueue(_RepeatedEvent(key, series))

    async def _send(self, item: _NewEvent | _RepeatedEvent) -> None:
        """Send an item; after TRIES failures, drop and count it."""
        for attempt in range(TRIES):
            try:
                await (self._create(item, is_retry=attempt > 0) if isinstance(item, _NewEvent) else self._patch(item))
            except ApiUnreachable:
                await self._clock.sleep(PAUSE_SECONDS * 2**attempt)
            except (ApiError, NotLeader) as error:
                self._drop(item, "refused")
                self._log_refusal(error)
                return
            else:
                self._metrics.observe_event("sent")
                return
        self._drop(item, "dropped")

    async def _create(self, item: _NewEvent, *, is_retry: bool) -> None:
        body = item.event.body(item.name, self._hostname, item.seconds)
        try:
            await self._client.create(EVENT.within(item.event.namespace), body)
        except Conflict:
            if not is_retry:
                raise  # on a retry, the event exists: an earlier try created it, but the answer was lost
        if item.series:
            item.series.created = True

    async def _patch(self, item: _RepeatedEvent) -> None:
        series = {"count": item.series.count, "lastObservedTime": micro_time(item.series.last_observed)}
        await self._client.patch(item.series.path, msgspec.json.encode({"series": series}), MERGE_PATCH)

    def _log_refusal(self, error: ApiError | NotLeader) -> None:
        if not self._has_logged_refusal and not isinstance(error, (NotFound, NotLeader)):
            self._has_logged_refusal = True
            logger.warning(
                "The API server refused an event; later refusals are only counted in moorage_events_total: %s", error
            )

    def _drop(self, item: _NewEvent | _RepeatedEvent, result: str) -> None:
        """Count an event that was not written. The next event with the same key creates a new Event object."""
        self._metrics.observe_event(result)
        if isinstance(item, _RepeatedEvent):
            self._series.forget(item.key)
        elif item.series:
            self._series.forget(item.event.key)


@dataclass(frozen=True, slots=True)
class _NewEvent:
    """An event to create."""

    event: Event
    name: str
    seconds: float
    series: EventSeries | None


@dataclass(frozen=True, slots=True)
class _RepeatedEvent:
    """A series whose count is to be written."""

    key: Hashable
    series: EventSeries

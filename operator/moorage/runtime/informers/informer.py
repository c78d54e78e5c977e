"""Lists and watches one kind of object and posts each change to the inbox. No change is lost if a connection fails.

    (start) -> LIST, all pages -> WATCH -> the watch ends: WATCH again from the last resourceVersion
                  ^                 |
                  +-- 410 Gone -----+      the list is compared with the known objects: additions, updates and deletions

An object that cannot be decoded is logged by name, counted and skipped. The informer's store holds the objects that
were posted. The informer makes no decisions.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.errors import AnswerTooLong, ApiError, ApiUnreachable, Forbidden, Gone, NotFound, TooManyRequests
from moorage.framework.cluster_events import ClusterEvent, added, deleted, updated
from moorage.nested_json import decode_nested
from moorage.runtime.backoff import ExponentialBackoff
from moorage.runtime.informers.list_watch import DELETED, ListWatch
from moorage.runtime.informers.readability import Readability

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from moorage.engine.messages import Message
    from moorage.runtime.clock import Clock
    from moorage.runtime.informers.list_watch import WatchEvent
    from moorage.runtime.metrics.informer_metrics import InformerMetrics

logger = logging.getLogger(__name__)

INITIAL_BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 30.0
ABSENT_SECONDS = 60.0
"""The pause before the next try to read a kind that the API server does not serve."""
FAILURES_BEFORE_LIST = 3
"""The number of errors in a row after which the informer lists again instead of watching. client-go's reflector lists
again after the first error. moorage waits for more errors, because a list of all pods is large, and the next watch
usually works."""
PAUSE_BYTES = 1 << 20
"""Number of bytes of JSON that are decoded before other tasks may run. Decoding this many takes about 10 ms."""
HEALTHY_SECONDS = 1.0
"""If a watch ends before this time and without an event, the informer pauses before the next watch."""


class Informer:
    """Lists and watches one kind and posts `ClusterEvent`s."""

    def __init__(
        self,
        source: ListWatch,
        decode: Callable[[bytes], Any],
        post: Callable[[Iterable[Message]], None],
        metrics: InformerMetrics,
        clock: Clock,
    ) -> None:
        """Read from `source`. `decode` decodes one object, and raises ValueError if the object is not valid."""
        self.resource = source.resource
        self.kind = source.resource.kind
        self.readability = Readability(source.resource, post, clock)
        self.last_received = clock.monotonic()
        """The time at which the API server last sent something, on the monotonic clock."""
        self._source = source
        self._decode = decode
        self._receivers: list[Callable[[Iterable[ClusterEvent]], None]] = [post]
        self._metrics = metrics
        self._clock = clock
        self._known: dict[str, Any] = {}
        self._has_failing_watch = False
        """Whether the last watches failed. In this case, a successful list does not reset the number of failures."""
        self._failures = ExponentialBackoff(INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS, source.random)
        self._expiries = ExponentialBackoff(INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS, source.random)

    @property
    def has_synced(self) -> bool:
        """Whether all objects were listed and posted, or scheduling starts without the kind."""
        return self.readability.has_synced

    @property
    def objects(self) -> Mapping[str, Any]:
        """The known objects, by `namespace/name` or name."""
        return self._known

    def subscribe(self, receive: Callable[[Iterable[ClusterEvent]], None]) -> None:
        """Send all later events to `receive` too."""
        self._receivers.append(receive)

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                if not self._source.resource_version:
                    await self._list()
                await self._watch()
            except Gone:
                self._metrics.observe_watch_end(self.kind, "expired")
                await self._clock.sleep(self._seconds_after_expiry())
            except AnswerTooLong as error:
                self._metrics.observe_watch_end(self.kind, "failed")
                self._has_failing_watch = True
                self.readability.failed(error)
                await self._clock.sleep(self._expiries.next_seconds())
            except (ApiError, ApiUnreachable) as error:
                self._metrics.observe_watch_end(self.kind, "failed")
                await self._clock.sleep(await self._seconds_after_failure(error))

    async def _list(self) -> None:
        self._metrics.observe_list(self.kind)
        listed: set[str] = set()
        async for page in self._source.pages():
            self.last_received = self._clock.monotonic()
            events: list[ClusterEvent] = []
            unpaused_bytes = 0
            for raw in page:
                key = self._store(raw, events)
                if key:
                    listed.add(key)
                unpaused_bytes += memoryview(raw).nbytes
                if unpaused_bytes > PAUSE_BYTES:
                    unpaused_bytes = 0
                    await asyncio.sleep(0)
            self._post(events)
        gone = [key for key in self._known if key not in listed]
        self._post([deleted(self.kind, self._known.pop(key)) for key in gone])
        self.readability.listed()
        if not self._has_failing_watch:
            self._end_failures()

    async def _watch(self) -> None:
        started, has_events = self._clock.monotonic(), False
        async for batch in self._source.changes(self.readability.opened):
            self.last_received = self._clock.monotonic()
            has_events = True
            self._expiries.reset()
            self._end_failures()
            events: list[ClusterEvent] = []
            for event in batch:
                self._apply(event, events)
            if events:
                self._post(events)
        self._metrics.observe_watch_end(self.kind, "ended")
        if not has_events and self._clock.monotonic() - started < HEALTHY_SECONDS:
            await self._clock.sleep(self._failures.next_seconds())

    def _post(self, events: list[ClusterEvent]) -> None:
        for receive in self._receivers:
            receive(events)

    def _apply(self, event: WatchEvent, events: list[ClusterEvent]) -> None:
        if event.type != DELETED:
            self._store(event.object, events)
            return
        metadata = self._source.metadata(event.object)
        old = self._known.pop(self._key(metadata), None)
        if old is not None:
            events.append(deleted(self.kind, old))

    def _store(self, raw: msgspec.Raw, events: list[ClusterEvent]) -> str:
        """Store an object that exists now, add its event to `events`, and return its key.

        If the object cannot be decoded, return the key only if an older state is known; otherwise return an empty text.
        """
        try:
            new = decode_nested(self._decode, bytes(raw))
        except (ValueError, msgspec.MsgspecError) as error:
            return self._log_unreadable(raw, error)
        key = self._key(new)
        old = self._known.get(key)
        if old is not None and _is_same(old, new):
            return key
        self._known[key] = new
        if old is None:
            events.append(added(self.kind, new))
        elif getattr(old, "uid", None) != getattr(new, "uid", None):
            events += [deleted(self.kind, old), added(self.kind, new)]
        else:
            events.append(updated(self.kind, old, new))
        return key

    def _log_unreadable(self, raw: msgspec.Raw, error: Exception) -> str:
        key = self._key(self._source.metadata(raw))
        self._metrics.observe_unreadable(self.kind)
        logger.error("%s %s cannot be read; its last readable state stays in use: %s", self.kind, key, error)
        return key if key in self._known else ""

    def _key(self, named: Any) -> str:
        return f"{named.namespace}/{named.name}" if self.resource.namespaced else str(named.name)

    def _seconds_after_expiry(self) -> float:
        """Return the pause before the next list: 0 after the first expiry, and longer after each further expiry."""
        pause = self._expiries.next_seconds()
        return 0.0 if self._expiries.failures == 1 else pause

    async def _seconds_after_failure(self, error: ApiError | ApiUnreachable) -> float:
        """Record a failure, and return the pause after it."""
        pause = self._failures.next_seconds()
        is_refused = isinstance(error, (Forbidden, NotFound)) and self.resource.optional
        if is_refused and await self._source.is_absent():
            self.readability.absent()
            return ABSENT_SECONDS
        self.readability.failed(error)
        if isinstance(error, TooManyRequests):
            return max(pause, error.retry_after_seconds or 0.0)
        if is_refused:
            self._source.resource_version = ""
        elif isinstance(error, ApiError) and self._failures.failures >= FAILURES_BEFORE_LIST:
            self._has_failing_watch |= bool(self._source.resource_version)
            self._source.resource_version = ""
        return pause

    def _end_failures(self) -> None:
        self._has_failing_watch = False
        self._failures.reset()
        self.readability.end_failures()


def _is_same(old: Any, new: Any) -> bool:
    version = getattr(new, "resource_version", "")
    return version == getattr(old, "resource_version", None) if version else bool(old == new)

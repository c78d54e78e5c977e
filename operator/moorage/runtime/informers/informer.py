"""Keeps the inbox informed of one kind of object, whatever happens to the connection.

    (start) -> LIST, all pages -> WATCH -> the watch ends: WATCH again from the last resourceVersion
                  ^                 |
                  +-- 410 Gone -----+      a list is compared with what is known: additions, updates and deletions

What cannot be read of an object is told to the log and to the metrics with the object's name, and the object is
skipped; the others go on. The informer's own store is what it told the inbox so far; it decides nothing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from moorage.errors import ApiError, ApiUnreachable, Forbidden, Gone, NotFound, TooManyRequests
from moorage.framework.cluster_events import ClusterEvent, added, deleted, updated
from moorage.runtime.backoff import ExponentialBackoff
from moorage.runtime.client.reachability import level_of
from moorage.runtime.informers.list_watch import DELETED, ListWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from moorage.runtime.clock import Clock
    from moorage.runtime.informers.list_watch import WatchEvent

logger = logging.getLogger(__name__)

INITIAL_BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 30.0
MISSING_SECONDS = 60.0
"""How long to wait before a kind that is not served, or that we may not read, is tried again."""
HEALTHY_SECONDS = 1.0
"""A watch that ends sooner, with nothing in it, is no healthy one: the next waits."""


class InformerObserver(Protocol):
    """Is told how an informer fares, for metrics."""

    def observe_relist(self, kind: str) -> None:
        """Count a list."""

    def observe_watch_end(self, kind: str, reason: str) -> None:
        """Count the end of a watch: `ended`, `expired` or `failed`."""

    def observe_unreadable(self, kind: str) -> None:
        """Count an object that could not be read."""


class Informer:
    """Lists and watches one kind and posts `ClusterEvent`s."""

    def __init__(
        self,
        source: ListWatch,
        decode: Callable[[bytes], Any],
        post: Callable[[Iterable[ClusterEvent]], None],
        observer: InformerObserver,
        clock: Clock,
    ) -> None:
        """Read from `source`; `decode` digests one object and raises ValueError where it cannot."""
        self.resource = source.resource
        self.kind = source.resource.kind
        self.has_synced = False
        """Whether all objects were posted once, or the kind cannot be read and scheduling does without it."""
        self.missing = ""
        """Why the kind cannot be read; empty if it can."""
        self.last_heard = clock.monotonic()
        """When the API server was last heard of, on the monotonic clock."""
        self._source = source
        self._decode = decode
        self._post = post
        self._observer = observer
        self._clock = clock
        self._known: dict[str, Any] = {}
        self._told: type[Exception] | None = None
        self._failures = ExponentialBackoff(INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS, source.random)
        self._expiries = ExponentialBackoff(INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS, source.random)

    @property
    def objects(self) -> Mapping[str, Any]:
        """What is known, by `namespace/name` or name."""
        return self._known

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                if not self._source.resource_version:
                    await self._list()
                await self._watch()
            except Gone:
                self._observer.observe_watch_end(self.kind, "expired")
                await self._clock.sleep(self._after_expiry())
            except (ApiError, ApiUnreachable) as error:
                self._observer.observe_watch_end(self.kind, "failed")
                await self._clock.sleep(self._pause_seconds(error))

    async def _list(self) -> None:
        self._observer.observe_relist(self.kind)
        seen: set[str] = set()
        async for page in self._source.pages():
            self.last_heard = self._clock.monotonic()
            events: list[ClusterEvent] = []
            for raw in page:
                key = self._take(raw, events)
                if key:
                    seen.add(key)
            self._post(events)
        gone = [key for key in self._known if key not in seen]
        self._post([deleted(self.kind, self._known.pop(key)) for key in gone])
        self.has_synced, self.missing = True, ""
        self._recovered()

    async def _watch(self) -> None:
        started, heard = self._clock.monotonic(), False
        async for batch in self._source.changes():
            heard = True
            self.last_heard = self._clock.monotonic()
            self._expiries.reset()
            self._recovered()
            events: list[ClusterEvent] = []
            for event in batch:
                self._change(event, events)
            if events:
                self._post(events)
        self._observer.observe_watch_end(self.kind, "ended")
        if not heard and self._clock.monotonic() - started < HEALTHY_SECONDS:
            await self._clock.sleep(self._failures.next_seconds())

    def _change(self, event: WatchEvent, events: list[ClusterEvent]) -> None:
        if event.type != DELETED:
            self._take(event.object, events)
            return
        head = self._source.head(event.object)
        old = self._known.pop(self._key(head), None)
        if old is not None:
            events.append(deleted(self.kind, old))

    def _take(self, raw: msgspec.Raw, events: list[ClusterEvent]) -> str:
        """Digest an object that is there now; return its key, that of its last readable state if this one is not."""
        try:
            new = self._decode(bytes(raw))
        except (ValueError, msgspec.MsgspecError) as error:
            return self._unreadable(raw, error)
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

    def _unreadable(self, raw: msgspec.Raw, error: Exception) -> str:
        key = self._key(self._source.head(raw))
        self._observer.observe_unreadable(self.kind)
        logger.error("%s %s cannot be read and is left as it was: %s", self.kind, key, error)
        return key if key in self._known else ""

    def _key(self, named: Any) -> str:
        return f"{named.namespace}/{named.name}" if self.resource.namespaced else str(named.name)

    def _after_expiry(self) -> float:
        """Return how long to wait before the list: not at all, unless it happens again and again."""
        pause = self._expiries.next_seconds()
        return 0.0 if self._expiries.failures == 1 else pause

    def _recovered(self) -> None:
        if self._failures.failures:
            logger.debug("%s: read again", self.resource.plural)
            self._failures.reset()
            self._told = None

    def _pause_seconds(self, error: ApiError | ApiUnreachable) -> float:
        """Tell a failure, once while it stays the same, and return how long to wait after it."""
        pause = self._failures.next_seconds()
        if isinstance(error, (Forbidden, NotFound)):
            return self._is_missing(error, pause)
        if self._told is not type(error):
            self._told = type(error)
            logger.log(level_of(error), "%s: %s; trying again, for ever", self.resource.plural, error)
        if isinstance(error, TooManyRequests):
            return max(pause, error.retry_after_seconds or 0.0)
        return pause

    def _is_missing(self, error: ApiError, pause: float) -> float:
        if not self.missing:
            logger.warning(
                "%s cannot be read (%s); grant list and watch on %s%s",
                self.resource.plural, error, self.resource.permission,
                ", until then scheduling goes on without them" if self.resource.optional else "",
            )  # fmt: skip
        self.missing = str(error)
        self.has_synced = self.has_synced or self.resource.optional
        return MISSING_SECONDS if self.resource.optional else pause


def _is_same(old: Any, new: Any) -> bool:
    version = getattr(new, "resource_version", "")
    return version == getattr(old, "resource_version", None) if version else bool(old == new)

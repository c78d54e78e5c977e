"""Watch requests. The response is a stream with one JSON event on each line.

Without a resourceVersion, the stream starts with the current objects. With a resourceVersion, the stream starts with
the changes after that version. All later changes follow.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass

from moorage.sandbox.api_status import expired
from moorage.sandbox.http.request_info import is_true, parse_integer, parse_selection
from moorage.sandbox.http.response_format import ResponseEncoder, ResponseFormat
from moorage.sandbox.objects import Object, encode, key_of
from moorage.sandbox.operations.list_pages import predicate_of
from moorage.sandbox.operations.selector_syntax import Predicate
from moorage.sandbox.operations.targets import Target
from moorage.sandbox.storage.change_feed import ChangeFeed
from moorage.sandbox.storage.store import ADDED, DELETED, MODIFIED, Change, Compacted, Record, Store

BOOKMARK_SECONDS = 60.0
"""The time between bookmarks on a watch without changes. It is about the same in kube-apiserver."""

_LONGEST_SECONDS = 3600.0
_INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The options of a watch. With `since` 0, the watch starts with the current objects."""

    form: ResponseFormat
    predicate: Predicate | None
    since: int
    seconds: float
    sends_initial: bool
    allows_bookmarks: bool
    bookmark_seconds: float = BOOKMARK_SECONDS

    @classmethod
    def of(cls, target: Target, accept: str, query: Mapping[str, str]) -> "WatchOptions":
        """Return the options of a request. Raises a 400."""
        return cls(
            ResponseFormat.of(accept, query),
            predicate_of(target, parse_selection(query)),
            parse_integer(query, "resourceVersion"),
            parse_integer(query, "timeoutSeconds") or _LONGEST_SECONDS,
            is_true(query.get("sendInitialEvents")),
            is_true(query.get("allowWatchBookmarks")),
        )


@dataclass(frozen=True, slots=True)
class Watch:
    """One watch request. `stall` waits while an injected fault keeps the watch silent."""

    store: Store
    encoder: ResponseEncoder
    target: Target
    options: WatchOptions
    stall: Callable[[], Awaitable[None]]

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Yield batches of encoded events until the timeout that the client requested."""
        store, options = self.store, self.options
        collection = self.target.resource.collection
        deadline = _now() + options.seconds
        since = options.since
        initial: list[Record] = []
        if not since or options.sends_initial:
            since = store.revision
            records = store.records(collection, self.target.namespace)
            initial = [record for record in records if options.predicate is None or options.predicate(record.obj)]
        try:
            with ChangeFeed(store, collection, since) as feed:
                await self.stall()
                if initial:
                    yield b"".join(self._line(ADDED, record) for record in initial)
                if options.sends_initial and options.allows_bookmarks:
                    yield self._bookmark(_INITIAL_EVENTS_END)
                async for batch in self._follow(feed, deadline):
                    yield batch
        except Compacted as error:
            yield error_line(expired(str(error)).to_status())

    async def _follow(self, feed: ChangeFeed, deadline: float) -> AsyncGenerator[bytes, None]:
        next_bookmark = _now() + self.options.bookmark_seconds
        while (now := _now()) < deadline:
            changes = await feed.changes(min(deadline, next_bookmark) - now)
            await self.stall()
            batch = b"".join(self._encoded(changes))
            if not changes and self.options.allows_bookmarks:
                batch = self._bookmark()
                next_bookmark = _now() + self.options.bookmark_seconds
            if batch:
                yield batch

    def _encoded(self, changes: list[Change]) -> Iterator[bytes]:
        namespace = self.target.namespace
        for change in changes:
            if namespace and key_of(change.record.obj)[0] != namespace:
                continue
            kind = _event_type(change, self.options.predicate)
            if kind:
                yield self._shared_line(kind, change)

    def _shared_line(self, kind: str, change: Change) -> bytes:
        """Return the line of an event. It is encoded only once for all watches with the same format."""
        form = self.options.form
        cache_key = f"{kind} {self.target.resource.api_version} {form.kind} {form.include}"
        line = change.lines.get(cache_key)
        if line is None:
            record = change.record
            if kind == DELETED and change.kind != DELETED and change.previous is not None:
                record = _last_selected(change.previous, record)
            line = change.lines[cache_key] = self._line(kind, record)
        return line

    def _line(self, kind: str, record: Record) -> bytes:
        body = self.encoder.encode_object(self.target.resource, record, self.options.form)
        return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"

    def _bookmark(self, annotations: Mapping[str, str] | None = None) -> bytes:
        resource = self.target.resource
        meta: Object = {"resourceVersion": str(self.store.revision)}
        if annotations:
            meta["annotations"] = annotations
        obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta}
        return encode({"type": "BOOKMARK", "object": obj}) + b"\n"


def error_line(status: Object) -> bytes:
    """Return the ERROR event that ends a failed watch."""
    return encode({"type": "ERROR", "object": status}) + b"\n"


def _event_type(change: Change, predicate: Predicate | None) -> str:
    """Return the type of the event that a watch with a predicate sends for a change. Empty means no event."""
    if predicate is None:
        return change.kind
    matched_before = change.previous is not None and predicate(change.previous.obj)
    matches_now = change.kind != DELETED and predicate(change.record.obj)
    if matched_before:
        return MODIFIED if matches_now else DELETED
    return ADDED if matches_now else ""


def _last_selected(previous: Record, now: Record) -> Record:
    """Return the last version that matched the selector, with the revision of the change that ended the match."""
    meta = {**previous.obj["metadata"], "resourceVersion": str(now.revision)}
    return Record(previous.obj | {"metadata": meta}, now.revision)


def _now() -> float:
    return asyncio.get_running_loop().time()

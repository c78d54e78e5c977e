"""Watch streams: what is there, what has changed since, and what changes, a line each."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass

from moorage.sandbox.faults import Faults
from moorage.sandbox.http.request_info import integer, is_true
from moorage.sandbox.http.tables import Tables
from moorage.sandbox.http.targets import Target
from moorage.sandbox.objects import Object, encode, key_of
from moorage.sandbox.status import expired
from moorage.sandbox.storage.changes import Feed
from moorage.sandbox.storage.lists import Form, object_json, predicate_of
from moorage.sandbox.storage.registry import Registry
from moorage.sandbox.storage.selectors import Predicate
from moorage.sandbox.storage.store import ADDED, DELETED, MODIFIED, Change, Compacted, Record

BOOKMARK_SECONDS = 60.0
"""How often a quiet watch that takes bookmarks gets one, as in kube-apiserver about once a minute."""

_LONGEST_SECONDS = 3600.0
_INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The query of a watch."""

    predicate: Predicate | None
    since: int
    seconds: float
    with_initial: bool
    takes_bookmarks: bool

    @classmethod
    def of(cls, target: Target, query: Mapping[str, str]) -> "WatchOptions":
        """Read the options; raises a 400."""
        return cls(
            predicate_of(target, query),
            integer(query, "resourceVersion"),
            integer(query, "timeoutSeconds") or _LONGEST_SECONDS,
            is_true(query.get("sendInitialEvents")),
            is_true(query.get("allowWatchBookmarks")),
        )


@dataclass(frozen=True, slots=True)
class Watch:
    """One watch request, ready to stream. `path` is what stalls are matched with."""

    registry: Registry
    tables: Tables
    faults: Faults
    target: Target
    form: Form
    options: WatchOptions
    path: str

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Yield batches of encoded events until the timeout asked for."""
        store, options = self.registry.store, self.options
        predicate, since, with_initial = options.predicate, options.since, options.with_initial
        deadline = _now() + options.seconds
        initial: list[Record] = []
        if not since or with_initial:
            since = store.revision
            records = store.records(self.target.resource.storage, self.target.namespace)
            initial = [record for record in records if predicate is None or predicate(record.obj)]
        try:
            with Feed(store, self.target.resource.storage, since) as feed:
                await self.faults.stall(self.path)
                if initial:
                    yield b"".join(self._line(ADDED, record) for record in initial)
                if with_initial and options.takes_bookmarks:
                    yield self._bookmark(store.revision, _INITIAL_EVENTS_END)
                async for batch in self._follow(feed, predicate, deadline):
                    yield batch
        except Compacted as error:
            yield error_line(expired(str(error)).to_status())

    async def _follow(self, feed: Feed, predicate: Predicate | None, deadline: float) -> AsyncGenerator[bytes, None]:
        next_bookmark = _now() + BOOKMARK_SECONDS
        while (now := _now()) < deadline:
            changes = await feed.changes(min(deadline, next_bookmark) - now)
            await self.faults.stall(self.path)
            batch = b"".join(self._encoded(changes, predicate))
            if not changes and self.options.takes_bookmarks:
                batch = self._bookmark(self.registry.store.revision)
                next_bookmark = _now() + BOOKMARK_SECONDS
            if batch:
                yield batch

    def _encoded(self, changes: list[Change], predicate: Predicate | None) -> Iterator[bytes]:
        namespace = self.target.namespace
        for change in changes:
            if namespace and key_of(change.record.obj)[0] != namespace:
                continue
            kind = _kind_for(change, predicate)
            if kind:
                yield self._shared_line(kind, change)

    def _shared_line(self, kind: str, change: Change) -> bytes:
        """Encode an event once for all watchers of the same form."""
        form = f"{kind} {self.target.resource.api_version} {self.form.kind} {self.form.include}"
        line = change.lines.get(form)
        if line is None:
            record = change.record
            if kind == DELETED and change.kind != DELETED and change.previous is not None:
                record = _left(change.previous, record)
            line = change.lines[form] = self._line(kind, record)
        return line

    def _line(self, kind: str, record: Record) -> bytes:
        body = object_json(self.target.resource, record, self.form, self.tables)
        return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"

    def _bookmark(self, revision: int, annotations: Mapping[str, str] | None = None) -> bytes:
        resource = self.target.resource
        meta: Object = {"resourceVersion": str(revision)}
        if annotations:
            meta["annotations"] = annotations
        obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta}
        return encode({"type": "BOOKMARK", "object": obj}) + b"\n"


def error_line(status: Object) -> bytes:
    """Make the event that ends a watch that cannot go on."""
    return encode({"type": "ERROR", "object": status}) + b"\n"


def _kind_for(change: Change, predicate: Predicate | None) -> str:
    """Tell what a change is to somebody who sees only what the predicate picks; empty: nothing."""
    if predicate is None:
        return change.kind
    before = change.previous is not None and predicate(change.previous.obj)
    after = change.kind != DELETED and predicate(change.record.obj)
    if before:
        return MODIFIED if after else DELETED
    return ADDED if after else ""


def _left(previous: Record, now: Record) -> Record:
    """Make the last version that a selector picked, numbered with the change that took it out."""
    meta = {**previous.obj["metadata"], "resourceVersion": str(now.revision)}
    return Record(previous.obj | {"metadata": meta}, now.revision)


def _now() -> float:
    return asyncio.get_running_loop().time()

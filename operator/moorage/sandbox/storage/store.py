"""Objects, their versions, and the history that watches replay.

One counter numbers all writes, like etcd's revision. The store never changes a stored object. A write replaces the
`Record` of the object, so lists, watchers and past lists can share records. The store never waits: it adds each change
to the watchers of the collection, and the reader of a watcher takes the gathered changes later.

    watch from 7:   [.. 5 6 | 7 8 9]  -> replays 8 and 9, then follows
    watch from 3:   [compacted to 4]  -> raises Compacted: the reader must list again
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from moorage.sandbox.objects import Key, Object, encode, key_of

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class Compacted(Exception):  # noqa: N818 - etcd's name for this state of the history
    """An error for a revision that is no longer in the history."""

    def __init__(self, revision: int, oldest: int) -> None:
        """Name the requested revision and the oldest available one."""
        super().__init__(f"too old resource version: {revision} ({oldest})")


class StaleRevision(Exception):  # noqa: N818 - names the state of the write, like Compacted
    """An error for a write to an object that has changed since the writer read it."""


@dataclass(slots=True, eq=False)
class Record:
    """One version of one object. `encodings` caches its JSON by apiVersion. The empty key is for the stored version."""

    obj: Object
    revision: int
    encodings: dict[str, bytes] = field(default_factory=dict)

    def json(self) -> bytes:
        """Return the JSON of the stored object. Encodes it only once."""
        found = self.encodings.get("")
        if found is None:
            found = self.encodings[""] = encode(self.obj)
        return found


@dataclass(slots=True, eq=False)
class Change:
    """One write: the new and the previous version of an object. In a deletion, they differ only in the revision."""

    kind: str
    record: Record
    previous: Record | None
    lines: dict[str, bytes] = field(default_factory=dict)
    """The encoded watch event in each format. All watchers share them."""


class Watcher:
    """A queue of changes for one reader."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """Call `wake` after each added change."""
        self._wake = wake
        self._changes: deque[Change] = deque()

    def push(self, change: Change) -> None:
        """Add a change and wake the reader."""
        self._changes.append(change)
        self._wake()

    def take(self) -> list[Change]:
        """Return the gathered changes, and forget them."""
        changes = list(self._changes)
        self._changes.clear()
        return changes


class Store:
    """All objects, by collection (such as `pods.` or `leases.coordination.k8s.io`) and key. Not thread-safe."""

    def __init__(self, *, history: int = 10_000) -> None:
        """Keep the last `history` changes of each collection for watches and paged lists."""
        self.revision = 1
        self._history_limit = history
        self._collections: dict[str, _Collection] = {}

    def get(self, collection: str, key: Key) -> Record | None:
        """Return the current version of one object, or None."""
        return self._collection(collection).records.get(key)

    def records(self, collection: str, namespace: str = "") -> list[Record]:
        """Return the current versions, ordered by namespace and name. An empty `namespace` means all namespaces."""
        return _ordered(self._collection(collection).records, namespace)

    def records_at(self, collection: str, revision: int, namespace: str = "") -> list[Record]:
        """Return the versions at a past revision. Raises Compacted."""
        found = self._collection(collection)
        records = dict(found.records)
        for change in reversed(found.since(revision)):
            key = key_of(change.record.obj)
            if change.previous is None:
                records.pop(key, None)
            else:
                records[key] = change.previous
        return _ordered(records, namespace)

    def create(self, collection: str, obj: Object) -> Record:
        """Add an object and set its resourceVersion. Raises KeyError if the key exists."""
        key = key_of(obj)
        if key in self._collection(collection).records:
            raise KeyError(key)
        return self._write(collection, Change(ADDED, self._record(obj), None))

    def update(self, collection: str, obj: Object, previous: Record) -> Record:
        """Replace an object and set its resourceVersion. Raises StaleRevision if `previous` is not current."""
        if self._collection(collection).records.get(key_of(obj)) is not previous:
            raise StaleRevision
        return self._write(collection, Change(MODIFIED, self._record(obj), previous))

    def delete(self, collection: str, key: Key) -> Record:
        """Remove an object. Returns its last version, with the deletion's revision. Raises KeyError."""
        previous = self._collection(collection).records[key]
        last = previous.obj | {"metadata": dict(previous.obj["metadata"])}
        return self._write(collection, Change(DELETED, self._record(last), previous))

    def watch(self, collection: str, since: int, watcher: Watcher) -> None:
        """Push all changes after the revision `since` to a watcher, including future changes. Raises Compacted."""
        found = self._collection(collection)
        for change in found.since(since):
            watcher.push(change)
        found.watchers.append(watcher)

    def unwatch(self, collection: str, watcher: Watcher) -> None:
        """Stop pushing changes to a watcher."""
        watchers = self._collection(collection).watchers
        if watcher in watchers:
            watchers.remove(watcher)

    def compact(self) -> None:
        """Drop the history of all collections. After this, a watch from a past revision raises Compacted."""
        for collection in self._collections.values():
            collection.forget(self.revision)

    def _collection(self, name: str) -> "_Collection":
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = _Collection(deque(maxlen=self._history_limit))
        return found

    def _record(self, obj: Object) -> Record:
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        return Record(obj, self.revision)

    def _write(self, collection: str, change: Change) -> Record:
        self._collection(collection).apply(change)
        return change.record


@dataclass(slots=True, eq=False)
class _Collection:
    """The objects of one resource, the ring buffer of their last changes, and the watchers."""

    history: deque[Change]
    records: dict[Key, Record] = field(default_factory=dict)
    watchers: list[Watcher] = field(default_factory=list)
    compacted: int = 0

    def apply(self, change: Change) -> None:
        key = key_of(change.record.obj)
        if change.kind == DELETED:
            del self.records[key]
        else:
            self.records[key] = change.record
        if self.history.maxlen is not None and len(self.history) == self.history.maxlen and self.history:
            self.compacted = self.history[0].record.revision
        self.history.append(change)
        for watcher in tuple(self.watchers):
            watcher.push(change)

    def since(self, revision: int) -> list[Change]:
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)
        newest_first = _while_after(revision, reversed(self.history))
        return list(newest_first)[::-1]

    def forget(self, revision: int) -> None:
        self.history.clear()
        self.compacted = revision


def _while_after(revision: int, changes: Iterator[Change]) -> Iterator[Change]:
    for change in changes:
        if change.record.revision <= revision:
            return
        yield change


def _ordered(records: dict[Key, Record], namespace: str) -> list[Record]:
    keys = sorted(key for key in records if not namespace or key[0] == namespace)
    return [records[key] for key in keys]

"""Objects, their versions, and the history that watches replay.

One counter numbers every write, as etcd's revision does. A stored object is never changed: a write puts a new
`Record` in its place, so lists, watchers and undo can share records freely. Nothing here waits or knows of HTTP;
a watcher is woken by a call and takes what has gathered.

    watch from 7:   [.. 5 6 | 7 8 9]  -> replays 8, 9, then follows
    watch from 3:   [compacted to 4]  -> Compacted: the reader has to list again
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from moorage.sandbox.objects import Key, Object, encode, key_of

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class Compacted(Exception):  # noqa: N818 - a state of the history, as etcd names it
    """The history does not reach back to the revision asked for."""

    def __init__(self, revision: int, oldest: int) -> None:
        """Say which revision was asked for and which is the oldest that can be."""
        super().__init__(f"too old resource version: {revision} ({oldest})")


class StaleRevision(Exception):  # noqa: N818 - says what is wrong with the write
    """The object has changed since the writer read it."""


@dataclass(slots=True, eq=False)
class Record:
    """One version of one object. `encodings` keeps its JSON by form, so that each is made once."""

    obj: Object
    revision: int
    encodings: dict[str, bytes] = field(default_factory=dict)

    def json(self) -> bytes:
        """Encode the object as stored."""
        found = self.encodings.get("")
        if found is None:
            found = self.encodings[""] = encode(self.obj)
        return found


@dataclass(slots=True, eq=False)
class Change:
    """One write: what an object became and what it was. A deletion's record carries the deletion's revision."""

    kind: str
    record: Record
    previous: Record | None
    lines: dict[str, bytes] = field(default_factory=dict)
    """Encoded watch events by form, shared by all watchers."""


class Watcher:
    """Gathers changes for one reader until it takes them."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """Call `wake` on each change."""
        self._wake = wake
        self._changes: deque[Change] = deque()

    def push(self, change: Change) -> None:
        """Add a change."""
        self._changes.append(change)
        self._wake()

    def take(self) -> list[Change]:
        """Take what has gathered."""
        changes = list(self._changes)
        self._changes.clear()
        return changes


class Store:
    """All objects by place ("pods.", "leases.coordination.k8s.io") and key. Not thread-safe: one loop uses it."""

    def __init__(self, *, history: int = 10_000) -> None:
        """Keep `history` changes a place for watches and paged lists."""
        self.revision = 1
        self._history_limit = history
        self._places: dict[str, _Place] = {}

    def get(self, place: str, key: Key) -> Record | None:
        """Get the current version of one object."""
        return self._place(place).records.get(key)

    def records(self, place: str, namespace: str = "") -> list[Record]:
        """List current versions, ordered by namespace and name."""
        return _ordered(self._place(place).records, namespace)

    def records_at(self, place: str, revision: int, namespace: str = "") -> list[Record]:
        """List the versions of a past moment; raises Compacted."""
        found = self._place(place)
        records = dict(found.records)
        for change in reversed(found.since(revision)):
            key = key_of(change.record.obj)
            if change.previous is None:
                records.pop(key, None)
            else:
                records[key] = change.previous
        return _ordered(records, namespace)

    def create(self, place: str, obj: Object) -> Record:
        """Add an object; raises KeyError if its key is taken. The store sets resourceVersion in the object."""
        key = key_of(obj)
        if key in self._place(place).records:
            raise KeyError(key)
        return self._write(place, Change(ADDED, self._record(obj), None))

    def update(self, place: str, obj: Object, previous: Record) -> Record:
        """Replace a version; raises StaleRevision if `previous` is not the current one."""
        if self._place(place).records.get(key_of(obj)) is not previous:
            raise StaleRevision
        return self._write(place, Change(MODIFIED, self._record(obj), previous))

    def delete(self, place: str, key: Key) -> Record:
        """Remove an object; raises KeyError. Returns its last version, numbered with the deletion."""
        previous = self._place(place).records[key]
        last = previous.obj | {"metadata": dict(previous.obj["metadata"])}
        return self._write(place, Change(DELETED, self._record(last), previous))

    def watch(self, place: str, since: int, watcher: Watcher) -> None:
        """Give a watcher everything after `since`, past and to come; raises Compacted."""
        found = self._place(place)
        for change in found.since(since):
            watcher.push(change)
        found.watchers.append(watcher)

    def unwatch(self, place: str, watcher: Watcher) -> None:
        """Stop feeding a watcher."""
        watchers = self._place(place).watchers
        if watcher in watchers:
            watchers.remove(watcher)

    def compact(self) -> None:
        """Forget all history: a watch from any revision but the current is Compacted."""
        for place in self._places.values():
            place.forget(self.revision)

    def _place(self, place: str) -> "_Place":
        found = self._places.get(place)
        if found is None:
            found = self._places[place] = _Place(deque(maxlen=self._history_limit))
        return found

    def _record(self, obj: Object) -> Record:
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        return Record(obj, self.revision)

    def _write(self, place: str, change: Change) -> Record:
        self._place(place).apply(change)
        return change.record


@dataclass(slots=True, eq=False)
class _Place:
    """The objects of one resource, the ring of their last changes, and who follows them."""

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

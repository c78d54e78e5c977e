from __future__ import annotations

import pytest

from moorage.sandbox.objects import Object
from moorage.sandbox.storage.store import Change, Compacted, StaleRevision, Store, Watcher

COLLECTION = "pods."


def obj(name: str, namespace: str = "default", **fields: object) -> Object:
    return {"metadata": {"name": name, "namespace": namespace}, **fields}


class Follower:
    """A reader that counts how often its watcher wakes it."""

    def __init__(self) -> None:
        self.wakes = 0
        self.watcher = Watcher(self._wake)

    def _wake(self) -> None:
        self.wakes += 1

    def seen(self) -> list[tuple[str, str]]:
        return [(change.kind, change.record.obj["metadata"]["name"]) for change in self.watcher.take()]


def names(store: Store, revision: int | None = None) -> list[str]:
    records = store.records(COLLECTION) if revision is None else store.records_at(COLLECTION, revision)
    return [record.obj["metadata"]["name"] for record in records]


def test_one_counter_numbers_all_writes() -> None:
    store = Store()
    first = store.create(COLLECTION, obj("a"))
    second = store.create("nodes.", obj("n", namespace=""))
    third = store.delete(COLLECTION, ("default", "a"))
    assert [first.revision, second.revision, third.revision] == [2, 3, 4]
    assert third.obj["metadata"]["resourceVersion"] == "4"


def test_create_of_an_existing_key_fails() -> None:
    store = Store()
    store.create(COLLECTION, obj("a"))
    with pytest.raises(KeyError):
        store.create(COLLECTION, obj("a"))


def test_update_needs_the_current_version() -> None:
    store = Store()
    old = store.create(COLLECTION, obj("a"))
    store.update(COLLECTION, obj("a", x=1), old)
    with pytest.raises(StaleRevision):
        store.update(COLLECTION, obj("a", x=2), old)


def test_deletion_does_not_change_the_previous_version() -> None:
    store = Store()
    before = store.create(COLLECTION, obj("a"))
    store.delete(COLLECTION, ("default", "a"))
    assert before.obj["metadata"]["resourceVersion"] == "2"


def test_list_is_sorted_and_can_select_a_namespace() -> None:
    store = Store()
    for name, namespace in (("b", "y"), ("a", "y"), ("c", "x")):
        store.create(COLLECTION, obj(name, namespace))
    assert names(store) == ["c", "a", "b"]
    assert [record.obj["metadata"]["name"] for record in store.records(COLLECTION, "y")] == ["a", "b"]


def test_list_of_a_past_revision_ignores_later_writes() -> None:
    store = Store()
    kept = store.create(COLLECTION, obj("kept"))
    store.create(COLLECTION, obj("gone"))
    moment = store.revision
    store.update(COLLECTION, obj("kept", changed=True), kept)
    store.delete(COLLECTION, ("default", "gone"))
    store.create(COLLECTION, obj("new"))
    assert names(store, moment) == ["gone", "kept"]
    assert "changed" not in store.records_at(COLLECTION, moment)[1].obj


def test_watch_replays_past_changes_and_follows_new_ones() -> None:
    store = Store()
    store.create(COLLECTION, obj("a"))
    moment = store.revision
    store.create(COLLECTION, obj("b"))
    follower = Follower()
    store.watch(COLLECTION, moment, follower.watcher)
    store.delete(COLLECTION, ("default", "a"))
    assert follower.seen() == [("ADDED", "b"), ("DELETED", "a")]
    assert follower.wakes == 2


def test_watcher_gets_only_changes_of_its_collection_until_unwatch() -> None:
    store = Store()
    follower = Follower()
    store.watch(COLLECTION, store.revision, follower.watcher)
    store.create("nodes.", obj("n", namespace=""))
    store.unwatch(COLLECTION, follower.watcher)
    store.create(COLLECTION, obj("a"))
    assert follower.seen() == []


def test_watch_from_before_the_limited_history_raises_compacted() -> None:
    store = Store(history=2)
    moments = []
    for name in "abc":
        moments.append(store.revision)
        store.create(COLLECTION, obj(name))
    with pytest.raises(Compacted, match="too old resource version: 1 "):
        store.watch(COLLECTION, moments[0], Follower().watcher)
    follower = Follower()
    store.watch(COLLECTION, moments[1], follower.watcher)
    assert follower.seen() == [("ADDED", "b"), ("ADDED", "c")]


def test_compaction_drops_all_past_revisions() -> None:
    store = Store()
    store.create(COLLECTION, obj("a"))
    before = store.revision
    store.create(COLLECTION, obj("b"))
    store.compact()
    with pytest.raises(Compacted):
        store.records_at(COLLECTION, before)
    store.watch(COLLECTION, store.revision, Follower().watcher)


def test_record_encodes_its_object_once() -> None:
    record = Store().create(COLLECTION, obj("a"))
    assert record.json() is record.json()
    assert isinstance(Change("ADDED", record, None).lines, dict)

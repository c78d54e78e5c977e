from __future__ import annotations

import pytest

from moorage.sandbox.objects import Object
from moorage.sandbox.storage.store import Change, Compacted, StaleRevision, Store, Watcher

PLACE = "pods."


def obj(name: str, namespace: str = "default", **fields: object) -> Object:
    return {"metadata": {"name": name, "namespace": namespace}, **fields}


class Follower:
    """A watcher that counts how often it was woken."""

    def __init__(self) -> None:
        self.wakes = 0
        self.watcher = Watcher(self._wake)

    def _wake(self) -> None:
        self.wakes += 1

    def seen(self) -> list[tuple[str, str]]:
        return [(change.kind, change.record.obj["metadata"]["name"]) for change in self.watcher.take()]


def names(store: Store, revision: int | None = None) -> list[str]:
    records = store.records(PLACE) if revision is None else store.records_at(PLACE, revision)
    return [record.obj["metadata"]["name"] for record in records]


def test_one_counter_numbers_all_writes() -> None:
    store = Store()
    first = store.create(PLACE, obj("a"))
    second = store.create("nodes.", obj("n", namespace=""))
    third = store.delete(PLACE, ("default", "a"))
    assert [first.revision, second.revision, third.revision] == [2, 3, 4]
    assert third.obj["metadata"]["resourceVersion"] == "4"


def test_taken_key_cannot_be_created() -> None:
    store = Store()
    store.create(PLACE, obj("a"))
    with pytest.raises(KeyError):
        store.create(PLACE, obj("a"))


def test_update_needs_the_current_version() -> None:
    store = Store()
    old = store.create(PLACE, obj("a"))
    store.update(PLACE, obj("a", x=1), old)
    with pytest.raises(StaleRevision):
        store.update(PLACE, obj("a", x=2), old)


def test_deletion_leaves_the_stored_version_as_it_was() -> None:
    store = Store()
    before = store.create(PLACE, obj("a"))
    store.delete(PLACE, ("default", "a"))
    assert before.obj["metadata"]["resourceVersion"] == "2"


def test_lists_are_ordered_and_by_namespace() -> None:
    store = Store()
    for name, namespace in (("b", "y"), ("a", "y"), ("c", "x")):
        store.create(PLACE, obj(name, namespace))
    assert names(store) == ["c", "a", "b"]
    assert [record.obj["metadata"]["name"] for record in store.records(PLACE, "y")] == ["a", "b"]


def test_past_list_undoes_later_writes() -> None:
    store = Store()
    kept = store.create(PLACE, obj("kept"))
    store.create(PLACE, obj("gone"))
    moment = store.revision
    store.update(PLACE, obj("kept", changed=True), kept)
    store.delete(PLACE, ("default", "gone"))
    store.create(PLACE, obj("new"))
    assert names(store, moment) == ["gone", "kept"]
    assert "changed" not in store.records_at(PLACE, moment)[1].obj


def test_watch_replays_and_follows() -> None:
    store = Store()
    store.create(PLACE, obj("a"))
    moment = store.revision
    store.create(PLACE, obj("b"))
    follower = Follower()
    store.watch(PLACE, moment, follower.watcher)
    store.delete(PLACE, ("default", "a"))
    assert follower.seen() == [("ADDED", "b"), ("DELETED", "a")]
    assert follower.wakes == 2


def test_watch_sees_only_its_place_and_ends() -> None:
    store = Store()
    follower = Follower()
    store.watch(PLACE, store.revision, follower.watcher)
    store.create("nodes.", obj("n", namespace=""))
    store.unwatch(PLACE, follower.watcher)
    store.create(PLACE, obj("a"))
    assert follower.seen() == []


def test_history_is_bounded_and_says_when_it_is_too_short() -> None:
    store = Store(history=2)
    moments = []
    for name in "abc":
        moments.append(store.revision)
        store.create(PLACE, obj(name))
    with pytest.raises(Compacted, match="too old resource version: 1 "):
        store.watch(PLACE, moments[0], Follower().watcher)
    follower = Follower()
    store.watch(PLACE, moments[1], follower.watcher)
    assert follower.seen() == [("ADDED", "b"), ("ADDED", "c")]


def test_compaction_forgets_everything_but_now() -> None:
    store = Store()
    store.create(PLACE, obj("a"))
    before = store.revision
    store.create(PLACE, obj("b"))
    store.compact()
    with pytest.raises(Compacted):
        store.records_at(PLACE, before)
    store.watch(PLACE, store.revision, Follower().watcher)


def test_versions_are_encoded_once() -> None:
    record = Store().create(PLACE, obj("a"))
    assert record.json() is record.json()
    assert isinstance(Change("ADDED", record, None).lines, dict)

"""Objects and namespaces. Each change increments a generation."""

from __future__ import annotations

from builders import columns_of, make
from moorage.cluster.snapshot import Snapshot
from moorage.model.workloads.workload_objects import Controller


def test_objects_are_stored_by_kind_and_key() -> None:
    service = make("Service", {"metadata": {"name": "s", "namespace": "x"}, "spec": {"selector": {"app": "web"}}})
    columns = columns_of()
    snapshot = Snapshot(columns)
    generation = columns.generations.objects
    columns.objects.set("Service", "x/s", service)
    assert snapshot.objects("Service") == {"x/s": service}
    assert snapshot.object_generation("Service", "StatefulSet") == (1, 0)
    assert snapshot.objects("StatefulSet") == {}
    columns.objects.remove("Service", "x/s")
    columns.objects.remove("Service", "x/s")
    assert snapshot.objects("Service") == {}
    assert columns.generations.objects == generation + 2


def test_equal_object_does_not_change_the_generation() -> None:
    def replica_set(replicas: int) -> Controller:
        status = {"replicas": replicas}
        made: Controller = make("ReplicaSet", {"metadata": {"name": "r", "namespace": "x"}, "status": status})
        return made

    columns = columns_of()
    for replicas in (1, 2, 3):
        columns.objects.set("ReplicaSet", "x/r", replica_set(replicas))
    assert columns.generations.objects == 1


def test_namespace_generation_grows_only_if_a_namespace_changes() -> None:
    columns = columns_of(namespaces={"a": {"team": "x"}})
    before = columns.generations.namespaces
    columns.objects.set_namespace("a", {"team": "x"})
    assert columns.generations.namespaces == before
    columns.objects.set_namespace("a", {"team": "y"})
    columns.objects.remove_namespace("unknown")
    assert columns.generations.namespaces == before + 1
    columns.objects.remove_namespace("a")
    assert Snapshot(columns).namespaces == {}

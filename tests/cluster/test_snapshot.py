"""Views of some nodes agree with the snapshot of all nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from builders import HOSTNAME, ZONE, Object, columns_of, make, node, pod, snapshot_of
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.terms.counted_terms import CarriedKind, CountedTerm
from moorage.cluster.volumes.volume_keys import VolumeKey
from moorage.cluster.what_if import NodeWhatIf
from moorage.model.node import Node
from moorage.model.pods.pod import HostPort, Pod

Cluster = tuple[list[Node], list[Pod]]


@given(cluster=strategies.clusters(), term=strategies.counted_terms(), incoming=strategies.pods(), data=st.data())
@settings(max_examples=30)
def test_view_returns_the_same_entries_of_its_nodes_as_the_snapshot(
    cluster: Cluster, term: CountedTerm, incoming: Pod, data: st.DataObject
) -> None:
    whole = snapshot_of(*cluster, namespaces=strategies.NAMESPACE_LABELS)
    positions = data.draw(st.lists(st.integers(0, whole.size - 1), unique=True))
    view = NodesView(whole, np.array(positions, dtype=np.int64))
    inner = data.draw(st.lists(st.integers(0, len(positions) - 1), unique=True)) if positions else []
    nested = NodesView(view, np.array(inner, dtype=np.int64))
    readers: list[Callable[[Snapshot], Any]] = [
        lambda each: each.allocatable("cpu"),
        lambda each: each.requested("memory"),
        lambda each: each.non_zero_requested("cpu"),
        lambda each: each.allowed_pods,
        lambda each: each.pod_count,
        lambda each: each.unschedulable,
        lambda each: each.taints.ids,
        lambda each: each.declared_features.ids,
        lambda each: each.label(ZONE).ids,
        lambda each: each.counted(term),
        lambda each: each.port_in_use(HostPort("0.0.0.0", "TCP", 80)),
    ]
    for part, slots in ((view, positions), (nested, [positions[each] for each in inner])):
        assert part.cluster is whole
        assert (part.size, part.total_nodes) == (len(slots), whole.size)
        assert list(part.names) == [whole.names[slot] for slot in slots]
        assert [part.position(name) for name in part.names] == list(range(len(slots)))
        assert all(part.position(name) is None for name in set(whole.names) - set(part.names))
        for read in readers:
            assert read(part).tolist() == [read(whole).tolist()[slot] for slot in slots]
        for kind in CarriedKind:
            for one, other in zip(part.carried(kind, incoming.shape), whole.carried(kind, incoming.shape), strict=True):
                assert one.counts.tolist() == [other.counts.tolist()[slot] for slot in slots]
        for position, slot in enumerate(slots):
            assert part.node(position) is whole.node(slot)
            assert list(part.pods_on(position)) == list(whole.pods_on(slot))


def test_gather_makes_no_copy_for_the_snapshot_and_one_copy_for_a_view() -> None:
    whole = snapshot_of([node("a"), node("b")])
    array = np.array([5, 6])
    assert whole.gather(array) is array
    view = NodesView(whole, np.array([1]))
    assert view.gather(array) is view.gather(array)
    assert view.gather(array).tolist() == [6]


def test_view_has_the_label_ids_and_values_of_the_snapshot() -> None:
    whole = snapshot_of([node("a", zone="z1"), node("b", zone="z2")])
    view = NodesView(whole, np.array([1]))
    assert list(view.label(ZONE).values) == ["z1", "z2"]
    assert view.label(ZONE).ids.tolist() == [1]


@pytest.mark.parametrize(("ip", "taken"), [("0.0.0.0", True), ("10.0.0.1", True), ("10.0.0.2", False), ("::", False)])
def test_host_port_is_in_use_if_a_pod_has_it_on_the_same_address_or_on_all_addresses(ip: str, taken: bool) -> None:  # noqa: FBT001
    container = {"name": "c", "ports": [{"hostPort": 80, "hostIP": "10.0.0.1"}]}
    snapshot = snapshot_of([node("a")], [pod(node="a", containers=[container])])
    assert snapshot.port_in_use(HostPort(ip, "TCP", 80)).tolist() == [taken]
    assert snapshot.port_in_use(HostPort(ip, "UDP", 80)).tolist() == [False]


def test_attached_volumes_change_with_pods_and_storage_objects() -> None:
    def claim(name: str) -> Object:
        return {"metadata": {"name": name, "namespace": "default"}, "spec": {"volumeName": f"pv-{name}"}}

    def volume(name: str) -> Object:
        csi = {"driver": "csi.example.com", "volumeHandle": name}
        return {"metadata": {"name": f"pv-{name}"}, "spec": {"csi": csi}}

    def using(name: str, on: str) -> Pod:
        source = {"name": "v", "persistentVolumeClaim": {"claimName": name}}
        return pod(f"{on}-{name}", node=on, spec={"volumes": [source]})

    columns = columns_of([node("a"), node("b")], [using("x", "a"), using("y", "a"), using("x", "b")])
    snapshot = Snapshot(columns)
    assert snapshot.attached_volumes("csi.example.com").tolist() == [0, 0]
    for name in ("x", "y"):
        columns.objects.set("PersistentVolumeClaim", f"default/{name}", make("PersistentVolumeClaim", claim(name)))
        columns.objects.set("PersistentVolume", f"pv-{name}", make("PersistentVolume", volume(name)))
    assert snapshot.attached_volumes("csi.example.com").tolist() == [2, 1]
    handle = VolumeKey("csi.example.com", "y")
    assert snapshot.volume_in_use(handle).tolist() == [True, False]
    view = NodeWhatIf(snapshot, 0)
    assert view.volume_in_use(handle).tolist() == [True]
    view.remove_pod(next(each for each in view.pods_on(0) if each.name == "a-y"))
    assert view.attached_volumes("csi.example.com").tolist() == [1]
    assert view.volume_in_use(handle).tolist() == [False]
    columns.remove_pod(using("x", "b"))
    assert snapshot.attached_volumes("csi.example.com").tolist() == [2, 0]


def test_label_column_has_values_after_a_node_with_the_label_is_added() -> None:
    columns = columns_of([node("a")])
    snapshot = Snapshot(columns)
    assert snapshot.label("rack").ids.tolist() == [-1]
    columns.set_node(node("b", labels={"rack": "r1"}))
    assert snapshot.label("rack").ids.tolist() == [-1, 0]
    assert list(snapshot.label("rack").values) == ["r1"]
    assert snapshot.label(HOSTNAME).ids.tolist() == [0, 1]

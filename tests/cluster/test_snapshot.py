"""Views of a snapshot agree with the whole, and a what-if view with a cluster that really is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import strategies
from builders import HOSTNAME, ZONE, Object, columns_of, make, node, pod, snapshot_of
from moorage.cluster.memo import Memo
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.terms.counted_terms import CarriedKind, CountedTerm
from moorage.cluster.volumes.attachable_volumes import VolumeKey
from moorage.cluster.what_if import NodeWhatIf
from moorage.model.node import Node
from moorage.model.pods.pod import HostPort, Pod
from moorage.model.workloads.workload_objects import Controller

Cluster = tuple[list[Node], list[Pod]]


@given(cluster=strategies.clusters(), term=strategies.counted_terms(), incoming=strategies.pods(), data=st.data())
@settings(max_examples=30)
def test_a_view_has_the_entries_of_the_whole(
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


def test_the_whole_gives_arrays_themselves_and_a_view_gathers_once() -> None:
    whole = snapshot_of([node("a"), node("b")])
    array = np.array([5, 6])
    assert whole.gather(array) is array
    view = NodesView(whole, np.array([1]))
    assert view.gather(array) is view.gather(array)
    assert view.gather(array).tolist() == [6]


def test_views_share_ids_and_vocabulary() -> None:
    whole = snapshot_of([node("a", zone="z1"), node("b", zone="z2")])
    view = NodesView(whole, np.array([1]))
    assert list(view.label(ZONE).values) == ["z1", "z2"]
    assert view.label(ZONE).ids.tolist() == [1]


@given(cluster=strategies.clusters(), term=strategies.counted_terms(), incoming=strategies.pods(), data=st.data())
@settings(max_examples=40)
def test_a_what_if_view_says_what_the_changed_cluster_would(
    cluster: Cluster, term: CountedTerm, incoming: Pod, data: st.DataObject
) -> None:
    nodes, placed = cluster
    whole = snapshot_of(nodes, placed, namespaces=strategies.NAMESPACE_LABELS)
    position = data.draw(st.integers(0, whole.size - 1))
    view = NodeWhatIf(whole, position)
    name = whole.names[position]
    on_node = {each.uid: each for each in placed if each.node_name == name}
    added = [data.draw(strategies.pods(name=f"new{index}", node=name)) for index in range(data.draw(st.integers(0, 2)))]
    ports = [port for each in [*on_node.values(), *added] for port in each.shape.host_ports]
    assume(len(ports) == len(set(ports)))
    for each in added:
        view.add_pod(each)
        on_node[each.uid] = each
    for uid in data.draw(st.lists(st.sampled_from(sorted(on_node)), unique=True)) if on_node else ():
        removed = on_node.pop(uid)
        view.remove_pod(removed)
        if data.draw(st.booleans()):
            view.add_pod(removed)
            on_node[uid] = removed
    real = snapshot_of(
        nodes,
        [*(each for each in placed if each.node_name != name), *on_node.values()],
        namespaces=strategies.NAMESPACE_LABELS,
    )
    for resource in ("cpu", "memory", strategies.EXTENDED):
        assert view.requested(resource).tolist() == [real.requested(resource)[position]]
        assert view.non_zero_requested(resource).tolist() == [real.non_zero_requested(resource)[position]]
    assert view.pod_count.tolist() == [real.pod_count[position]]
    assert {each.uid for each in view.pods_on(0)} == set(on_node)
    assert view.counted(term).tolist() == [real.counted(term)[position]]
    for port in (80, 443):
        wanted = HostPort("10.0.0.1", "TCP", port)
        assert view.port_in_use(wanted).tolist() == [real.port_in_use(wanted)[position]]
    for kind in CarriedKind:
        seen = {(each.term, each.weight): int(each.counts[0]) for each in view.carried(kind, incoming.shape)}
        true = {(each.term, each.weight): int(each.counts[position]) for each in real.carried(kind, incoming.shape)}
        assert {key: count for key, count in seen.items() if count} == {key: n for key, n in true.items() if n}


def test_what_if_changes_nobody_elses_view() -> None:
    whole = snapshot_of([node("a")], [pod("p", node="a", cpu="1", host_ports=[80])])
    view = NodeWhatIf(whole, 0)
    view.remove_pod(next(iter(view.pods_on(0))))
    assert view.requested("cpu").tolist() == [0]
    assert whole.requested("cpu").tolist() == [1000]
    assert whole.port_in_use(HostPort("0.0.0.0", "TCP", 80)).tolist() == [True]
    assert (view.size, list(view.names), view.position("a"), view.position("b")) == (1, ["a"], 0, None)


def test_a_port_that_two_pods_share_is_free_once_one_of_them_is_removed_in_a_what_if() -> None:
    both = [pod(name, node="a", host_ports=[80]) for name in ("p", "q")]
    view = NodeWhatIf(snapshot_of([node("a")], both), 0)
    view.remove_pod(both[0])
    assert view.port_in_use(HostPort("0.0.0.0", "TCP", 80)).tolist() == [False]
    view.add_pod(both[0])
    assert view.port_in_use(HostPort("0.0.0.0", "TCP", 80)).tolist() == [True]


@pytest.mark.parametrize(("ip", "taken"), [("0.0.0.0", True), ("10.0.0.1", True), ("10.0.0.2", False), ("::", False)])
def test_a_host_port_conflicts_on_the_same_address_or_on_all(ip: str, taken: bool) -> None:  # noqa: FBT001
    container = {"name": "c", "ports": [{"hostPort": 80, "hostIP": "10.0.0.1"}]}
    snapshot = snapshot_of([node("a")], [pod(node="a", containers=[container])])
    assert snapshot.port_in_use(HostPort(ip, "TCP", 80)).tolist() == [taken]
    assert snapshot.port_in_use(HostPort(ip, "UDP", 80)).tolist() == [False]


def test_users_of_claims_and_disks_follow_a_what_if() -> None:
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    disk = {"name": "d", "gcePersistentDisk": {"pdName": "pd"}}
    first, second = (pod(name, node="a", spec={"volumes": [claim, disk]}) for name in ("p", "q"))
    snapshot = snapshot_of([node("a"), node("b")], [first])
    view = NodeWhatIf(snapshot, 0)
    view.remove_pod(first)
    view.add_pod(second)
    assert list(snapshot.claim_users("default/data")) == [first]
    assert list(view.claim_users("default/data")) == [second]
    assert {name: list(users) for name, users in snapshot.disk_users(("gce", "pd")).items()} == {"a": [first]}
    assert {name: list(users) for name, users in view.disk_users(("gce", "pd")).items()} == {"a": [second]}
    view.remove_pod(second)
    assert view.disk_users(("gce", "pd")) == {}


def test_objects_are_found_by_kind_and_key() -> None:
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


def test_an_object_that_means_the_same_as_before_is_no_change() -> None:
    def replica_set(replicas: int) -> Controller:
        status = {"replicas": replicas}
        made: Controller = make("ReplicaSet", {"metadata": {"name": "r", "namespace": "x"}, "status": status})
        return made

    columns = columns_of()
    for replicas in (1, 2, 3):
        columns.objects.set("ReplicaSet", "x/r", replica_set(replicas))
    assert columns.generations.objects == 1


def test_volumes_to_attach_follow_pods_and_storage_objects() -> None:
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


def test_namespaces_have_a_generation_that_only_a_change_raises() -> None:
    columns = columns_of(namespaces={"a": {"team": "x"}})
    before = columns.generations.namespaces
    columns.objects.set_namespace("a", {"team": "x"})
    assert columns.generations.namespaces == before
    columns.objects.set_namespace("a", {"team": "y"})
    columns.objects.remove_namespace("gone")
    assert columns.generations.namespaces == before + 1
    columns.objects.remove_namespace("a")
    assert Snapshot(columns).namespaces == {}


def test_a_memo_is_computed_once_a_subject_shape_and_generation() -> None:
    snapshot = snapshot_of([node("a")])
    shape, other = pod(cpu="1").shape, pod(cpu="2").shape
    made: list[str] = []

    def compute(name: str) -> str:
        made.append(name)
        return name

    view = NodesView(snapshot, np.array([0]))
    assert snapshot.memo("s", shape, 1, lambda: compute("first")) == "first"
    assert view.memo("s", shape, 1, lambda: compute("again")) == "first"
    assert snapshot.memo("t", shape, 1, lambda: compute("other subject")) == "other subject"
    assert snapshot.memo("s", other, 1, lambda: compute("other shape")) == "other shape"
    assert snapshot.memo("s", shape, 2, lambda: compute("next generation")) == "next generation"
    assert made == ["first", "other subject", "other shape", "next generation"]


def test_a_memo_forgets_what_was_used_least_recently() -> None:
    memo = Memo(max_entries=2)
    shape = pod().shape
    for subject in ("a", "b", "a", "c"):
        memo.get(subject, shape, 0, lambda: "old")
    assert [memo.get(subject, shape, 0, lambda: "new") for subject in ("a", "c", "b")] == ["old", "old", "new"]


def test_a_label_that_no_node_has_appears_with_the_first_node_that_has_it() -> None:
    columns = columns_of([node("a")])
    snapshot = Snapshot(columns)
    assert snapshot.label("rack").ids.tolist() == [-1]
    columns.set_node(node("b", labels={"rack": "r1"}))
    assert snapshot.label("rack").ids.tolist() == [-1, 0]
    assert list(snapshot.label("rack").values) == ["r1"]
    assert snapshot.label(HOSTNAME).ids.tolist() == [0, 1]

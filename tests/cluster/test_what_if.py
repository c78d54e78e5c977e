"""A what-if agrees with a cluster that has the same pods."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import strategies
from builders import node, pod, snapshot_of
from moorage.cluster.terms.counted_terms import CarriedKind, CountedTerm
from moorage.cluster.what_if import NodeWhatIf
from moorage.model.node import Node
from moorage.model.pods.pod import HostPort, Pod

Cluster = tuple[list[Node], list[Pod]]


@given(cluster=strategies.clusters(), term=strategies.counted_terms(), incoming=strategies.pods(), data=st.data())
@settings(max_examples=40)
def test_what_if_agrees_with_a_cluster_that_has_the_same_pods(
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


def test_what_if_does_not_change_the_snapshot() -> None:
    whole = snapshot_of([node("a")], [pod("p", node="a", cpu="1", host_ports=[80])])
    view = NodeWhatIf(whole, 0)
    view.remove_pod(next(iter(view.pods_on(0))))
    assert view.requested("cpu").tolist() == [0]
    assert whole.requested("cpu").tolist() == [1000]
    assert whole.port_in_use(HostPort("0.0.0.0", "TCP", 80)).tolist() == [True]
    assert (view.size, list(view.names), view.position("a"), view.position("b")) == (1, ["a"], 0, None)


def test_what_if_frees_a_host_port_if_one_of_two_pods_with_the_port_is_removed() -> None:
    both = [pod(name, node="a", host_ports=[80]) for name in ("p", "q")]
    view = NodeWhatIf(snapshot_of([node("a")], both), 0)
    view.remove_pod(both[0])
    assert view.port_in_use(HostPort("0.0.0.0", "TCP", 80)).tolist() == [False]
    view.add_pod(both[0])
    assert view.port_in_use(HostPort("0.0.0.0", "TCP", 80)).tolist() == [True]


def test_what_if_changes_users_of_claims_and_disks() -> None:
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

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from builders import HOSTNAME, ZONE, Object, node, pod, snapshot_of
from moorage.cluster.node_selectors import node_meets_pod_affinity
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.tolerations import untolerated
from moorage.cluster.what_if import NodeWhatIf
from moorage.framework.cluster_events import added, deleted, updated
from moorage.framework.status import Code
from moorage.model.node import Node
from moorage.model.pods.affinity import TopologySpreadConstraint
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.pod_topology_spread import MISSING_LABEL_REASON, SKEW_REASON, PodTopologySpread
from plugin_runs import answers, scored
from strategies import NAMESPACE_LABELS, clusters, pods

WEB = {"matchLabels": {"app": "web"}}
SERVICE = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}


def constraint(key: str = ZONE, *, skew: int = 1, soft: bool = False, **more: object) -> Object:
    action = "ScheduleAnyway" if soft else "DoNotSchedule"
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": WEB, **more}


def web(name: str, node_name: str = "", **fields: object) -> Pod:
    return pod(name, node=node_name, labels={"app": "web"}, **fields)


def filtered(plugin: PodTopologySpread, incoming: Pod, nodes: Snapshot) -> dict[str, str]:
    result = plugin.pre_filter(incoming, nodes)
    assert result.state is not None
    return answers(plugin.filter(result.state, incoming, nodes), nodes)


class TestFilter:
    def test_zone_beyond_max_skew_is_rejected(self) -> None:
        nodes = [node("a", zone="z1"), node("b", zone="z2"), node("c")]
        snapshot = snapshot_of(nodes, [web("e0", "a"), web("e1", "b"), web("e2", "b")])

        found = filtered(PodTopologySpread(), web("p", spread=[constraint()]), snapshot)

        assert found == {"a": "ok", "b": SKEW_REASON, "c": MISSING_LABEL_REASON}

    def test_rejection_for_a_missing_label_is_unresolvable(self) -> None:
        snapshot = snapshot_of([node("a", zone="z1"), node("b")])
        plugin, incoming = PodTopologySpread(), web("p", spread=[constraint()])
        state = plugin.pre_filter(incoming, snapshot).state
        assert state is not None

        rejections = {each.reason: each.code for each in plugin.filter(state, incoming, snapshot).rejections()}

        assert rejections[MISSING_LABEL_REASON] is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        assert rejections[SKEW_REASON] is Code.UNSCHEDULABLE

    def test_minimum_is_0_if_there_are_fewer_domains_than_min_domains(self) -> None:
        snapshot = snapshot_of([node("a", zone="z1"), node("b", zone="z2")], [web("e0", "a"), web("e1", "b")])

        found = filtered(PodTopologySpread(), web("p", spread=[constraint(minDomains=3)]), snapshot)

        assert found == {"a": SKEW_REASON, "b": SKEW_REASON}

    def test_zone_excluded_by_affinity_does_not_set_the_minimum(self) -> None:
        nodes = [node("a", zone="z1", labels={"disk": "ssd"}), node("b", zone="z2")]
        incoming = web("p", spread=[constraint()], spec={"nodeSelector": {"disk": "ssd"}})

        found = filtered(PodTopologySpread(), incoming, snapshot_of(nodes, [web("e0", "a"), web("e1", "a")]))

        assert found["a"] == "ok"

    def test_pre_filter_skips_a_pod_without_hard_constraints(self) -> None:
        incoming = web("p", spread=[constraint(soft=True)])

        assert PodTopologySpread().pre_filter(incoming, snapshot_of([node("a")])).status.code is Code.SKIP

    def test_what_if_subtracts_a_terminating_pod_that_was_not_counted(self) -> None:
        """The wrong count is intended, because kube-scheduler's preemption counts in the same way."""
        nodes = [node("a", zone="z1"), node("b", zone="z2")]
        leaving = web("e2", "b", terminating=True)
        snapshot = snapshot_of(nodes, [web("e0", "a"), web("e1", "b"), leaving])
        plugin, incoming = PodTopologySpread(), web("p", spread=[constraint()])
        state = plugin.pre_filter(incoming, snapshot).state
        assert state is not None
        what_if = NodeWhatIf(snapshot, 1)

        changed = plugin.remove_pod(state, incoming, leaving, what_if)

        assert changed[0].counts.tolist() == [1, 0, 0]
        assert state[0].counts.tolist() == [1, 1, 0]


class TestScore:
    def test_emptier_zones_score_higher(self) -> None:
        nodes = [node("a", zone="z1"), node("b", zone="z2"), node("c", zone="z3")]
        snapshot = snapshot_of(nodes, [web("e0", "a"), web("e1", "a"), web("e2", "a"), web("e3", "b")])

        found = scored(PodTopologySpread(), web("p", spread=[constraint(soft=True)]), snapshot)

        assert found == ([5, 2, 0], [0, 60, 100])

    def test_node_without_the_label_scores_0(self) -> None:
        snapshot = snapshot_of([node("a", zone="z1"), node("b")], [web("e0", "a")])

        assert scored(PodTopologySpread(), web("p", spread=[constraint(soft=True)]), snapshot) == ([1, 0], [100, 0])

    def test_zone_counts_include_nodes_that_do_not_fit(self) -> None:
        nodes = [node("a", zone="z1"), node("b", zone="z2"), node("full", zone="z1")]
        snapshot = snapshot_of(nodes, [web("e0", "full"), web("e1", "full")])
        fitting = NodesView(snapshot, np.array([0, 1]))

        assert scored(PodTopologySpread(), web("p", spread=[constraint(soft=True)]), fitting) == ([3, 0], [0, 100])


class TestDefaults:
    def test_service_spreads_its_pods_over_hosts_and_zones(self) -> None:
        nodes = [node("a", zone="z1"), node("b", zone="z2")]
        snapshot = snapshot_of(nodes, [web("e0", "a"), web("e1", "a")], objects={"Service": [SERVICE]})

        found = scored(PodTopologySpread(), web("p"), snapshot)

        assert found is not None
        assert found[1][0] < found[1][1]

    def test_default_constraints_spread_pods_over_hosts_if_nodes_have_no_zone(self) -> None:
        snapshot = snapshot_of([node("a", zone="z1"), node("b")], [web("e0", "a")], objects={"Service": [SERVICE]})

        # Each topology key has two domains: all nodes without a zone are one domain. A pod adds ln(4) to the score,
        # and a constraint adds maxSkew - 1.
        assert scored(PodTopologySpread(), web("p"), snapshot) == ([9, 2], [22, 100])

    def test_pod_without_a_service_or_owner_is_not_spread_by_default(self) -> None:
        snapshot = snapshot_of([node("a", zone="z1")], objects={"Service": [SERVICE]})

        assert scored(PodTopologySpread(), pod("p", labels={"app": "db"}), snapshot) is None

    def test_service_that_is_created_later_spreads_its_pods(self) -> None:
        snapshot = snapshot_of([node("a", zone="z1")])
        plugin, incoming = PodTopologySpread(), web("p")
        assert scored(plugin, incoming, snapshot) is None

        with_service = snapshot_of([node("a", zone="z1")], objects={"Service": [SERVICE]})

        assert scored(plugin, incoming, with_service) is not None

    @pytest.mark.parametrize("kind", ["ReplicationController", "ReplicaSet", "StatefulSet"])
    def test_controller_spreads_its_pods(self, kind: str) -> None:
        selector = {"app": "web"} if kind == "ReplicationController" else WEB
        version = "v1" if kind == "ReplicationController" else "apps/v1"
        controller = {"metadata": {"name": "own", "namespace": "default", "uid": "u"}, "spec": {"selector": selector}}
        owner = {"apiVersion": version, "kind": kind, "name": "own", "uid": "u", "controller": True}
        nodes = [node("a", zone="z1"), node("b", zone="z2")]
        snapshot = snapshot_of(nodes, [web("e0", "a")], objects={kind: [controller]})

        found = scored(PodTopologySpread(), web("p", owner=owner), snapshot)

        assert found is not None
        assert found[1][0] < found[1][1]

    def test_default_constraints_of_the_arguments_replace_the_system_defaults(self) -> None:
        arguments = {"defaultingType": "List", "defaultConstraints": [RACK]}
        plugin = PodTopologySpread.model_validate_json(json.dumps(arguments), strict=True)
        nodes = [node("a", labels={"rack": "r1"}), node("b", labels={"rack": "r2"})]
        snapshot = snapshot_of(nodes, [web("e0", "a")], objects={"Service": [SERVICE]})

        assert filtered(plugin, web("p"), snapshot) == {"a": SKEW_REASON, "b": "ok"}


RACK = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"defaultConstraints": [RACK]}, "must be List"),
        ({"defaultingType": "Both"}, "'System' or 'List'"),
        ({"defaultingType": "List", "defaultConstraints": [RACK, {**RACK, "maxSkew": 2}]}, "must not repeat"),
        ({"defaultingType": "List", "defaultConstraints": [{**RACK, "labelSelector": {}}]}, "not define a selector"),
        ({"defaultingType": "List", "defaultConstraints": [{**RACK, "maxSkew": 0}]}, "greater than"),
    ],
)
def test_arguments_that_kube_scheduler_rejects_are_rejected(arguments: Object, fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        PodTopologySpread.model_validate_json(json.dumps(arguments), strict=True)


class TestHints:
    plugin = PodTopologySpread()
    waiting = web("p", spread=[constraint(), constraint(HOSTNAME)])

    def test_added_or_deleted_pod_that_counts_queues_the_waiting_pod(self) -> None:
        assert self.plugin.queueing_hint(self.waiting, added("Pod", web("e", "a")))
        assert self.plugin.queueing_hint(self.waiting, deleted("Pod", web("e", "a")))

    def test_deleted_pod_that_does_not_count_queues_no_pod(self) -> None:
        for other in (web("e"), web("e", "a", namespace="team-a"), pod("e", node="a", labels={"app": "db"})):
            assert not self.plugin.queueing_hint(self.waiting, deleted("Pod", other))

    def test_relabelled_pod_that_no_longer_counts_queues_the_waiting_pod(self) -> None:
        event = updated("Pod", web("e", "a"), pod("e", node="a", labels={"app": "db"}))

        assert self.plugin.queueing_hint(self.waiting, event)
        assert not self.plugin.queueing_hint(self.waiting, updated("Pod", web("e", "a"), web("e", "a")))

    def test_node_with_all_topology_keys_queues_the_pod_if_its_domain_is_new(self) -> None:
        here, there = node("a", zone="z1"), node("a", zone="z2")

        assert self.plugin.queueing_hint(self.waiting, added("Node", here))
        assert self.plugin.queueing_hint(self.waiting, updated("Node", here, there))
        assert not self.plugin.queueing_hint(self.waiting, updated("Node", here, here))
        assert not self.plugin.queueing_hint(self.waiting, added("Node", node("b")))


@dataclass
class Oracle:
    """A slow implementation of kube-scheduler's rules for constraints in the pod's spec."""

    incoming: Pod
    nodes: Sequence[Node]
    placed: Sequence[Pod]
    hard: list[tuple[TopologySpreadConstraint, Counter[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for each in self.of("DoNotSchedule"):
            counts: Counter[str] = Counter()
            for at in self.nodes:
                if self.has_keys(at, "DoNotSchedule") and self.includes(each, at):
                    counts[at.labels[each.topology_key]] += self.count(each, at)
            self.hard.append((each, counts))

    def of(self, action: str) -> list[TopologySpreadConstraint]:
        return [each for each in self.incoming.shape.spread_constraints if each.when_unsatisfiable == action]

    def has_keys(self, at: Node, action: str) -> bool:
        return all(each.topology_key in at.labels for each in self.of(action))

    def includes(self, each: TopologySpreadConstraint, at: Node) -> bool:
        if each.honor_affinity and not node_meets_pod_affinity(self.incoming.shape, at):
            return False
        return not (each.honor_taints and untolerated(self.incoming.shape.tolerations, at.taints))

    def count(self, each: TopologySpreadConstraint, at: Node) -> int:
        if each.selector is None or each.selector.is_empty:
            return 0
        return sum(
            other.node_name == at.name
            and other.namespace == self.incoming.namespace
            and not other.terminating
            and each.selector.matches(other.labels)
            for other in self.placed
        )

    def change(self, other: Pod, at: Node, by: int) -> None:
        if other.namespace != self.incoming.namespace or not self.has_keys(at, "DoNotSchedule"):
            return
        for each, counts in self.hard:
            if each.selector is not None and each.selector.matches(other.labels) and self.includes(each, at):
                counts[at.labels[each.topology_key]] += by

    def answer(self, at: Node) -> str:
        for each, counts in self.hard:
            if each.topology_key not in at.labels:
                return MISSING_LABEL_REASON
            fewest = 0 if len(counts) < each.min_domains else min(counts.values())
            own = each.selector is not None and each.selector.matches(self.incoming.labels)
            if counts[at.labels[each.topology_key]] + own - fewest > each.max_skew:
                return SKEW_REASON
        return "ok"

    def scores(self, fitting: Sequence[Node]) -> tuple[list[int], list[int]] | None:
        soft = self.of("ScheduleAnyway")
        if not soft:
            return None
        kept = [at for at in fitting if self.has_keys(at, "ScheduleAnyway")]
        raw = {at.name: math.floor(sum(self.share(each, at, kept) for each in soft) + 0.5) for at in kept}
        low, high = min(raw.values(), default=0), max(raw.values(), default=0)
        normal = {name: 100 * (high + low - score) // high if high else 100 for name, score in raw.items()}
        return [raw.get(at.name, 0) for at in fitting], [normal.get(at.name, 0) for at in fitting]

    def share(self, each: TopologySpreadConstraint, at: Node, kept: Iterable[Node]) -> float:
        key = each.topology_key
        size = len({other.name if key == HOSTNAME else other.labels[key] for other in kept})
        if key == HOSTNAME:
            count = self.count(each, at)
        else:
            peers = (other for other in self.nodes if self.has_keys(other, "ScheduleAnyway"))
            count = sum(
                self.count(each, other)
                for other in peers
                if other.labels[key] == at.labels[key] and self.includes(each, other)
            )
        return count * math.log(size + 2) + each.max_skew - 1


@settings(max_examples=40)
@given(clusters(max_pods=6), pods())
def test_filter_agrees_with_a_check_pod_by_pod(cluster: tuple[list[Node], list[Pod]], incoming: Pod) -> None:
    nodes, placed = cluster
    snapshot = snapshot_of(nodes, placed, namespaces=NAMESPACE_LABELS)
    oracle, plugin = Oracle(incoming, nodes, placed), PodTopologySpread()

    result = plugin.pre_filter(incoming, snapshot)

    assert (result.status.code is Code.SKIP) == (not oracle.hard)
    if result.state is not None:
        expected = {each.name: oracle.answer(each) for each in nodes}
        assert answers(plugin.filter(result.state, incoming, snapshot), snapshot) == expected


@settings(max_examples=40)
@given(clusters(max_pods=6), pods(), st.data())
def test_score_agrees_with_a_check_pod_by_pod(
    cluster: tuple[list[Node], list[Pod]], incoming: Pod, data: st.DataObject
) -> None:
    nodes, placed = cluster
    snapshot = snapshot_of(nodes, placed, namespaces=NAMESPACE_LABELS)
    positions = data.draw(st.lists(st.integers(0, len(nodes) - 1), min_size=1, unique=True))

    found = scored(PodTopologySpread(), incoming, NodesView(snapshot, np.array(positions)))

    expected = Oracle(incoming, nodes, placed).scores([nodes[each] for each in positions])
    if incoming.shape.spread_constraints:
        assert found == expected


@settings(max_examples=40)
@given(clusters(max_pods=6), pods(), st.data())
def test_filter_of_a_what_if_agrees_with_a_check_pod_by_pod(
    cluster: tuple[list[Node], list[Pod]], incoming: Pod, data: st.DataObject
) -> None:
    nodes, placed = cluster
    snapshot = snapshot_of(nodes, placed, namespaces=NAMESPACE_LABELS)
    oracle, plugin = Oracle(incoming, nodes, placed), PodTopologySpread()
    position = data.draw(st.integers(0, len(nodes) - 1))
    here = nodes[position]
    leaving = [each for each in placed if each.node_name == here.name and data.draw(st.booleans())]
    coming = data.draw(pods(name="q", node=here.name))
    what_if = NodeWhatIf(snapshot, position)
    state = plugin.pre_filter(incoming, snapshot).state
    if state is None:
        return

    for other in leaving:
        state = plugin.remove_pod(state, incoming, other, what_if)
        oracle.change(other, here, -1)
    state = plugin.add_pod(state, incoming, coming, what_if)
    oracle.change(coming, here, 1)

    assert answers(plugin.filter(state, incoming, what_if), what_if) == {here.name: oracle.answer(here)}

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from builders import ZONE, Object, node, pod, snapshot_of
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.what_if import NodeWhatIf
from moorage.framework.cluster_events import ClusterEvent, added, deleted, updated
from moorage.framework.status import Code
from moorage.model.node import Node
from moorage.model.pods.affinity import AffinityTerm
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.inter_pod_affinity import (
    AFFINITY_REASON,
    ANTI_AFFINITY_REASON,
    EXISTING_ANTI_AFFINITY_REASON,
    InterPodAffinity,
)
from plugin_runs import answers, scored
from strategies import NAMESPACE_LABELS, clusters, pods

DB = {"app": "db"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def term(app: str = "db", key: str = ZONE, **more: object) -> Object:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def affinity(*terms: Object) -> Object:
    return {"podAffinity": {REQUIRED: list(terms)}}


def anti_affinity(*terms: Object) -> Object:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def prefers(kind: str, weight: int, wanted: Object) -> Object:
    return {kind: {PREFERRED: [{"weight": weight, "podAffinityTerm": wanted}]}}


def filtered(incoming: Pod, nodes: Snapshot) -> dict[str, str] | None:
    """Return the result for each node; None if PreFilter skips."""
    plugin = InterPodAffinity()
    result = plugin.pre_filter(incoming, nodes)
    if result.state is None:
        assert result.status.code is Code.SKIP
        return None
    return answers(plugin.filter(result.state, incoming, nodes), nodes)


NODES = (node("a", zone="z1"), node("b", zone="z1"), node("c", zone="z2"), node("d"))


class TestFilter:
    def test_nodes_in_the_zone_of_a_pod_that_matches_the_affinity_pass(self) -> None:
        snapshot = snapshot_of(NODES, [pod("e", labels=DB, node="a")])

        found = filtered(pod("p", affinity=affinity(term())), snapshot)

        assert found == {"a": "ok", "b": "ok", "c": AFFINITY_REASON, "d": AFFINITY_REASON}

    def test_first_pod_that_matches_its_own_affinity_may_run_on_any_labelled_node(self) -> None:
        found = filtered(pod("p", labels=DB, affinity=affinity(term())), snapshot_of(NODES))

        assert found == {"a": "ok", "b": "ok", "c": "ok", "d": AFFINITY_REASON}

    def test_affinity_needs_one_placed_pod_that_matches_all_terms(self) -> None:
        placed = [pod("e0", labels=DB, node="a"), pod("e1", labels={"tier": "back"}, node="a")]
        back = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"tier": "back"}}}

        found = filtered(pod("p", affinity=affinity(term(), back)), snapshot_of(NODES, placed))

        assert found is not None
        assert set(found.values()) == {AFFINITY_REASON}

    def test_nodes_in_the_zone_of_a_pod_that_matches_the_anti_affinity_are_rejected(self) -> None:
        snapshot = snapshot_of(NODES, [pod("e", labels=DB, node="a")])

        found = filtered(pod("p", affinity=anti_affinity(term())), snapshot)

        assert found == {"a": ANTI_AFFINITY_REASON, "b": ANTI_AFFINITY_REASON, "c": "ok", "d": "ok"}

    def test_nodes_in_the_zone_of_a_pod_with_matching_anti_affinity_are_rejected(self) -> None:
        snapshot = snapshot_of(NODES, [pod("e", node="c", affinity=anti_affinity(term()))])

        found = filtered(pod("p", labels=DB), snapshot)

        assert found == {"a": "ok", "b": "ok", "c": EXISTING_ANTI_AFFINITY_REASON, "d": "ok"}

    def test_rejection_is_unresolvable_only_if_affinity_is_not_met(self) -> None:
        snapshot = snapshot_of(NODES, [pod("e", labels=DB, node="a")])
        plugin, incoming = InterPodAffinity(), pod("p", affinity=affinity(term()) | anti_affinity(term("web")))
        state = plugin.pre_filter(incoming, snapshot).state
        assert state is not None

        codes = {each.reason: each.code for each in plugin.filter(state, incoming, snapshot).rejections()}

        assert codes == {
            AFFINITY_REASON: Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            ANTI_AFFINITY_REASON: Code.UNSCHEDULABLE,
            EXISTING_ANTI_AFFINITY_REASON: Code.UNSCHEDULABLE,
        }

    def test_term_without_namespaces_matches_only_pods_in_the_namespace_of_the_pod(self) -> None:
        snapshot = snapshot_of(NODES, [pod("e", namespace="team-a", labels=DB, node="a")])

        assert filtered(pod("p", namespace="team-b", affinity=anti_affinity(term())), snapshot) == dict.fromkeys(
            "abcd", "ok"
        )

    def test_anti_affinity_counts_terminating_pods(self) -> None:
        snapshot = snapshot_of(NODES, [pod("e", labels=DB, node="c", terminating=True)])

        found = filtered(pod("p", affinity=anti_affinity(term())), snapshot)

        assert found is not None
        assert found["c"] == ANTI_AFFINITY_REASON

    def test_pre_filter_skips_a_pod_without_matching_terms(self) -> None:
        assert filtered(pod("p"), snapshot_of(NODES, [pod("e", labels=DB, node="a")])) is None


class TestNamespaceSelector:
    namespaces: Mapping[str, Mapping[str, str]] = {"default": {}, "blue": {"colour": "blue"}, "plain": {}}

    def found(self, selector: Object, namespace: str) -> dict[str, str] | None:
        placed = pod("e", namespace=namespace, labels=DB, node="c")
        snapshot = snapshot_of(NODES, [placed], namespaces=self.namespaces)
        return filtered(pod("p", affinity=anti_affinity(term(namespaceSelector=selector))), snapshot)

    def test_selector_selects_namespaces_by_their_labels(self) -> None:
        blue = {"matchLabels": {"colour": "blue"}}

        assert self.found(blue, "blue") == {"a": "ok", "b": "ok", "c": ANTI_AFFINITY_REASON, "d": "ok"}
        assert self.found(blue, "plain") == dict.fromkeys("abcd", "ok")

    def test_empty_selector_selects_all_namespaces(self) -> None:
        found = self.found({}, "plain")

        assert found is not None
        assert found["c"] == ANTI_AFFINITY_REASON

    def test_selector_with_only_negations_selects_all_namespaces(self) -> None:
        """compat: kube-1.36: the selector also selects namespaces with the label. Upstream fixed this in PR #138198."""
        found = self.found({"matchExpressions": [{"key": "colour", "operator": "DoesNotExist"}]}, "blue")

        assert found is not None
        assert found["c"] == ANTI_AFFINITY_REASON

    def test_negation_in_a_term_of_a_placed_pod_selects_only_namespaces_without_the_label(self) -> None:
        selector = {"matchExpressions": [{"key": "colour", "operator": "DoesNotExist"}]}
        placed = pod("e", node="c", affinity=anti_affinity(term(namespaceSelector=selector)))
        snapshot = snapshot_of(NODES, [placed], namespaces=self.namespaces)

        assert filtered(pod("p", namespace="blue", labels=DB), snapshot) is None
        assert filtered(pod("p", namespace="plain", labels=DB), snapshot) is not None


class TestScore:
    def test_preferred_affinity_raises_scores_and_preferred_anti_affinity_lowers_scores(self) -> None:
        snapshot = snapshot_of(NODES, [pod("e0", labels=DB, node="a"), pod("e1", labels={"app": "web"}, node="c")])
        wishes = prefers("podAffinity", 10, term()) | prefers("podAntiAffinity", 30, term("web"))

        assert scored(InterPodAffinity(), pod("p", affinity=wishes), snapshot) == ([10, 10, -30, 0], [100, 100, 0, 75])

    def test_required_affinity_of_a_placed_pod_adds_the_hard_pod_affinity_weight(self) -> None:
        snapshot = snapshot_of(NODES, [pod("e", node="a", affinity=affinity(term()))])

        assert scored(InterPodAffinity(), pod("p", labels=DB), snapshot) == ([1, 1, 0, 0], [100, 100, 0, 0])
        assert scored(InterPodAffinity(hard_pod_affinity_weight=0), pod("p", labels=DB), snapshot) is None

    def test_score_ignores_preferred_terms_of_placed_pods_if_the_argument_is_true(self) -> None:
        snapshot = snapshot_of(NODES, [pod("e", node="a", affinity=prefers("podAffinity", 5, term()))])
        ignoring = InterPodAffinity(ignore_preferred_terms_of_existing_pods=True)
        choosy = pod("p", labels=DB, affinity=prefers("podAffinity", 1, term("web")))

        assert scored(InterPodAffinity(), pod("p", labels=DB), snapshot) == ([5, 5, 0, 0], [100, 100, 0, 0])
        assert scored(ignoring, pod("p", labels=DB), snapshot) is None
        assert scored(ignoring, choosy, snapshot) is not None

    def test_all_nodes_score_0_if_their_raw_scores_are_equal(self) -> None:
        snapshot = snapshot_of(NODES[:2], [pod("e", labels=DB, node="a")])

        assert scored(InterPodAffinity(), pod("p", affinity=prefers("podAffinity", 7, term())), snapshot) == (
            [7, 7],
            [0, 0],
        )


@pytest.mark.parametrize("weight", [-1, 101])
def test_weight_out_of_bounds_is_rejected(weight: int) -> None:
    with pytest.raises(ValidationError, match="hardPodAffinityWeight"):
        InterPodAffinity.model_validate_json(f'{{"hardPodAffinityWeight": {weight}}}', strict=True)


class TestHints:
    plugin = InterPodAffinity()

    def hints(self, waiting: Pod, event: ClusterEvent) -> bool:
        return self.plugin.queueing_hint(waiting, event)

    def test_added_pod_that_matches_the_affinity_queues_the_waiting_pod(self) -> None:
        waiting = pod("p", affinity=affinity(term()))

        assert self.hints(waiting, added("Pod", pod("e", labels=DB, node="a")))
        assert not self.hints(waiting, added("Pod", pod("e", labels=DB)))
        assert not self.hints(waiting, added("Pod", pod("e", node="a")))
        assert not self.hints(waiting, deleted("Pod", pod("e", labels=DB, node="a")))

    def test_deleted_pod_that_matches_the_anti_affinity_queues_the_waiting_pod(self) -> None:
        waiting = pod("p", affinity=anti_affinity(term()))

        assert self.hints(waiting, deleted("Pod", pod("e", labels=DB, node="a")))
        assert self.hints(waiting, updated("Pod", pod("e", labels=DB, node="a"), pod("e", node="a")))
        assert not self.hints(waiting, added("Pod", pod("e", labels=DB, node="a")))

    def test_deleted_pod_whose_anti_affinity_matches_the_waiting_pod_queues_it(self) -> None:
        avoiding = pod("e", node="a", affinity=anti_affinity(term()))

        assert self.hints(pod("p", labels=DB), deleted("Pod", avoiding))
        assert not self.hints(pod("p"), deleted("Pod", avoiding))

    def test_node_queues_the_pod_if_it_is_added_or_its_topology_labels_change(self) -> None:
        wanting, avoiding = pod("p", affinity=affinity(term())), pod("p", affinity=anti_affinity(term()))
        here, there, nowhere = node("n", zone="z1"), node("n", zone="z2"), node("n")

        assert self.hints(wanting, added("Node", here))
        assert not self.hints(wanting, added("Node", nowhere))
        assert self.hints(avoiding, added("Node", nowhere))
        assert self.hints(wanting, updated("Node", here, there))
        assert not self.hints(wanting, updated("Node", here, here))
        assert not self.hints(avoiding, deleted("Node", here))


@dataclass
class Oracle:
    """A slow implementation of kube-scheduler's rules; it checks each placed pod."""

    incoming: Pod
    nodes: Sequence[Node]
    placed: Sequence[Pod]

    def __post_init__(self) -> None:
        affinity = self.incoming.shape.pod_affinity
        self.near, self.away = affinity.required_affinity, affinity.required_anti_affinity
        self.labels = {each.name: each.labels for each in self.nodes}

    def own_matches(self, term: AffinityTerm, other: Pod) -> bool:
        namespaces, selector = set(term.namespaces), term.namespace_selector
        if selector is not None:
            namespaces |= {name for name, labels in NAMESPACE_LABELS.items() if selector.matches(labels)}
        anywhere = selector is not None and selector.matches({})
        return (anywhere or other.namespace in namespaces) and self.selects(term, other)

    def carried_matches(self, term: AffinityTerm) -> bool:
        namespace, selector = self.incoming.namespace, term.namespace_selector
        chosen = selector is not None and selector.matches(NAMESPACE_LABELS.get(namespace, {}))
        return (chosen or namespace in term.namespaces) and self.selects(term, self.incoming)

    @staticmethod
    def selects(term: AffinityTerm, other: Pod) -> bool:
        return term.selector is not None and term.selector.matches(other.labels)

    def pairs(self, term: AffinityTerm, at: str) -> Iterable[tuple[str, str]]:
        value = self.labels[at].get(term.topology_key)
        return () if value is None else ((term.topology_key, value),)

    def answer(self, at: Node) -> str:
        if not self.satisfies_affinity(at):
            return AFFINITY_REASON
        avoided = {
            pair
            for term in self.away
            for other in self.placed
            if self.own_matches(term, other)
            for pair in self.pairs(term, other.node_name)
        }
        if avoided & set(at.labels.items()):
            return ANTI_AFFINITY_REASON
        rejected = {
            pair
            for other in self.placed
            for term in other.shape.pod_affinity.required_anti_affinity
            if self.carried_matches(term)
            for pair in self.pairs(term, other.node_name)
        }
        return EXISTING_ANTI_AFFINITY_REASON if rejected & set(at.labels.items()) else "ok"

    def satisfies_affinity(self, at: Node) -> bool:
        if not all(term.topology_key in at.labels for term in self.near):
            return False
        wanted = [other for other in self.placed if all(self.own_matches(term, other) for term in self.near)]
        pairs = {pair for other in wanted for term in self.near for pair in self.pairs(term, other.node_name)}
        if all((term.topology_key, at.labels[term.topology_key]) in pairs for term in self.near):
            return True
        return not pairs and all(self.own_matches(term, self.incoming) for term in self.near)

    def scores(self) -> Counter[tuple[str, str]] | None:
        """Return the weight of each topology key and value; None if no placed pod matches."""
        affinity, weights = self.incoming.shape.pod_affinity, Counter[tuple[str, str]]()
        for other in self.placed:
            theirs = other.shape.pod_affinity
            for sign, own in ((1, affinity.preferred_affinity), (-1, affinity.preferred_anti_affinity)):
                for each in own:
                    if self.own_matches(each.term, other):
                        self.add(weights, each.term, other, sign * each.weight)
            for term in theirs.required_affinity:
                if self.carried_matches(term):
                    self.add(weights, term, other, 1)
            for sign, carried in ((1, theirs.preferred_affinity), (-1, theirs.preferred_anti_affinity)):
                for each in carried:
                    if self.carried_matches(each.term):
                        self.add(weights, each.term, other, sign * each.weight)
        return weights or None

    def add(self, weights: Counter[tuple[str, str]], term: AffinityTerm, other: Pod, weight: int) -> None:
        for pair in self.pairs(term, other.node_name):
            weights[pair] += weight


@settings(max_examples=60)
@given(clusters(max_pods=6), pods())
def test_filter_agrees_with_a_check_pod_by_pod(cluster: tuple[list[Node], list[Pod]], incoming: Pod) -> None:
    nodes, placed = cluster
    oracle = Oracle(incoming, nodes, placed)

    found = filtered(incoming, snapshot_of(nodes, placed, namespaces=NAMESPACE_LABELS))

    expected = {each.name: oracle.answer(each) for each in nodes}
    if found is None:
        assert not oracle.near
        assert not oracle.away
        assert set(expected.values()) == {"ok"}
    else:
        assert found == expected


@settings(max_examples=40)
@given(clusters(max_pods=6), pods(), st.data())
def test_score_agrees_with_a_check_pod_by_pod(
    cluster: tuple[list[Node], list[Pod]], incoming: Pod, data: st.DataObject
) -> None:
    nodes, placed = cluster
    snapshot = snapshot_of(nodes, placed, namespaces=NAMESPACE_LABELS)
    positions = data.draw(st.lists(st.integers(0, len(nodes) - 1), min_size=1, unique=True))

    found = scored(InterPodAffinity(), incoming, NodesView(snapshot, np.array(positions)))

    weights = Oracle(incoming, nodes, placed).scores()
    if weights is None:
        assert found is None
        return
    raw = [sum(weights[pair] for pair in nodes[each].labels.items()) for each in positions]
    low, high = min(raw), max(raw)
    normal = [int(100.0 * ((each - low) / (high - low))) if high > low else 0 for each in raw]
    assert found == (raw, normal)


@settings(max_examples=40)
@given(clusters(max_pods=6), pods(), st.data())
def test_filter_of_a_what_if_agrees_with_a_cluster_that_has_the_same_pods(
    cluster: tuple[list[Node], list[Pod]], incoming: Pod, data: st.DataObject
) -> None:
    nodes, placed = cluster
    snapshot = snapshot_of(nodes, placed, namespaces=NAMESPACE_LABELS)
    position = data.draw(st.integers(0, len(nodes) - 1))
    here = nodes[position]
    leaving = [each for each in placed if each.node_name == here.name and data.draw(st.booleans())]
    coming = data.draw(pods(name="q", node=here.name))
    plugin, what_if = InterPodAffinity(), NodeWhatIf(snapshot, position)
    state = plugin.pre_filter(incoming, snapshot).state
    if state is None:
        return

    for other in leaving:
        state = plugin.remove_pod(state, incoming, other, what_if)
    state = plugin.add_pod(state, incoming, coming, what_if)

    then = [each for each in placed if each not in leaving] + [coming]
    assert answers(plugin.filter(state, incoming, what_if), what_if) == {
        here.name: Oracle(incoming, nodes, then).answer(here)
    }

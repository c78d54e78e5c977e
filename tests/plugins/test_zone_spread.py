from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from builders import ZONE, Object, columns_of, node, pod, snapshot_of
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.what_if import NodeWhatIf
from moorage.framework.status import Code
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.plugins.own.zone_spread import ZoneSpread
from moorage.plugins.upstream.pod_topology_spread import MISSING_LABEL_REASON, SKEW_REASON, PodTopologySpread
from plugin_runs import answers
from strategies import ZONES, clusters

CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
CORDONED: dict[str, Any] = {"unschedulable": True, "taints": [CORDON]}
"""Fields of a cordoned node; the control plane adds the taint."""
APP = {"app": "web"}
HONORING = ZoneSpread(spread="Require", honor_unschedulable=True)
NODES = (node("a", zone="z1"), node("b", zone="z2"), node("c", zone="z3"), node("d"))


def owner(uid: str = "u1") -> Object:
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": True}


def member(name: str, node_name: str = "", uid: str = "u1", **fields: object) -> Pod:
    return pod(name, node=node_name, owner=owner(uid), **fields)


def scored(plugin: ZoneSpread, incoming: Pod, nodes: Snapshot) -> list[int] | None:
    """Return the scores; None if PreScore skips."""
    result = plugin.pre_score(incoming, nodes)
    if result.state is None:
        assert result.status.code is Code.SKIP
        return None
    scores: list[int] = plugin.score(result.state, incoming, nodes).tolist()
    return scores


def filtered(plugin: ZoneSpread, incoming: Pod, nodes: Snapshot) -> dict[str, str] | None:
    """Return `ok` or the reason for each node; None if PreFilter skips."""
    result = plugin.pre_filter(incoming, nodes)
    if result.state is None:
        assert result.status.code is Code.SKIP
        return None
    return answers(plugin.filter(result.state, incoming, nodes), nodes)


class TestPrefer:
    def test_zone_scores_lower_if_it_has_more_pods_than_the_emptiest_zone(self) -> None:
        snapshot = snapshot_of(NODES, [member("e0", "b"), member("e1", "c"), member("e2", "c")])

        assert scored(ZoneSpread(), member("p"), snapshot) == [100, 50, 33, 0]

    def test_score_compares_only_zones_of_nodes_that_fit(self) -> None:
        snapshot = snapshot_of(NODES, [member("e0", "b"), member("e1", "c"), member("e2", "c")])

        assert scored(ZoneSpread(), member("p"), NodesView(snapshot, np.array([1, 2]))) == [100, 50]

    def test_score_counts_only_pods_of_the_same_owner_and_revision(self) -> None:
        old = member("e0", "a", labels={"pod-template-hash": "old"})
        snapshot = snapshot_of(NODES, [old, member("e1", "a", uid="u2"), pod("e2", node="a")])

        assert scored(ZoneSpread(), member("p", labels={"pod-template-hash": "new"}), snapshot) == [100, 100, 100, 0]

    def test_pre_score_skips_a_pod_without_an_owner(self) -> None:
        assert scored(ZoneSpread(), pod("p"), snapshot_of(NODES)) is None

    def test_scope_namespace_counts_all_pods_of_the_namespace(self) -> None:
        snapshot = snapshot_of(NODES, [pod("e0", node="a"), pod("e1", node="b", namespace="team-a")])

        assert scored(ZoneSpread(scope="Namespace"), pod("p"), snapshot) == [50, 100, 100, 0]

    def test_pods_that_are_scheduled_together_are_spread_evenly(self) -> None:
        """The test places each pod on the node with the highest score before it scores the next pod."""
        columns = columns_of(NODES)
        snapshot = Snapshot(columns)
        zones = Counter[str]()

        for index in range(9):
            incoming = member(f"p{index}")
            scores = scored(ZoneSpread(), incoming, snapshot)
            assert scores is not None
            best = snapshot.names[int(np.argmax(scores))]
            columns.add_pod(incoming, best)
            zones[snapshot.node(int(np.argmax(scores))).labels[ZONE]] += 1

        assert zones == {"z1": 3, "z2": 3, "z3": 3}


class TestZonePreference:
    def test_preference_of_a_zone_is_multiplied_by_10(self) -> None:
        plugin = ZoneSpread(spread="Ignore", prefer={"z1": 10, "z2": 4})

        assert scored(plugin, pod("p"), snapshot_of(NODES)) == [100, 40, 0, 0]

    def test_score_is_the_mean_of_zone_preference_and_spreading(self) -> None:
        snapshot = snapshot_of(NODES, [member("e0", "a")])

        assert scored(ZoneSpread(prefer={"z1": 10, "z2": 4}), member("p"), snapshot) == [75, 70, 50, 0]

    def test_pre_score_skips_a_pod_without_spreading_and_preferences(self) -> None:
        assert scored(ZoneSpread(spread="Ignore"), member("p"), snapshot_of(NODES)) is None


class TestRequire:
    plugin = ZoneSpread(spread="Require")

    def test_zone_beyond_max_skew_is_rejected(self) -> None:
        found = filtered(self.plugin, member("p"), snapshot_of(NODES, [member("e0", "a")]))

        assert found == {"a": SKEW_REASON, "b": "ok", "c": "ok", "d": MISSING_LABEL_REASON}

    def test_plugin_does_not_filter_if_spreading_is_only_preferred(self) -> None:
        assert filtered(ZoneSpread(), member("p"), snapshot_of(NODES)) is None

    def test_higher_max_skew_passes_more_zones(self) -> None:
        snapshot = snapshot_of(NODES, [member("e0", "a"), member("e1", "a")])

        found = filtered(ZoneSpread(spread="Require", max_skew=3), member("p"), snapshot)

        assert found is not None
        assert found["a"] == "ok"

    @pytest.mark.parametrize("bounds", [{"allow": ("z1", "z2")}, {"deny": ("z3",)}])
    def test_zone_that_the_policy_excludes_does_not_set_the_minimum(self, bounds: dict[str, tuple[str, ...]]) -> None:
        snapshot = snapshot_of(NODES, [member("e0", "a"), member("e1", "b")])

        found = filtered(self.plugin.model_copy(update=bounds), member("p"), snapshot)

        assert found is not None
        assert found["a"] == found["b"] == "ok"

    def test_zone_of_tainted_nodes_does_not_set_the_minimum(self) -> None:
        taint = {"key": "dedicated", "effect": "NoSchedule"}
        nodes = [node("a", zone="z1"), node("b", zone="z2", taints=[taint])]

        found = filtered(self.plugin, member("p"), snapshot_of(nodes, [member("e0", "a")]))

        assert found is not None
        assert found["a"] == "ok"

    @pytest.mark.parametrize("cordon", [{"unschedulable": True}, {"taints": [CORDON]}, CORDONED])
    def test_cordoned_zone_sets_the_minimum_only_if_cordons_are_not_honored(self, cordon: dict[str, Any]) -> None:
        nodes = [node("a", zone="z1"), node("b", zone="z2", **cordon)]
        snapshot = snapshot_of(nodes, [member("e0", "a")])

        by_default = filtered(self.plugin, member("p"), snapshot)
        honored = filtered(HONORING, member("p"), snapshot)
        tolerated = filtered(HONORING, member("p", tolerations=[{"operator": "Exists"}]), snapshot)

        assert by_default == {"a": SKEW_REASON, "b": "ok"}
        assert honored == {"a": "ok", "b": "ok"}
        assert tolerated == by_default

    def test_zone_with_a_node_that_is_not_cordoned_sets_the_minimum(self) -> None:
        nodes = [node("a", zone="z1"), node("b", zone="z2", **CORDONED), node("c", zone="z2")]

        found = filtered(HONORING, member("p"), snapshot_of(nodes, [member("e0", "a")]))

        assert found == {"a": SKEW_REASON, "b": "ok", "c": "ok"}

    def test_what_if_passes_the_zone_of_a_removed_pod(self) -> None:
        leaving = member("e0", "a")
        snapshot = snapshot_of(NODES, [leaving])
        incoming, what_if = member("p"), NodeWhatIf(snapshot, 0)
        state = self.plugin.pre_filter(incoming, snapshot).state
        assert state is not None

        changed = self.plugin.remove_pod(state, incoming, leaving, what_if)
        undone = self.plugin.add_pod(changed, incoming, leaving, what_if)

        assert self.plugin.filter(state, incoming, what_if).passed.tolist() == [False]
        assert self.plugin.filter(changed, incoming, what_if).passed.tolist() == [True]
        assert self.plugin.filter(undone, incoming, what_if).passed.tolist() == [False]

    def test_what_if_does_not_count_a_removed_pod_of_another_owner(self) -> None:
        snapshot = snapshot_of(NODES, [member("e0", "a")])
        incoming, what_if = member("p"), NodeWhatIf(snapshot, 0)
        state = self.plugin.pre_filter(incoming, snapshot).state
        assert state is not None

        assert self.plugin.remove_pod(state, incoming, member("x", "a", uid="u2"), what_if) is state


@pytest.mark.parametrize("arguments", ['{"maxSkew": 0}', '{"prefer": {"z1": 11}}', '{"spread": "On"}'])
def test_arguments_out_of_bounds_are_rejected(arguments: str) -> None:
    with pytest.raises(ValidationError):
        ZoneSpread.model_validate_json(arguments, strict=True)


@settings(max_examples=40)
@given(clusters(max_pods=8), st.integers(1, 3))
def test_scope_namespace_agrees_with_a_count_of_pods(cluster: tuple[list[Node], list[Pod]], skew: int) -> None:
    nodes, placed = cluster
    incoming = pod("p", tolerations=[{"operator": "Exists"}])
    zone_of = {each.name: each.labels.get(ZONE) for each in nodes}
    counts = Counter({zone: 0 for zone in zone_of.values() if zone is not None})
    counts.update(
        zone
        for each in placed
        if each.namespace == "default" and not each.terminating and (zone := zone_of[each.node_name]) is not None
    )
    fewest = min(counts.values(), default=0)
    plugin = ZoneSpread(spread="Require", scope="Namespace", max_skew=skew)
    snapshot = snapshot_of(nodes, placed)

    assert scored(plugin, incoming, snapshot) == [
        0 if zone is None else 100 // (1 + counts[zone] - fewest) for zone in zone_of.values()
    ]
    assert filtered(plugin, incoming, snapshot) == {
        name: MISSING_LABEL_REASON if zone is None else SKEW_REASON if counts[zone] + 1 - fewest > skew else "ok"
        for name, zone in zone_of.items()
    }


STATES: dict[str, dict[str, Any]] = {
    "free": {},
    "cordoned": CORDONED,
    "dedicated": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}]},
}


@st.composite
def zoned_clusters(draw: st.DrawFn, states: list[str]) -> tuple[dict[str, tuple[str, str]], list[Node], list[Pod]]:
    """Draw a zone and a state for each node name, the nodes, and pods on the nodes in the state free."""
    names = [f"n{index}" for index in range(draw(st.integers(1, 6)))]
    described = {name: (draw(st.sampled_from(ZONES)), draw(st.sampled_from(states))) for name in names}
    nodes = [node(name, zone=zone, **STATES[state]) for name, (zone, state) in described.items()]
    free = [name for name, (_, state) in described.items() if state == "free"]
    hosts = draw(st.lists(st.sampled_from(free), max_size=8)) if free else []
    return described, nodes, [pod(f"e{index}", node=host, labels=APP) for index, host in enumerate(hosts)]


@given(zoned_clusters(["free", "cordoned", "dedicated"]), st.integers(1, 3), st.sampled_from(["Honor", "Ignore"]))
def test_filter_agrees_with_a_check_of_the_state_of_each_node(
    cluster: tuple[dict[str, tuple[str, str]], list[Node], list[Pod]], skew: int, policy: str
) -> None:
    described, nodes, placed = cluster
    counts = Counter(zone for zone, _ in described.values() if zone)
    counts.subtract(counts.copy())
    counts.update(described[each.node_name][0] for each in placed)
    usable_states = {"free"} if policy == "Honor" else {"free", "cordoned"}
    fewest = min((counts[zone] for zone, state in described.values() if zone and state in usable_states), default=0)
    plugin = ZoneSpread(spread="Require", scope="Namespace", max_skew=skew, honor_unschedulable=policy == "Honor")

    assert filtered(plugin, pod("p", labels=APP), snapshot_of(nodes, placed)) == {
        name: MISSING_LABEL_REASON if not zone else SKEW_REASON if counts[zone] + 1 - fewest > skew else "ok"
        for name, (zone, _) in described.items()
    }


@given(zoned_clusters(["free", "cordoned"]), st.integers(1, 3), st.sampled_from(["Honor", "Ignore"]))
def test_filter_treats_cordons_like_pod_topology_spread(
    cluster: tuple[dict[str, tuple[str, str]], list[Node], list[Pod]], skew: int, policy: str
) -> None:
    """PodTopologySpread is the oracle, because the parity tests compare it with kube-scheduler."""
    _, nodes, placed = cluster
    constraint = {
        "maxSkew": skew,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": APP},
        "nodeTaintsPolicy": policy,
    }
    incoming, snapshot = pod("p", labels=APP, spread=[constraint]), snapshot_of(nodes, placed)
    plugin = ZoneSpread(spread="Require", scope="Namespace", max_skew=skew, honor_unschedulable=policy == "Honor")
    upstream = PodTopologySpread()
    state = upstream.pre_filter(incoming, snapshot).state
    assert state is not None

    assert filtered(plugin, incoming, snapshot) == answers(upstream.filter(state, incoming, snapshot), snapshot)

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Object, node, pod, snapshot_of
from moorage.framework.cluster_events import added, updated
from moorage.framework.status import Code
from moorage.model.node import Node, Taint
from moorage.model.pods.pod import Pod, Toleration
from moorage.plugins.upstream.taint_toleration import TaintToleration
from plugin_runs import passes, rejections, scores
from strategies import clusters, pods

UNTOLERATED = (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["node(s) had untolerated taint(s)"])
DEDICATED = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
SPOT = {"key": "spot", "effect": "PreferNoSchedule"}
BAD_DISK = {"key": "disk", "value": "slow", "effect": "PreferNoSchedule"}
GATE = "TaintTolerationComparisonOperators"


def test_rejection_for_untolerated_taints_does_not_name_the_taint() -> None:
    cluster = snapshot_of([node("db", taints=[DEDICATED]), node("free"), node("spot", taints=[SPOT])])

    assert rejections(TaintToleration(), pod(), cluster) == {"db": UNTOLERATED, "free": None, "spot": None}


def test_node_scores_higher_if_it_has_fewer_untolerated_prefer_no_schedule_taints() -> None:
    cluster = snapshot_of([node("both", taints=[SPOT, BAD_DISK]), node("one", taints=[SPOT]), node("none")])

    assert scores(TaintToleration(), pod(), cluster, raw=True) == {"both": 2, "one": 1, "none": 0}
    assert scores(TaintToleration(), pod(), cluster) == {"both": 0, "one": 50, "none": 100}


def test_toleration_of_another_effect_does_not_affect_the_score() -> None:
    cluster = snapshot_of([node("spot", taints=[SPOT])])
    tolerates = [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}]

    assert scores(TaintToleration(), pod(tolerations=tolerates), cluster, raw=True) == {"spot": 1}


@pytest.mark.parametrize(
    ("operator", "value", "taint_value", "tolerated"),
    [
        ("Gt", "10", "11", True),
        ("Gt", "10", "10", False),
        ("Lt", "10", "-5", True),
        ("Lt", "10", "", False),
        ("Lt", "010", "5", False),  # leading zeros are not allowed
        ("Lt", "10", "+5", False),
        ("Lt", "9223372036854775808", "5", False),
    ],
)
def test_toleration_compares_numbers_only_if_the_feature_gate_is_enabled(
    operator: str, value: str, taint_value: str, *, tolerated: bool
) -> None:
    cluster = snapshot_of([node("n", taints=[{"key": "sla", "value": taint_value, "effect": "NoSchedule"}])])
    incoming = pod(tolerations=[{"key": "sla", "operator": operator, "value": value}])
    gated = TaintToleration.model_validate({}, context={"feature_gates": frozenset({GATE})})

    assert passes(gated, incoming, cluster) == ({"n"} if tolerated else set())
    assert passes(TaintToleration(), incoming, cluster) == set()


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether the toleration tolerates the taint, without the comparison operators."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    return toleration.operator == "Exists" or (toleration.operator in {"", "Equal"} and toleration.value == taint.value)


def _untolerated(incoming: Pod, each: Node, effects: set[str]) -> int:
    count = 0
    for taint in each.taints:
        if taint.effect in effects and not any(_tolerates(one, taint) for one in incoming.shape.tolerations):
            count += 1
    return count


@given(clusters(max_pods=0), pods())
def test_filter_and_score_agree_with_a_check_of_each_node(cluster: tuple[list[Node], list[Pod]], incoming: Pod) -> None:
    nodes, _ = cluster
    snapshot, plugin = snapshot_of(nodes), TaintToleration()
    counts = {each.name: _untolerated(incoming, each, {"PreferNoSchedule"}) for each in nodes}
    most = max(counts.values())

    assert passes(plugin, incoming, snapshot) == {
        each.name for each in nodes if not _untolerated(incoming, each, {"NoSchedule", "NoExecute"})
    }
    assert scores(plugin, incoming, snapshot, raw=True) == counts
    assert scores(plugin, incoming, snapshot) == {
        name: 100 - 100 * count // most if most else 100 for name, count in counts.items()
    }


@given(st.sampled_from([[], [DEDICATED], [SPOT]]), st.sampled_from([[], [DEDICATED], [SPOT]]))
def test_pod_is_queued_if_a_node_loses_an_untolerated_taint_or_a_new_node_has_none(
    before: list[Object], after: list[Object]
) -> None:
    old, new = node(taints=before), node(taints=after)
    waiting: Any = pod()

    opens = DEDICATED in before and DEDICATED not in after
    assert TaintToleration().queueing_hint(waiting, updated("Node", old, new)) == opens
    assert TaintToleration().queueing_hint(waiting, added("Node", new)) == (DEDICATED not in after)


def test_pod_is_queued_if_its_tolerations_change_but_not_after_other_updates() -> None:
    assert TaintToleration().queueing_hint(pod(), updated("Pod", pod(), pod(tolerations=[{"operator": "Exists"}])))
    assert not TaintToleration().queueing_hint(pod(), updated("Pod", pod("other"), pod("other")))
    assert not TaintToleration().queueing_hint(pod(), updated("Pod", pod(), pod(labels={"app": "web"})))

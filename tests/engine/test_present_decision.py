from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from builders import node, pod
from engine.scheduler_driver import add_objects, kube_profile, run_until_idle
from moorage.engine.records.decision_log import DecisionLog
from moorage.engine.records.decision_record import DecisionOutcome, NodeCount
from moorage.engine.records.explanation import PluginRejection, Standing
from moorage.engine.records.present_decision import PresentDecision
from moorage.engine.records.stored_record import Moment
from moorage.engine.scheduler import Scheduler
from moorage.framework.profile import Profile
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from strategies import clusters
from strategies import pods as drawn_pods

NOW = Moment(seed=1, cycle=1, at=0.0)
ANTI_AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}}
        ]
    }
}


def cluster_of(*objects: Node | Pod) -> Scheduler:
    scheduler = Scheduler(1, (kube_profile(),), log=DecisionLog())
    add_objects(scheduler, *objects)
    return scheduler


def decide(scheduler: Scheduler, each: Pod) -> PresentDecision:
    return PresentDecision(profile_of(scheduler), each, scheduler.snapshot, NOW)


def profile_of(scheduler: Scheduler) -> Profile:
    return scheduler.profiles["default-scheduler"]


def test_decision_about_a_bound_pod_does_not_count_the_pod_itself() -> None:
    own = pod("own", cpu="3", labels={"app": "a"}, affinity=ANTI_AFFINITY, node="n1", host_ports=[80])
    scheduler = cluster_of(node("n1", cpu="4"), node("n2", cpu="2"), own)

    record = decide(scheduler, own).record()

    assert (record.outcome, record.node) == (DecisionOutcome.BOUND, "n1")
    assert record.filters == (NodeCount("NodeResourcesFit", "Insufficient cpu", 1, ("n2",)),)
    assert scheduler.snapshot.requested("cpu").tolist() == [3000, 0]


def test_verdict_names_all_plugins_that_reject_the_node() -> None:
    taint = {"key": "a", "value": "b", "effect": "NoSchedule"}
    scheduler = cluster_of(node("n1", cpu="1", taints=[taint]), node("n2", cpu="4"))

    verdict = decide(scheduler, pod(cpu="2")).verdict("n1")

    assert verdict.rejections == (
        PluginRejection("TaintToleration", ("node(s) had untolerated taint(s)",), preemption_may_help=False),
        PluginRejection("NodeResourcesFit", ("Insufficient cpu",), preemption_may_help=False),
    )
    assert (verdict.exists, verdict.score) == (True, None)


def test_verdict_has_the_scores_of_the_asked_node_and_of_the_best_node() -> None:
    scheduler = cluster_of(node("n1", cpu="4"), node("n2", cpu="8"))

    verdict = decide(scheduler, pod(cpu="2")).verdict("n1")

    assert verdict.score is not None
    assert verdict.best is not None
    assert (verdict.score.node, verdict.best.node) == ("n1", "n2")
    assert verdict.score.total < verdict.best.total
    assert not verdict.rejections


def test_verdict_says_that_a_node_does_not_exist() -> None:
    assert not decide(cluster_of(node("n1")), pod()).verdict("n2").exists


def test_search_for_victims_is_part_of_the_decision_if_asked() -> None:
    low = pod("low", cpu="1", node="n1", priority=1)
    scheduler = cluster_of(node("n1", cpu="1"), low)
    incoming = pod(cpu="1", priority=5)

    with_victims = decide(scheduler, incoming).record(preempts=True)

    assert with_victims.preemption is not None
    assert [each.node for each in with_victims.preemption.considered] == ["n1"]
    assert decide(scheduler, incoming).record().preemption is None


def test_empty_cluster_has_no_node_for_the_pod() -> None:
    assert decide(cluster_of(), pod()).record().message == "no nodes available to schedule pods"


@settings(max_examples=60, deadline=None)
@given(clusters(), drawn_pods())
def test_present_decision_equals_the_record_of_the_next_attempt(
    cluster: tuple[list[Node], list[Pod]], incoming: Pod
) -> None:
    nodes, placed = cluster
    incoming = replace(incoming, name="incoming", uid="incoming", nominated_node_name="")
    scheduler = cluster_of(*nodes, *placed)
    present = decide(scheduler, incoming).record(preempts=True)
    add_objects(scheduler, incoming)
    run_until_idle(scheduler)
    assert scheduler.decisions is not None
    recorded = scheduler.decisions.find(incoming.key)
    assume(recorded)
    (record,) = recorded

    assert comparable(present) == comparable(record)


@settings(max_examples=100, deadline=None)
@given(clusters(), drawn_pods(), st.data())
def test_decision_about_a_placed_pod_equals_the_decision_in_a_cluster_without_the_pod(
    cluster: tuple[list[Node], list[Pod]], own: Pod, data: st.DataObject
) -> None:
    nodes, placed = cluster
    own = replace(own, name="own", uid="own", node_name=data.draw(st.sampled_from(nodes)).name)
    without, having = cluster_of(*nodes, *placed), cluster_of(*nodes, *placed, own)

    expected, found = decide(without, own), decide(having, own)

    assert found.record() == expected.record()
    for each in nodes:
        assert found.verdict(each.name) == expected.verdict(each.name)
        rejects = bool(found.verdict(each.name).rejections)
        counted = sum(count.nodes for count in found.record().filters)
        assert counted or not rejects


def comparable(record: Any) -> Any:
    """Return the parts of a record that depend neither on the seed nor on how the record was made."""
    nodes = sorted((row.total, row.node, row.plugins) for row in record.scores.nodes) if record.scores else None
    by_plugin: dict[str, int] = {}
    for count in record.filters:
        by_plugin[count.plugin] = max(by_plugin.get(count.plugin, 0), count.nodes)
    return record.outcome, record.message, record.fitting_nodes, nodes, set(by_plugin)


def test_standing_says_where_a_pod_waits() -> None:
    large, other = pod("large", cpu="9"), pod("other", spec={"schedulerName": "elsewhere"})
    scheduler = cluster_of(node("n1", cpu="1"), large, other)
    assert scheduler.standings.of(large, 0.0)[0] is Standing.ACTIVE
    run_until_idle(scheduler)

    standing, detail = scheduler.standings.of(large, 0.0)
    assert standing is Standing.UNSCHEDULABLE
    assert detail == "it is tried again after a change that may help NodeResourcesFit, at the latest in 300 s"
    assert scheduler.standings.of(other, 0.0) == (
        Standing.OTHER_SCHEDULER,
        "no policy has the schedulerName elsewhere",
    )
    assert scheduler.standings.of(pod("placed", node="n1"), 0.0)[0] is Standing.BOUND


def test_standing_names_the_reason_of_a_hold() -> None:
    scheduler = Scheduler(1, (kube_profile(paused=True),))
    held = pod("held")
    add_objects(scheduler, node("n1"), held)
    assert scheduler.standings.of(held, 0.0) == (Standing.HELD, "its policy is paused")

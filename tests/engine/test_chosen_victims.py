"""Victims that extenders choose: the engine evicts only pods that it could have chosen itself."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import DECODER, node, pod, snapshot_of
from engine.doubles import SCHEDULER
from engine.scheduler_driver import REGISTRY, next_outcome, scheduler_of
from moorage.api.extender import Extender
from moorage.engine.candidate import Candidate
from moorage.engine.messages import CandidatesAnswered
from moorage.engine.outcomes import AskAboutVictims, Unschedulable
from moorage.engine.preemption.chosen_victims import candidate_of
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added, updated
from moorage.framework.profile import ProfileSettings, ProfileSpec
from moorage.model.pods.pod import Pod

HIGH = pod("high", cpu="2", priority=10)
GUARDED = {"labels": {"app": "a"}}
VITAL_PRIORITY = 2_000_001_000
NODES = {
    "n1": [pod("low-1", node="n1", cpu="1", priority=1), pod("lower-1", node="n1", cpu="1", priority=0)],
    "n2": [pod("low-2", node="n2", cpu="1", priority=1), pod("guarded", node="n2", cpu="1", metadata=GUARDED)],
    "n3": [pod("vital", node="n3", cpu="2", priority=VITAL_PRIORITY), pod("spare", node="n3", cpu="0")],
}
PODS = {each.name: each for pods in NODES.values() for each in pods}
BUDGET = {
    "metadata": {"name": "b", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "a"}}},
    "status": {"disruptionsAllowed": 0},
}


def ask_about_victims(**settings: Any) -> tuple[Scheduler, AskAboutVictims]:
    extender = Extender(url_prefix="http://extender", preempt_verb="preempt")
    spec = ProfileSpec(scheduler_name=SCHEDULER, settings=ProfileSettings(extenders=(extender,), **settings))
    nodes = [node("n1", cpu="2"), node("n2", cpu="2"), node("n3", cpu="2")]
    scheduler = scheduler_of(*nodes, *PODS.values(), HIGH, profiles=(REGISTRY.build_profile(spec),))
    scheduler.apply(added("PodDisruptionBudget", DECODER.decode_object("PodDisruptionBudget", BUDGET)), 0.0)
    return scheduler, next_outcome(scheduler, AskAboutVictims)


def answer(scheduler: Scheduler, question: AskAboutVictims, node_name: str, *victims: Pod) -> Unschedulable:
    candidates = (Candidate(node_name, victims, 0),)
    scheduler.apply(CandidatesAnswered(pod_uid=question.pod.uid, candidates=candidates), 1.0)
    rejected: Unschedulable = next_outcome(scheduler, Unschedulable, 1.0)
    return rejected


def evicted(node_name: str, *names: str, **settings: Any) -> list[str]:
    scheduler, question = ask_about_victims(**settings)
    rejected = answer(scheduler, question, node_name, *(PODS[name] for name in names))
    assert bool(rejected.victims) == bool(rejected.nominated_node_name)
    return [victim.name for victim in rejected.victims]


def test_victims_that_an_extender_chooses_are_evicted_in_order_of_importance() -> None:
    assert evicted("n1", "lower-1", "low-1") == ["low-1", "lower-1"]


@pytest.mark.parametrize(
    ("node_name", "names"),
    [
        ("n3", ["vital"]),  # its priority is higher than the pod's
        ("n3", ["vital", "spare"]),
        ("n3", ["spare"]),  # preemption cannot help on this node
        ("n1", ["low-2", "guarded"]),  # these pods are on n2
        ("n1", ["low-1", "lower-1", "vital"]),
        ("n1", ["low-1"]),  # one victim does not free enough CPU
        ("n9", ["low-1", "lower-1"]),
        ("n1", []),
    ],
)
def test_no_pod_is_evicted_if_the_answer_names_a_pod_that_the_engine_could_not_choose(
    node_name: str, names: list[str]
) -> None:
    assert evicted(node_name, *names) == []


def test_budget_protects_a_pod_from_extenders_only_in_a_strict_profile() -> None:
    assert evicted("n2", "low-2", "guarded") == ["low-2", "guarded"]
    assert evicted("n2", "low-2", "guarded", strict_preemption=True) == []
    assert evicted("n1", "low-1", "lower-1", strict_preemption=True) == ["low-1", "lower-1"]


def test_engine_counts_violations_itself_and_ignores_the_number_of_an_extender() -> None:
    scheduler, question = ask_about_victims()
    lie = (Candidate("n2", tuple(NODES["n2"]), -5), Candidate("n1", tuple(NODES["n1"]), 7))
    scheduler.apply(CandidatesAnswered(pod_uid=question.pod.uid, candidates=lie), 1.0)
    assert next_outcome(scheduler, Unschedulable, 1.0).nominated_node_name == "n1"


def test_victim_is_not_evicted_again_if_it_terminates_before_the_answer() -> None:
    scheduler, question = ask_about_victims()
    ending = pod("low-1", node="n1", cpu="1", priority=1, terminating=True)
    scheduler.apply(updated("Pod", PODS["low-1"], ending), 1.0)
    rejected = answer(scheduler, question, "n1", *NODES["n1"])
    assert [victim.name for victim in rejected.victims if not victim.terminating] == ["lower-1"]


def test_candidate_of_raises_value_error_if_the_pod_never_preempts() -> None:
    polite = pod("polite", cpu="2", priority=10, spec={"preemptionPolicy": "Never"})
    snapshot = snapshot_of([node("n1", cpu="2")], NODES["n1"])
    with pytest.raises(ValueError, match="pod default/polite, which is not eligible due to preemptionPolicy=Never"):
        candidate_of(polite, "n1", [NODES["n1"][0].uid], snapshot)


@given(st.sampled_from(sorted(NODES)), st.lists(st.sampled_from([*PODS, "nobody"]), max_size=4))
def test_candidate_of_accepts_only_uids_of_pods_with_lower_priority_on_the_node(
    node_name: str, names: list[str]
) -> None:
    snapshot = snapshot_of([node(name) for name in NODES], PODS.values())
    may = {each.name for each in NODES[node_name] if each.priority < HIGH.priority}
    uids = [PODS[name].uid if name in PODS else name for name in names]
    if set(names) <= may:
        assert {victim.name for victim in candidate_of(HIGH, node_name, uids, snapshot).victims} == set(names)
    else:
        with pytest.raises(ValueError, match="names"):
            candidate_of(HIGH, node_name, uids, snapshot)

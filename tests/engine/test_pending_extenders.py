from typing import Any

from builders import node, pod
from engine.doubles import SCHEDULER, NameScore, profile
from engine.scheduler_driver import REGISTRY, add_objects, next_outcome, run_until_idle, scheduler_of
from moorage.api.extender import Extender, ExtenderManagedResource
from moorage.engine.messages import CandidatesAnswered, ExtenderCall, ExtendersAnswered, ProfileChanged
from moorage.engine.outcomes import AskAboutVictims, Bind, CallExtenders, SchedulingFailed, Unschedulable
from moorage.engine.pending_extenders import MAX_ASKED, TOO_MANY_ASKED
from moorage.engine.records.decision_log import DecisionLog
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added, deleted
from moorage.framework.profile import Profile, ProfileSettings, ProfileSpec

EXTENDER = Extender(url_prefix="http://extender", filter_verb="filter", prioritize_verb="rank", weight=1)


def with_extender(**settings: Any) -> Profile:
    return profile(score=(NameScore(scores={"n1": 50}),), settings={"extenders": (EXTENDER,), **settings})


def test_extenders_get_the_feasible_nodes_and_their_answer_chooses_the_node() -> None:
    scheduler = scheduler_of(node("n1"), node("n2"), node("n3"), pod("a"), profiles=(with_extender(),))
    call = next_outcome(scheduler, CallExtenders)
    assert sorted(call.node_names) == ["n1", "n2", "n3"]
    assert run_until_idle(scheduler) == []
    answer = ExtendersAnswered(
        pod_uid=call.pod.uid, node_names=frozenset({"n1", "n2"}), failed={"n3": "full"}, scores={"n2": 90}
    )
    scheduler.apply(answer, 1.0)
    assert next_outcome(scheduler, Bind, 1.0).node_name == "n2"


def test_record_has_the_scores_and_the_calls_of_the_extenders() -> None:
    log = DecisionLog()
    scheduler = Scheduler(1, (with_extender(),), log=log)
    add_objects(scheduler, node("n1"), node("n2"), pod("a"))
    call = next_outcome(scheduler, CallExtenders)
    calls = (ExtenderCall("http://extender", "filter", 0.25, "keeps 2 of 2 nodes"),)
    answer = ExtendersAnswered(pod_uid=call.pod.uid, node_names=frozenset({"n1", "n2"}), scores={"n2": 90}, calls=calls)
    scheduler.apply(answer, 1.0)
    next_outcome(scheduler, Bind, 1.0)

    (record,) = log.find("default/a")
    assert record.extenders == calls
    assert record.scores is not None
    assert [(row.node, row.total, row.extenders) for row in record.scores.nodes] == [("n2", 90, 90), ("n1", 50, 0)]


def test_pod_is_unschedulable_with_the_reasons_of_the_extenders_that_reject_it() -> None:
    scheduler = scheduler_of(node("n1"), node("n2"), pod("a"), profiles=(with_extender(),))
    call = next_outcome(scheduler, CallExtenders)
    answer = ExtendersAnswered(pod_uid=call.pod.uid, failed={"n1": "full"}, unresolvable={"n2": "too old"})
    scheduler.apply(answer, 1.0)
    rejected = next_outcome(scheduler, Unschedulable, 1.0)
    assert rejected.message == "0/2 nodes are available: 1 full, 1 too old."
    assert rejected.diagnosis.unschedulable_plugins == {"Extender"}
    scheduler.apply(added("Node", node("n3")), 20.0)
    assert isinstance(next_outcome(scheduler, CallExtenders, 20.0), CallExtenders)


def test_error_of_an_extender_fails_the_attempt() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"), profiles=(with_extender(),))
    call = next_outcome(scheduler, CallExtenders)
    scheduler.apply(ExtendersAnswered(pod_uid=call.pod.uid, error="extender: timeout"), 1.0)
    assert next_outcome(scheduler, SchedulingFailed, 1.0).message == "extender: timeout"


def test_answer_of_extenders_about_a_deleted_pod_is_ignored() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"), profiles=(with_extender(),))
    call = next_outcome(scheduler, CallExtenders)
    scheduler.apply(deleted("Pod", pod("a")), 1.0)
    scheduler.apply(ExtendersAnswered(pod_uid=call.pod.uid, node_names=frozenset({"n1"})), 1.0)
    assert run_until_idle(scheduler, 1.0) == []


def test_extenders_are_asked_again_when_the_profile_changes_before_their_answer() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"), profiles=(with_extender(),))
    call = next_outcome(scheduler, CallExtenders)
    scheduler.apply(ProfileChanged(with_extender()), 1.0)
    scheduler.apply(ExtendersAnswered(pod_uid=call.pod.uid, node_names=frozenset({"n1"})), 1.0)
    next_outcome(scheduler, CallExtenders, 1.0)


def test_number_of_attempts_that_wait_for_the_extenders_of_a_profile_is_limited() -> None:
    waiting = [pod(f"p{number}") for number in range(MAX_ASKED)]
    scheduler = scheduler_of(node("n1"), *waiting, profiles=(with_extender(),))
    calls = [next_outcome(scheduler, CallExtenders) for _ in waiting]
    scheduler.apply(added("Pod", pod("late")), 1.0)
    assert next_outcome(scheduler, SchedulingFailed, 1.0).message == TOO_MANY_ASKED

    scheduler.apply(ExtendersAnswered(pod_uid=calls[0].pod.uid, error="timeout"), 2.0)
    next_outcome(scheduler, SchedulingFailed, 2.0)
    scheduler.tick(20.0)
    next_outcome(scheduler, CallExtenders, 20.0)


def with_preempting_extender(**changes: Any) -> Profile:
    extender = Extender(url_prefix="http://extender", preempt_verb="preempt")
    return REGISTRY.build_profile(
        ProfileSpec(scheduler_name=SCHEDULER, settings=ProfileSettings(extenders=(extender,), **changes))
    )


def ask_about_victims(**changes: Any) -> tuple[Scheduler, AskAboutVictims]:
    full = [pod(f"low-{name}", node=name, cpu="2", priority=0) for name in ("n1", "n2")]
    nodes, high = (node("n1", cpu="2"), node("n2", cpu="2")), pod("high", cpu="2", priority=9)
    scheduler = scheduler_of(*nodes, *full, high, profiles=(with_preempting_extender(**changes),))
    return scheduler, next_outcome(scheduler, AskAboutVictims)


def test_victims_of_a_candidate_that_extenders_keep_are_evicted() -> None:
    scheduler, question = ask_about_victims()
    assert sorted(candidate.node_name for candidate in question.candidates) == ["n1", "n2"]
    left = tuple(candidate for candidate in question.candidates if candidate.node_name == "n2")
    scheduler.apply(CandidatesAnswered(pod_uid=question.pod.uid, candidates=left), 1.0)
    rejected = next_outcome(scheduler, Unschedulable, 1.0)
    assert rejected.nominated_node_name == "n2"
    assert [victim.name for victim in rejected.victims] == ["low-n2"]


def test_no_pod_is_evicted_when_extenders_keep_no_candidate() -> None:
    scheduler, question = ask_about_victims()
    scheduler.apply(CandidatesAnswered(pod_uid=question.pod.uid), 1.0)
    rejected = next_outcome(scheduler, Unschedulable, 1.0)
    assert rejected.victims == ()
    assert rejected.message.endswith("preemption: no candidate node for preemption")


def test_candidate_whose_victim_has_left_the_node_is_skipped() -> None:
    scheduler, question = ask_about_victims()
    scheduler.apply(deleted("Pod", pod("low-n1", node="n1", cpu="2", priority=0)), 1.0)
    scheduler.apply(CandidatesAnswered(pod_uid=question.pod.uid, candidates=tuple(question.candidates)), 1.0)
    assert next_outcome(scheduler, Bind, 1.0).node_name == "n1"


def test_error_of_a_preempting_extender_fails_the_attempt() -> None:
    scheduler, question = ask_about_victims()
    scheduler.apply(CandidatesAnswered(pod_uid=question.pod.uid, error="extender: timeout"), 1.0)
    assert next_outcome(scheduler, SchedulingFailed, 1.0).message == "extender: timeout"


def test_extender_is_asked_only_about_pods_that_name_one_of_its_managed_resources() -> None:
    managing = EXTENDER.model_copy(update={"managed_resources": (ExtenderManagedResource(name="example.com/gpu"),)})
    extended = profile(score=(NameScore(),), settings={"extenders": (managing,)})
    gpu = pod("gpu", spec={"containers": [{"name": "c", "resources": {"limits": {"example.com/gpu": "1"}}}]})
    scheduler = scheduler_of(node("n1"), pod("plain"), gpu, profiles=(extended,))
    assert [(outcome.pod.name, type(outcome)) for outcome in run_until_idle(scheduler)] == [
        ("plain", Bind),
        ("gpu", CallExtenders),
    ]

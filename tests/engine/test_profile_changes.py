from typing import Any

from builders import node, pod
from engine.doubles import SCHEDULER, NameFilter, NameScore, profile
from engine.scheduler_driver import REGISTRY, add_objects, kube_profile, next_outcome, run_until_idle, scheduler_of
from moorage.engine.held_pods import MISNAMED_SECONDS
from moorage.engine.messages import LeadershipStarted, ProfileChanged, ProfileRefused, ProfileRemoved
from moorage.engine.outcomes import Bind, Held, HoldReason, Misnamed, Unschedulable
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import deleted, updated
from moorage.framework.profile import PolicyReference, Profile, ProfileSettings, ProfileSpec
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod


def test_next_cycle_uses_the_new_profile() -> None:
    left = profile(score=(NameScore(scores={"left": 100}),))
    right = profile(score=(NameScore(scores={"right": 100}),))
    scheduler = scheduler_of(node("left"), node("right"), pod("a"), pod("b"), profiles=(left,))
    assert next_outcome(scheduler, Bind).node_name == "left"
    scheduler.apply(ProfileChanged(right), 0.0)
    assert next_outcome(scheduler, Bind).node_name == "right"


def test_unschedulable_pods_of_a_changed_profile_are_tried_at_once() -> None:
    strict = profile(filter=(NameFilter(rejected={"n1": Code.UNSCHEDULABLE_AND_UNRESOLVABLE}),))
    scheduler = scheduler_of(node("n1"), pod("a"), profiles=(strict,))
    next_outcome(scheduler, Unschedulable)
    scheduler.apply(ProfileChanged(profile()), 0.1)
    assert next_outcome(scheduler, Bind, 0.1).pod.name == "a"


def test_pods_of_an_unknown_scheduler_are_held_without_a_report_until_their_profile_is_added() -> None:
    scheduler = scheduler_of(node("n1"), pod("a", spec={"schedulerName": "later"}))
    assert run_until_idle(scheduler) == []
    assert scheduler.statistics.pending_pods_by_profile()["later"] == {"held": 1}
    scheduler.apply(ProfileChanged(kube_profile("later")), 1.0)
    assert next_outcome(scheduler, Bind, 1.0).profile.name == "later"
    assert "held" not in scheduler.statistics.pending_pods_by_profile()["later"]


def test_pods_of_a_removed_profile_are_held_and_reported_once() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"))
    scheduler.apply(ProfileRemoved(SCHEDULER), 0.0)
    held = next_outcome(scheduler, Held)
    assert (held.pod.name, held.reason) == ("a", HoldReason.NO_PROFILE)
    assert run_until_idle(scheduler) == []
    add_objects(scheduler, pod("b"))
    assert next_outcome(scheduler, Held).pod.name == "b"
    assert scheduler.statistics.pending_pods_by_profile()[SCHEDULER]["held"] == 2


def test_pods_of_a_paused_profile_are_held_until_it_is_resumed() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"), profiles=(kube_profile(paused=True),))
    assert next_outcome(scheduler, Held).reason is HoldReason.PAUSED
    assert run_until_idle(scheduler) == []
    scheduler.apply(ProfileChanged(kube_profile()), 1.0)
    assert next_outcome(scheduler, Bind, 1.0).pod.name == "a"


def test_pods_of_a_refused_policy_are_reported_once_for_each_message() -> None:
    scheduler = scheduler_of(
        node("n1"), pod("a", spec={"schedulerName": "gold"}), pod("b", spec={"schedulerName": "x"})
    )
    reports = []
    for refusal in ("it is invalid", "it is invalid", "it is still invalid"):
        scheduler.apply(ProfileRefused("gold", refusal), 0.0)
        waiting = [outcome for outcome in run_until_idle(scheduler) if isinstance(outcome, Held)]
        reports += [(each.pod.name, each.reason.name, each.message) for each in waiting]
    assert reports == [("a", "REFUSED", "it is invalid"), ("a", "REFUSED", "it is still invalid")]
    scheduler.apply(ProfileChanged(kube_profile("gold")), 1.0)
    assert next_outcome(scheduler, Bind, 1.0).pod.name == "a"


def test_held_pods_are_reported_again_if_the_reason_changes() -> None:
    scheduler = scheduler_of(node("n1"), pod("a"), profiles=(kube_profile(),))
    reasons = []
    for message in (
        ProfileChanged(kube_profile(paused=True)),
        ProfileRemoved(SCHEDULER),
        ProfileRefused(SCHEDULER, "it is invalid"),
        ProfileChanged(kube_profile(paused=True)),
        ProfileChanged(kube_profile(paused=True)),
    ):
        scheduler.apply(message, 0.0)
        reasons += [outcome.reason.name for outcome in run_until_idle(scheduler) if isinstance(outcome, Held)]
    assert reasons == ["PAUSED", "NO_PROFILE", "REFUSED", "PAUSED"]


def test_held_pods_that_are_released_or_deleted_before_their_report_are_not_reported() -> None:
    gone = pod("b")
    scheduler = scheduler_of(node("n1"), pod("a"), gone, profiles=(kube_profile(paused=True),))
    scheduler.apply(deleted("Pod", gone), 0.0)
    scheduler.apply(ProfileChanged(kube_profile()), 0.0)
    assert [type(outcome) for outcome in run_until_idle(scheduler)] == [Bind]


def policy_profile(name: str, *, paused: bool = False) -> Profile:
    reference = PolicyReference(f"policy-{name}", f"uid-{name}", 1)
    settings = ProfileSettings(paused=paused)
    return REGISTRY.build_profile(ProfileSpec(scheduler_name=name, policy=reference, settings=settings))


def named(name: str, scheduler_name: str, **fields: Any) -> Pod:
    return pod(name, spec={"schedulerName": scheduler_name, **fields})


def misnamed(scheduler: Scheduler, now: float) -> list[tuple[str, str]]:
    """Return the reports about misnamed pods after the waiting time: each pod's name and the similar scheduler name."""
    scheduler.tick(now)
    scheduler.tick(now + MISNAMED_SECONDS)
    reports = [outcome for outcome in run_until_idle(scheduler) if isinstance(outcome, Misnamed)]
    return [(each.pod.name, each.similar_name) for each in reports]


def test_pod_whose_scheduler_name_is_similar_to_the_name_of_a_policy_is_reported_once() -> None:
    misspelled, foreign = named("a", "glod"), named("b", "volcano")
    scheduler = scheduler_of(node("n1"), misspelled, foreign, profiles=(policy_profile("gold"),))
    assert misnamed(scheduler, 0.0) == [("a", "gold")]
    scheduler.apply(updated("Pod", misspelled, misspelled), 9.0)
    scheduler.apply(ProfileChanged(policy_profile("golds")), 9.0)
    scheduler.apply(ProfileChanged(policy_profile("glo")), 9.0)
    assert misnamed(scheduler, 9.0) == []
    assert scheduler.next_wakeup(9.0) is None


def test_pod_that_arrives_before_its_policy_is_not_reported_as_misnamed() -> None:
    scheduler = scheduler_of(node("n1"), named("a", "gold-2"), profiles=(policy_profile("gold-1"),))
    scheduler.tick(1.0)
    assert scheduler.next_wakeup(1.0) == 1.0 + MISNAMED_SECONDS
    scheduler.apply(ProfileChanged(policy_profile("gold-2")), 1.5)
    scheduler.tick(9.0)
    assert [type(outcome) for outcome in run_until_idle(scheduler)] == [Bind]


def test_misnamed_pod_is_reported_when_a_policy_with_a_similar_name_becomes_live() -> None:
    scheduler = scheduler_of(node("n1"), named("a", "gold"), named("b", "gold"))
    assert misnamed(scheduler, 0.0) == []
    scheduler.apply(ProfileChanged(policy_profile("gold1", paused=True)), 9.0)
    assert misnamed(scheduler, 9.0) == [("a", "gold1"), ("b", "gold1")]


def test_scheduler_names_are_compared_only_with_the_names_of_live_policies() -> None:
    """Profiles of the configuration file and deleted policies do not count."""
    scheduler = scheduler_of(node("n1"), profiles=(kube_profile("silver"), policy_profile("gold")))
    scheduler.apply(ProfileRemoved("gold"), 0.0)
    add_objects(scheduler, named("a", "silvr"), named("b", "golf"))
    assert misnamed(scheduler, 0.0) == []


def test_pods_of_kube_scheduler_are_not_reported_as_misnamed() -> None:
    """Otherwise the author of a policy with a similar name could write to all pods of the cluster."""
    scheduler = scheduler_of(named("a", "default-scheduler"), profiles=(policy_profile("default-schedule"),))
    assert misnamed(scheduler, 0.0) == []


def test_misnamed_pod_is_held_with_a_reason_if_a_policy_of_its_name_was_removed() -> None:
    scheduler = scheduler_of(named("a", "glod"), profiles=(policy_profile("gold"),))
    assert misnamed(scheduler, 0.0) == [("a", "gold")]
    scheduler.apply(ProfileChanged(policy_profile("glod")), 9.0)
    next_outcome(scheduler, Unschedulable, 9.0)
    scheduler.apply(ProfileRemoved("glod"), 10.0)
    assert next_outcome(scheduler, Held, 10.0).reason is HoldReason.NO_PROFILE
    assert misnamed(scheduler, 10.0) == []


def test_gated_pod_is_held_without_a_report_until_its_gates_are_removed() -> None:
    """A report would replace the pod's condition SchedulingGated.

    kubectl shows this condition, and the API server writes it only once.
    """
    gated, ungated = named("a", "gold", schedulingGates=[{"name": "wait"}]), named("a", "gold")
    scheduler = scheduler_of(gated, profiles=(policy_profile("gold", paused=True),))
    assert run_until_idle(scheduler) == []
    scheduler.apply(ProfileRemoved("gold"), 0.0)
    assert run_until_idle(scheduler) == []
    scheduler.apply(updated("Pod", gated, ungated), 0.0)
    assert next_outcome(scheduler, Held).reason is HoldReason.NO_PROFILE
    scheduler.apply(updated("Pod", ungated, ungated), 0.0)
    assert run_until_idle(scheduler) == []


def test_held_pods_are_reported_again_when_the_replica_leads_again() -> None:
    """The API server may have refused the replica's earlier writes. A pod with the condition is not written again."""
    gated = named("b", "gold", schedulingGates=[{"name": "wait"}])
    profiles = (policy_profile("gold", paused=True), policy_profile("silver"))
    scheduler = scheduler_of(node("n1"), named("a", "gold"), gated, named("c", "volcano"), profiles=profiles)
    assert [outcome.pod.name for outcome in run_until_idle(scheduler)] == ["a"]
    scheduler.apply(LeadershipStarted(), 1.0)
    assert [outcome.pod.name for outcome in run_until_idle(scheduler, 1.0)] == ["a"]

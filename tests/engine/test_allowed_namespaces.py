"""The scheduler holds pods of namespaces that their policy does not allow, until policy or namespace change."""

from typing import Any

from builders import node, pod
from engine.doubles import SCHEDULER
from engine.scheduler_driver import add_objects, kube_profile, next_outcome, run_until_idle, scheduler_of
from moorage.api.extender import Extender
from moorage.engine.messages import (
    BindingFinished,
    ExtendersAnswered,
    LeadershipStarted,
    ProfileChanged,
    ProfileRemoved,
)
from moorage.engine.outcomes import Bind, CallExtenders, Held, HoldReason, Unschedulable
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added, deleted, updated
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod
from moorage.model.selectors import LabelSelector, Requirement
from moorage.model.workloads.workload_objects import Namespace

ML = LabelSelector((Requirement("team", "In", frozenset({"ml"})),))
WEB = LabelSelector((Requirement("team", "In", frozenset({"web"})),))


def allowing(selector: LabelSelector | None, **changes: Any) -> Profile:
    return kube_profile(allowed_namespaces=selector, **changes)


def set_namespace(scheduler: Scheduler, name: str, old: dict[str, str] | None, new: dict[str, str] | None) -> None:
    before, after = (None if labels is None else Namespace(name=name, labels=labels) for labels in (old, new))
    event = added("Namespace", after) if before is None else updated("Namespace", before, after)
    scheduler.apply(event if after else deleted("Namespace", before), 0.0)


def scheduler_with(*pods: Pod, profile: Profile | None = None, **teams: str) -> Scheduler:
    """Return a scheduler whose policy allows the team ml. `teams` maps each namespace to its team."""
    scheduler = scheduler_of(node("n1", cpu="8"), profiles=(profile or allowing(ML),))
    for name, team in teams.items():
        set_namespace(scheduler, name, None, {"team": team})
    add_objects(scheduler, *pods)
    return scheduler


def bound(scheduler: Scheduler) -> set[str]:
    return {each.pod.key for each in run_until_idle(scheduler) if isinstance(each, Bind)}


def counts(scheduler: Scheduler) -> dict[str, int]:
    return {name: count for name, count in scheduler.statistics.pending_pods_by_profile()[SCHEDULER].items() if count}


def test_scheduler_tries_pods_of_allowed_namespaces_and_reports_other_pods_once() -> None:
    scheduler = scheduler_with(pod("p", namespace="a"), pod("p", namespace="b"), a="ml", b="web")
    held = next_outcome(scheduler, Held)
    assert (held.pod.namespace, held.reason) == ("b", HoldReason.NAMESPACE)
    assert "does not allow namespace b" in held.message
    assert bound(scheduler) == {"a/p"}
    assert counts(scheduler)["notAllowed"] == 1
    set_namespace(scheduler, "b", {"team": "web"}, {"team": "web", "x": "y"})
    assert run_until_idle(scheduler) == []
    scheduler.apply(LeadershipStarted(), 0.0)
    assert next_outcome(scheduler, Held).pod.namespace == "b"


def test_gated_pod_of_a_disallowed_namespace_is_reported_after_its_gates_are_removed() -> None:
    gated = pod("p", namespace="b", spec={"schedulingGates": [{"name": "wait"}]})
    scheduler = scheduler_with(gated, b="web")
    assert run_until_idle(scheduler) == []
    scheduler.apply(updated("Pod", gated, pod("p", namespace="b")), 0.0)
    assert next_outcome(scheduler, Held).reason is HoldReason.NAMESPACE


def test_held_pod_is_tried_if_new_labels_make_its_namespace_allowed() -> None:
    scheduler = scheduler_with(pod("p", namespace="b"), b="web")
    next_outcome(scheduler, Held)
    set_namespace(scheduler, "b", {"team": "web"}, {"team": "ml"})
    assert bound(scheduler) == {"b/p"}
    assert "notAllowed" not in counts(scheduler)


def test_waiting_pod_is_held_if_its_namespace_loses_the_label() -> None:
    scheduler = scheduler_with(pod("p", namespace="a"), pod("big", namespace="a", cpu="99"), a="ml")
    scheduler.apply(added("Pod", pod("other", namespace="a", cpu="99")), 0.0)
    while not isinstance(scheduler.schedule_one(0.0), Unschedulable):
        pass
    set_namespace(scheduler, "a", {"team": "ml"}, {})
    held = {each.pod.name for each in run_until_idle(scheduler) if isinstance(each, Held)}
    assert {"big", "other"} <= held
    assert bound(scheduler) == set()


def test_new_selector_of_a_policy_decides_which_pods_are_held() -> None:
    scheduler = scheduler_with(pod("p", namespace="a"), pod("p", namespace="b"), a="ml", b="web")
    scheduler.apply(ProfileChanged(allowing(WEB)), 0.0)
    assert {each.pod.namespace for each in run_until_idle(scheduler) if isinstance(each, Held)} == {"a"}
    scheduler.apply(ProfileChanged(allowing(None)), 0.0)
    assert bound(scheduler) == {"a/p"}
    assert counts(scheduler) == {"binding": 2}


def test_pod_is_held_without_a_report_until_its_namespace_is_known() -> None:
    scheduler = scheduler_with(pod("p", namespace="new"), pod("p", namespace="other"))
    assert run_until_idle(scheduler) == []
    set_namespace(scheduler, "new", None, {"team": "ml"})
    set_namespace(scheduler, "other", None, {})
    assert next_outcome(scheduler, Held).pod.namespace == "other"
    assert bound(scheduler) == {"new/p"}


def test_empty_selector_allows_every_known_namespace() -> None:
    scheduler = scheduler_with(pod("p", namespace="a"), profile=allowing(LabelSelector()), a="any")
    assert bound(scheduler) == {"a/p"}


def test_paused_or_deleted_policy_is_the_reason_for_holding_a_disallowed_pod() -> None:
    scheduler = scheduler_with(pod("p", namespace="b"), b="web")
    next_outcome(scheduler, Held)
    scheduler.apply(ProfileChanged(allowing(ML, paused=True)), 0.0)
    assert next_outcome(scheduler, Held).reason is HoldReason.PAUSED
    scheduler.apply(ProfileChanged(allowing(ML)), 0.0)
    assert next_outcome(scheduler, Held).reason is HoldReason.NAMESPACE
    scheduler.apply(ProfileRemoved(SCHEDULER), 0.0)
    assert next_outcome(scheduler, Held).reason is HoldReason.NO_PROFILE
    assert counts(scheduler) == {"held": 1}


def test_held_pod_that_is_deleted_is_no_longer_counted() -> None:
    scheduler = scheduler_with(pod("p", namespace="b"), b="web")
    scheduler.apply(deleted("Pod", pod("p", namespace="b")), 0.0)
    assert run_until_idle(scheduler) == []
    assert scheduler.statistics.pending_pods_by_profile().get(SCHEDULER, {}).get("notAllowed", 0) == 0


def test_pod_is_held_if_its_binding_fails_after_its_namespace_became_disallowed() -> None:
    scheduler = scheduler_with(pod("p", namespace="a"), a="ml")
    bind = next_outcome(scheduler, Bind)
    set_namespace(scheduler, "a", {"team": "ml"}, {})
    scheduler.apply(BindingFinished(bind.pod, "n1", "refused"), 0.0)
    assert next_outcome(scheduler, Held).reason is HoldReason.NAMESPACE
    assert run_until_idle(scheduler, 100.0) == []


def test_pod_that_waits_for_an_extender_is_held_if_its_namespace_becomes_disallowed() -> None:
    extender = Extender.model_validate({"urlPrefix": "http://x", "filterVerb": "filter"})
    scheduler = scheduler_with(pod("p", namespace="a"), profile=allowing(ML, extenders=(extender,)), a="ml")
    asked = next_outcome(scheduler, CallExtenders)
    set_namespace(scheduler, "a", {"team": "ml"}, {})
    scheduler.apply(ExtendersAnswered(pod_uid=asked.pod.uid, node_names=frozenset({"n1"})), 0.0)
    assert [type(each) for each in (*run_until_idle(scheduler), *run_until_idle(scheduler))] == [Held]

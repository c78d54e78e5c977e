from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import node, pod, snapshot_of
from engine.doubles import NameFilter, Narrower, profile
from moorage.cluster.snapshot import Snapshot
from moorage.engine.candidate import Candidate
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.scheduling_cycle import CycleInput, run_cycle
from moorage.engine.preemption.candidate_ranking import best_candidates, importance
from moorage.engine.preemption.disruption_budgets import split_by_budgets
from moorage.engine.preemption.post_filter import PostFilterResult, run_post_filter
from moorage.framework.extension_points import PostFilterPlugin, PreFilterPlugin, PreFilterResult
from moorage.framework.profile import Profile
from moorage.framework.status import SKIP, Code, Status, unresolvable, unschedulable
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.model.selectors import LabelSelector, Requirement
from moorage.model.workloads.workload_objects import PodDisruptionBudget
from moorage.plugins.upstream.default_preemption import DefaultPreemption
from moorage.plugins.upstream.node_ports import NodePorts
from moorage.plugins.upstream.node_resources_fit import NodeResourcesFit


def fit_profile(**points: Any) -> Profile:
    fit, ports = NodeResourcesFit(), NodePorts()
    return profile(pre_filter=(fit, ports), filter=(fit, ports), post_filter=(DefaultPreemption(),), **points)


def budget(allowed: int, app: str = "a", disrupted: Sequence[str] = (), namespace: str = "default") -> Any:
    return {
        "metadata": {"name": f"{app}-{namespace}", "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {
            "disruptionsAllowed": allowed,
            "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z"),
        },
    }


def preempt(
    each: Pod, nodes: Sequence[Node], pods: Sequence[Pod], budgets: Sequence[Any] = (), by: Profile | None = None
) -> PostFilterResult:
    snapshot = snapshot_of(nodes, pods, objects={"PodDisruptionBudget": budgets})
    used = by or fit_profile()
    refusal = run_cycle(CycleInput(profile=used, pod=each, snapshot=snapshot, seed=1, cycle=1))
    assert isinstance(refusal, FitError)
    post = run_post_filter(used, refusal, chance=0)
    assert post is not None
    return post


def victim_names(post: PostFilterResult) -> list[str]:
    return [victim.name for victim in post.victims]


def started(second: int) -> dict[str, str]:
    return {"startTime": f"2026-01-01T00:00:{second:02}Z"}


def test_fewest_and_least_important_pods_go() -> None:
    running = [
        pod("old", cpu="1", node="n1", priority=1, status=started(1)),
        pod("young", cpu="1", node="n1", priority=1, status=started(2)),
        pod("dear", cpu="1", node="n1", priority=5, status=started(3)),
    ]
    post = preempt(pod("p", cpu="1", priority=9), [node("n1", cpu="3")], running)
    assert (post.nominated_node_name, victim_names(post)) == ("n1", ["young"])
    assert (post.code, post.message) == (Code.SUCCESS, "")


def test_pods_of_equal_priority_are_no_victims() -> None:
    running = [pod("equal", cpu="1", node="n1", priority=9)]
    post = preempt(pod("p", cpu="1", priority=9), [node("n1", cpu="1")], running)
    assert post.message == ("preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.")
    assert post.nominated_node_name == ""


def test_nodes_where_evictions_cannot_help_are_not_tried() -> None:
    running = [pod("low", cpu="1", node="n1")]
    post = preempt(pod("p", cpu="2", priority=9), [node("n1", cpu="1"), node("n2", cpu="1")], running)
    assert post.message == "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    assert post.search is not None
    assert not post.search.statuses


def test_node_that_stays_too_small_gives_its_filters_reason() -> None:
    running = [pod("low", cpu="1", node="n1"), pod("high", cpu="2", node="n1", priority=99)]
    post = preempt(pod("p", cpu="2", priority=9), [node("n1", cpu="3")], running)
    assert post.message == "preemption: 0/1 nodes are available: 1 Insufficient cpu."


def test_pod_that_must_not_preempt_says_so_and_keeps_its_nomination() -> None:
    never = pod("p", cpu="1", priority=9, spec={"preemptionPolicy": "Never"})
    post = preempt(never, [node("n1", cpu="1")], [pod("low", cpu="1", node="n1")])
    assert post.message == "preemption: not eligible due to preemptionPolicy=Never."
    assert post.nominated_node_name is None


def test_pod_waits_for_victims_that_are_on_their_way_out() -> None:
    target = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
    leaving = pod("low", cpu="1", node="n1", terminating=True, status=target)
    nominated = pod("p", cpu="1", priority=9, status={"nominatedNodeName": "n1"})
    other = pod("low2", cpu="1", node="n2")
    post = preempt(nominated, [node("n1", cpu="1"), node("n2", cpu="1")], [leaving, other])
    assert post.message == "preemption: not eligible due to a terminating pod on the nominated node."


def test_pod_does_not_wait_for_pods_that_leave_for_another_reason() -> None:
    leaving = pod("low", cpu="1", node="n1", terminating=True)
    nominated = pod("p", cpu="1", priority=9, status={"nominatedNodeName": "n1"})
    post = preempt(nominated, [node("n1", cpu="1")], [leaving])
    assert victim_names(post) == ["low"]


def test_pods_protected_by_a_budget_are_brought_back_first() -> None:
    running = [
        pod("guarded", cpu="1", node="n1", labels={"app": "a"}, status=started(9)),
        pod("free", cpu="1", node="n1", priority=3, status=started(1)),
    ]
    post = preempt(pod("p", cpu="1", priority=9), [node("n1", cpu="2")], running, [budget(0)])
    assert victim_names(post) == ["free"]


def test_budget_orders_but_never_forbids() -> None:
    running = [pod("guarded", cpu="1", node="n1", labels={"app": "a"})]
    post = preempt(pod("p", cpu="1", priority=9), [node("n1", cpu="1")], running, [budget(0)])
    assert victim_names(post) == ["guarded"]
    assert post.search is not None
    assert post.search.candidates[0].violations == 1


def test_node_without_violations_is_preferred() -> None:
    running = [
        pod("guarded", cpu="1", node="n1", labels={"app": "a"}),
        pod("dear", cpu="1", node="n2", priority=8),
    ]
    nodes = [node("n1", cpu="1"), node("n2", cpu="1")]
    post = preempt(pod("p", cpu="1", priority=9), nodes, running, [budget(0)])
    assert post.nominated_node_name == "n2"


def test_host_port_of_a_victim_is_freed() -> None:
    running = [pod("low", node="n1", host_ports=(80,)), pod("other", node="n1", host_ports=(81,))]
    post = preempt(pod("p", priority=9, host_ports=(80,)), [node("n1")], running)
    assert victim_names(post) == ["low"]


def test_prefilter_rejection_that_evictions_may_lift_is_tried_everywhere() -> None:
    ports = NodePorts()
    by = profile(
        pre_filter=(Narrower(answer=unschedulable("in use")), ports),
        filter=(ports,),
        post_filter=(DefaultPreemption(),),
    )
    running = [pod("low", node="n2", host_ports=(80,))]
    post = preempt(pod("p", priority=9, host_ports=(80,)), [node("n1"), node("n2")], running, by=by)
    assert (post.nominated_node_name, victim_names(post)) == ("n2", ["low"])


def test_pod_that_fits_without_any_eviction_is_an_error_as_in_upstream() -> None:
    by = profile(pre_filter=(Narrower(answer=unschedulable("in use")),), post_filter=(DefaultPreemption(),))
    post = preempt(pod("p", priority=9), [node("n1")], [pod("low", node="n1")], by=by)
    assert (post.code, post.message) == (Code.ERROR, 'preemption: expected at least one victim pod on node "n1"')


class Deallocator(PreFilterPlugin[None], PostFilterPlugin):
    """A PostFilter that is a PreFilter, too, and finds nothing to do."""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[None]:
        del pod, snapshot
        return PreFilterResult(SKIP)

    def post_filter(self, state: Any, pod: Pod) -> Status:
        del state, pod
        return unschedulable("nothing to deallocate")


def test_messages_of_all_post_filters_are_joined() -> None:
    deallocator = Deallocator()
    by = profile(
        pre_filter=(deallocator,),
        filter=(NameFilter(rejected={"n1": Code.UNSCHEDULABLE_AND_UNRESOLVABLE}),),
        post_filter=(deallocator, DefaultPreemption()),
    )
    post = preempt(pod("p"), [node("n1")], [], by=by)
    assert post.message.startswith("nothing to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not")


def test_post_filter_whose_prefilter_was_not_reached_fails_as_upstreams_does() -> None:
    deallocator = Deallocator()
    by = profile(
        pre_filter=(Narrower(answer=unresolvable("no claim")), deallocator),
        filter=(NameFilter(),),
        post_filter=(deallocator, DefaultPreemption()),
    )
    post = preempt(pod("p", priority=9), [node("n1")], [pod("low", node="n1")], by=by)
    assert (post.code, post.message) == (Code.ERROR, "not found")


def candidate(name: str, *victims: Pod, violations: int = 0) -> Candidate:
    return Candidate(name, tuple(sorted(victims, key=importance)), violations)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (candidate("a", pod(priority=9)), candidate("b", pod(priority=1), violations=1)),
        (candidate("a", pod(priority=3), pod(priority=3)), candidate("b", pod(priority=4))),
        (candidate("a", pod(priority=3), pod(priority=-9)), candidate("b", pod(priority=3), pod(priority=1))),
        (candidate("a", pod(priority=3)), candidate("b", pod(priority=3), pod(priority=-(2**31)))),
        (candidate("a", pod(status=started(9))), candidate("b", pod(status=started(1)))),
        (candidate("a", pod()), candidate("b", pod(status=started(1)))),
        (
            candidate("a", pod(priority=2, status=started(5)), pod(priority=1, status=started(1))),
            candidate("b", pod(priority=2, status=started(4)), pod(priority=1, status=started(9))),
        ),
    ],
    ids=["violations", "highest priority", "sum", "number", "later start", "not started", "start of the highest"],
)
def test_candidates_are_compared_criterion_by_criterion(better: Candidate, worse: Candidate) -> None:
    assert best_candidates([worse, better]) == [better]


def test_candidates_that_tie_are_all_best() -> None:
    assert [each.node_name for each in best_candidates([candidate("b", pod()), candidate("a", pod())])] == ["a", "b"]


def strict_profile() -> Profile:
    return fit_profile(settings={"strict_preemption": True})


def covered(name: str, app: str = "a", **fields: Any) -> Pod:
    return pod(name, labels={"app": app}, **{"node": "n1", "cpu": "1", **fields})


def test_a_node_where_a_budget_would_be_broken_is_no_candidate_of_a_strict_profile() -> None:
    running = [covered("guarded"), pod("free", cpu="1", node="n1")]
    post = preempt(pod("p", cpu="2", priority=9), [node("n1", cpu="2")], running, [budget(0)], strict_profile())
    assert (post.nominated_node_name, post.victims) == ("", ())
    assert post.message == ("preemption: 0/1 nodes are available: 1 Preemption would violate a PodDisruptionBudget.")
    assert post.unschedulable_plugins == {"DefaultPreemption"}


def test_a_strict_profile_turns_to_the_node_where_no_budget_is_broken() -> None:
    running = [covered("guarded"), pod("dear", cpu="1", node="n2", priority=8)]
    nodes = [node("n1", cpu="1"), node("n2", cpu="1")]
    post = preempt(pod("p", cpu="1", priority=9), nodes, running, [budget(0)], strict_profile())
    assert (post.nominated_node_name, victim_names(post)) == ("n2", ["dear"])
    assert post.unschedulable_plugins == frozenset()


def test_a_strict_profile_counts_only_the_pods_that_go_against_a_budget() -> None:
    """The budget allows one disruption, which the more important pod, that stays after all, does not use up."""
    running = [covered("small", priority=2), covered("large", cpu="2", priority=1)]
    post = preempt(pod("p", cpu="2", priority=9), [node("n1", cpu="3")], running, [budget(1)], strict_profile())
    assert victim_names(post) == ["large"]


def test_a_pod_that_ends_already_breaks_no_budget() -> None:
    ending = covered("low", terminating=True)
    post = preempt(pod("p", cpu="1", priority=9), [node("n1", cpu="1")], [ending], [budget(0)], strict_profile())
    assert victim_names(post) == ["low"]


def test_a_strict_profile_evicts_the_pods_first_that_a_budget_covers() -> None:
    running = [pod("dear", cpu="1", node="n1", priority=5), covered("guarded", priority=1)]
    each, nodes = pod("p", cpu="2", priority=9), [node("n1", cpu="2")]
    assert victim_names(preempt(each, nodes, running, [budget(1)], strict_profile())) == ["guarded", "dear"]
    assert victim_names(preempt(each, nodes, running, [budget(1)])) == ["dear", "guarded"]


def made_budget(selector: LabelSelector | None, allowed: int = 0, **fields: Any) -> PodDisruptionBudget:
    return PodDisruptionBudget(namespace="default", name="b", selector=selector, disruptions_allowed=allowed, **fields)


APP = LabelSelector((Requirement("app", "In", frozenset({"a"})),))


@pytest.mark.parametrize(
    ("guard", "labels"),
    [
        (made_budget(None), {"app": "a"}),
        (made_budget(LabelSelector()), {"app": "a"}),
        (made_budget(APP), {"app": "b"}),
        (made_budget(APP, disrupted_pods=frozenset({"p"})), {"app": "a"}),
        (made_budget(LabelSelector((Requirement("app", "DoesNotExist"),))), {}),
    ],
    ids=["no selector", "empty selector", "other labels", "disrupted already", "no labels"],
)
def test_budget_that_does_not_cover_a_pod_is_not_violated(guard: PodDisruptionBudget, labels: dict[str, str]) -> None:
    violating, others = split_by_budgets([pod("p", labels=labels)], [guard])
    assert (len(violating), len(others)) == (0, 1)


def test_budget_is_used_up_from_the_most_important_pod_down() -> None:
    pods = [pod(name, labels={"app": "a"}) for name in "xyz"]
    violating, others = split_by_budgets(pods, [made_budget(APP, 2)])
    assert ([each.name for each in others], [each.name for each in violating]) == (["x", "y"], ["z"])


@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=5), wanted=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_no_victim_could_have_stayed(sizes: list[int], wanted: int) -> None:
    """Victims make enough room, and bringing any one of them back would take too much of it."""
    total = sum(sizes)
    wanted = min(wanted, total)
    running = [pod(f"v{number}", cpu=str(size), node="n1") for number, size in enumerate(sizes)]
    post = preempt(pod("p", cpu=str(wanted), priority=9), [node("n1", cpu=str(total))], running)
    freed = {victim.name: victim.requests.get("cpu") // 1000 for victim in post.victims}
    assert sum(freed.values()) >= wanted
    for kept in combinations(freed, len(freed) - 1):
        assert sum(freed[name] for name in kept) < wanted

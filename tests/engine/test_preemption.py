from collections.abc import Sequence
from itertools import combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import node, pod, snapshot_of
from engine.doubles import NameFilter, Narrower, profile
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.scheduling_cycle import CycleInput, run_cycle
from moorage.engine.preemption.post_filter import PostFilterResult, run_post_filter
from moorage.framework.extension_points import PostFilterPlugin, PreFilterPlugin, PreFilterResult
from moorage.framework.profile import Profile
from moorage.framework.status import SKIP, Code, Status, unresolvable, unschedulable
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
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
    fit_error = run_cycle(CycleInput(profile=used, pod=each, snapshot=snapshot, seed=1, cycle=1))
    assert isinstance(fit_error, FitError)
    post = run_post_filter(used, fit_error, chance=0)
    assert post is not None
    return post


def victim_names(post: PostFilterResult) -> list[str]:
    return [victim.name for victim in post.victims]


def started(second: int) -> dict[str, str]:
    return {"startTime": f"2026-01-01T00:00:{second:02}Z"}


def test_preemption_evicts_the_least_important_pod_if_one_victim_is_enough() -> None:
    running = [
        pod("old", cpu="1", node="n1", priority=1, status=started(1)),
        pod("young", cpu="1", node="n1", priority=1, status=started(2)),
        pod("important", cpu="1", node="n1", priority=5, status=started(3)),
    ]
    post = preempt(pod("p", cpu="1", priority=9), [node("n1", cpu="3")], running)
    assert (post.nominated_node_name, victim_names(post)) == ("n1", ["young"])
    assert (post.code, post.message) == (Code.SUCCESS, "")


def test_pods_of_equal_priority_are_not_victims() -> None:
    running = [pod("equal", cpu="1", node="n1", priority=9)]
    post = preempt(pod("p", cpu="1", priority=9), [node("n1", cpu="1")], running)
    assert post.message == ("preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.")
    assert post.nominated_node_name == ""


def test_preemption_does_not_try_nodes_where_it_cannot_help() -> None:
    running = [pod("low", cpu="1", node="n1")]
    post = preempt(pod("p", cpu="2", priority=9), [node("n1", cpu="1"), node("n2", cpu="1")], running)
    assert post.message == "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    assert post.search is not None
    assert not post.search.statuses


def test_node_has_the_reason_of_the_filter_if_the_pod_does_not_fit_after_all_evictions() -> None:
    running = [pod("low", cpu="1", node="n1"), pod("high", cpu="2", node="n1", priority=99)]
    post = preempt(pod("p", cpu="2", priority=9), [node("n1", cpu="3")], running)
    assert post.message == "preemption: 0/1 nodes are available: 1 Insufficient cpu."


def test_pod_with_preemption_policy_never_does_not_preempt_and_keeps_its_nomination() -> None:
    never = pod("p", cpu="1", priority=9, spec={"preemptionPolicy": "Never"})
    post = preempt(never, [node("n1", cpu="1")], [pod("low", cpu="1", node="n1")])
    assert post.message == "preemption: not eligible due to preemptionPolicy=Never."
    assert post.nominated_node_name is None


def test_pod_does_not_preempt_while_a_victim_on_its_nominated_node_terminates() -> None:
    target = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
    leaving = pod("low", cpu="1", node="n1", terminating=True, status=target)
    nominated = pod("p", cpu="1", priority=9, status={"nominatedNodeName": "n1"})
    other = pod("low2", cpu="1", node="n2")
    post = preempt(nominated, [node("n1", cpu="1"), node("n2", cpu="1")], [leaving, other])
    assert post.message == "preemption: not eligible due to a terminating pod on the nominated node."


def test_pod_preempts_although_another_pod_on_its_nominated_node_terminates() -> None:
    leaving = pod("low", cpu="1", node="n1", terminating=True)
    nominated = pod("p", cpu="1", priority=9, status={"nominatedNodeName": "n1"})
    post = preempt(nominated, [node("n1", cpu="1")], [leaving])
    assert victim_names(post) == ["low"]


def test_pod_protected_by_a_budget_is_not_evicted_if_evicting_another_pod_is_enough() -> None:
    running = [
        pod("guarded", cpu="1", node="n1", labels={"app": "a"}, status=started(9)),
        pod("free", cpu="1", node="n1", priority=3, status=started(1)),
    ]
    post = preempt(pod("p", cpu="1", priority=9), [node("n1", cpu="2")], running, [budget(0)])
    assert victim_names(post) == ["free"]


def test_pod_protected_by_a_budget_is_evicted_if_evicting_other_pods_does_not_help() -> None:
    running = [pod("guarded", cpu="1", node="n1", labels={"app": "a"})]
    post = preempt(pod("p", cpu="1", priority=9), [node("n1", cpu="1")], running, [budget(0)])
    assert victim_names(post) == ["guarded"]
    assert post.search is not None
    assert post.search.candidates[0].violations == 1


def test_preemption_nominates_a_node_where_no_budget_is_violated() -> None:
    running = [
        pod("guarded", cpu="1", node="n1", labels={"app": "a"}),
        pod("important", cpu="1", node="n2", priority=8),
    ]
    nodes = [node("n1", cpu="1"), node("n2", cpu="1")]
    post = preempt(pod("p", cpu="1", priority=9), nodes, running, [budget(0)])
    assert post.nominated_node_name == "n2"


def test_preemption_evicts_the_pod_that_uses_the_host_port() -> None:
    running = [pod("low", node="n1", host_ports=(80,)), pod("other", node="n1", host_ports=(81,))]
    post = preempt(pod("p", priority=9, host_ports=(80,)), [node("n1")], running)
    assert victim_names(post) == ["low"]


def test_preemption_tries_all_nodes_after_an_unschedulable_prefilter() -> None:
    ports = NodePorts()
    by = profile(
        pre_filter=(Narrower(answer=unschedulable("in use")), ports),
        filter=(ports,),
        post_filter=(DefaultPreemption(),),
    )
    running = [pod("low", node="n2", host_ports=(80,))]
    post = preempt(pod("p", priority=9, host_ports=(80,)), [node("n1"), node("n2")], running, by=by)
    assert (post.nominated_node_name, victim_names(post)) == ("n2", ["low"])


def test_preemption_fails_like_upstream_if_the_pod_fits_without_victims() -> None:
    by = profile(pre_filter=(Narrower(answer=unschedulable("in use")),), post_filter=(DefaultPreemption(),))
    post = preempt(pod("p", priority=9), [node("n1")], [pod("low", node="n1")], by=by)
    assert (post.code, post.message) == (Code.ERROR, 'preemption: expected at least one victim pod on node "n1"')


class Deallocator(PreFilterPlugin[None], PostFilterPlugin):
    """A plugin whose PreFilter returns Skip and whose PostFilter rejects every pod."""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[None]:
        del pod, snapshot
        return PreFilterResult(SKIP)

    def post_filter(self, state: Any, pod: Pod) -> Status:
        del state, pod
        return unschedulable("nothing to deallocate")


def test_post_filter_message_joins_the_messages_of_all_plugins() -> None:
    deallocator = Deallocator()
    by = profile(
        pre_filter=(deallocator,),
        filter=(NameFilter(rejected={"n1": Code.UNSCHEDULABLE_AND_UNRESOLVABLE}),),
        post_filter=(deallocator, DefaultPreemption()),
    )
    post = preempt(pod("p"), [node("n1")], [], by=by)
    assert post.message.startswith("nothing to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not")


def test_post_filter_fails_like_upstream_if_its_prefilter_did_not_run() -> None:
    deallocator = Deallocator()
    by = profile(
        pre_filter=(Narrower(answer=unresolvable("no claim")), deallocator),
        filter=(NameFilter(),),
        post_filter=(deallocator, DefaultPreemption()),
    )
    post = preempt(pod("p", priority=9), [node("n1")], [pod("low", node="n1")], by=by)
    assert (post.code, post.message) == (Code.ERROR, "not found")


def strict_profile() -> Profile:
    return fit_profile(settings={"strict_preemption": True})


def covered(name: str, app: str = "a", **fields: Any) -> Pod:
    return pod(name, labels={"app": app}, **{"node": "n1", "cpu": "1", **fields})


def test_strict_profile_nominates_no_node_where_preemption_would_violate_a_budget() -> None:
    running = [covered("guarded"), pod("free", cpu="1", node="n1")]
    post = preempt(pod("p", cpu="2", priority=9), [node("n1", cpu="2")], running, [budget(0)], strict_profile())
    assert (post.nominated_node_name, post.victims) == ("", ())
    assert post.message == ("preemption: 0/1 nodes are available: 1 Preemption would violate a PodDisruptionBudget.")
    assert post.unschedulable_plugins == {"DefaultPreemption"}


def test_strict_profile_nominates_a_node_where_no_budget_is_violated() -> None:
    running = [covered("guarded"), pod("important", cpu="1", node="n2", priority=8)]
    nodes = [node("n1", cpu="1"), node("n2", cpu="1")]
    post = preempt(pod("p", cpu="1", priority=9), nodes, running, [budget(0)], strict_profile())
    assert (post.nominated_node_name, victim_names(post)) == ("n2", ["important"])
    assert post.unschedulable_plugins == frozenset()


def test_pod_that_is_not_evicted_uses_no_disruption_of_a_budget_in_a_strict_profile() -> None:
    """The more important pod is not evicted, so the budget's only disruption is still allowed for the other pod."""
    running = [covered("small", priority=2), covered("large", cpu="2", priority=1)]
    post = preempt(pod("p", cpu="2", priority=9), [node("n1", cpu="3")], running, [budget(1)], strict_profile())
    assert victim_names(post) == ["large"]


def test_terminating_victim_violates_no_budget() -> None:
    ending = covered("low", terminating=True)
    post = preempt(pod("p", cpu="1", priority=9), [node("n1", cpu="1")], [ending], [budget(0)], strict_profile())
    assert victim_names(post) == ["low"]


def test_strict_profile_first_evicts_the_pods_that_a_budget_covers() -> None:
    running = [pod("important", cpu="1", node="n1", priority=5), covered("guarded", priority=1)]
    each, nodes = pod("p", cpu="2", priority=9), [node("n1", cpu="2")]
    assert victim_names(preempt(each, nodes, running, [budget(1)], strict_profile())) == ["guarded", "important"]
    assert victim_names(preempt(each, nodes, running, [budget(1)])) == ["important", "guarded"]


@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=5), wanted=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_preemption_needs_every_victim(sizes: list[int], wanted: int) -> None:
    """The victims free enough CPU. If one of them stays, the free CPU is not enough."""
    total = sum(sizes)
    wanted = min(wanted, total)
    running = [pod(f"v{number}", cpu=str(size), node="n1") for number, size in enumerate(sizes)]
    post = preempt(pod("p", cpu=str(wanted), priority=9), [node("n1", cpu=str(total))], running)
    freed = {victim.name: victim.requests.get("cpu") // 1000 for victim in post.victims}
    assert sum(freed.values()) >= wanted
    for kept in combinations(freed, len(freed) - 1):
        assert sum(freed[name] for name in kept) < wanted

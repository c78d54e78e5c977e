"""Examples of the search for counterfactuals, and a property that compares it with a search that tries every change."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import strategies
from builders import HOSTNAME, ZONE, make, node, pod
from engine.doubles import NameFilter, profile
from engine.scheduler_driver import kube_profile
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cache import Cache
from moorage.engine.counterfactuals.amounts import amount_text
from moorage.engine.counterfactuals.cluster_changes import INSTANCE_TYPE
from moorage.engine.counterfactuals.cluster_copy import content_of
from moorage.engine.counterfactuals.counterfactual import (
    TEXT_CHARACTERS,
    ChangeKind,
    Counterfactual,
    change_to,
    fitting_nodes,
)
from moorage.engine.counterfactuals.find_changes import MAX_CHANGES, all_changes, find_changes, rank
from moorage.engine.counterfactuals.pod_changes import MAX_TRIES, with_shape
from moorage.framework.cluster_events import added
from moorage.framework.extension_points import FilterResult, Rejection
from moorage.framework.profile import Profile
from moorage.model.node import Node
from moorage.model.pods.pod import Pod, Toleration
from moorage.model.resources import Resources

PROFILE = kube_profile()
APP_PER_ZONE = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}


def cache_of(nodes: Sequence[Node], pods: Sequence[Pod] = ()) -> Cache:
    cache = Cache()
    for each in nodes:
        cache.set_node(each)
    for placed in pods:
        cache.set_pod(placed)
    return cache


def changes_of(waiting: Pod, nodes: Sequence[Node], pods: Sequence[Pod] = ()) -> list[str]:
    """Return each change as `text: nodes`."""
    found = find_changes(PROFILE, waiting, cache_of(nodes, pods))
    return [f"{change.text}: {', '.join(change.node_names)}" for change in found]


def test_a_pod_that_fits_needs_no_change() -> None:
    assert changes_of(pod(cpu="1"), [node("n1")]) == []


def test_the_smallest_reduction_of_a_request_is_found_with_its_node() -> None:
    nodes = [node("n1", cpu="2"), node("n2", cpu="3"), node("n3", cpu="3400m")]
    assert changes_of(pod(cpu="4"), nodes) == ["600m less cpu: n3"]


def test_a_missing_toleration_is_found() -> None:
    tainted = node("n1", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
    assert changes_of(pod(), [tainted]) == ["a toleration for the taint gpu=yes:NoSchedule: n1"]


def test_a_selector_is_dropped_or_its_label_is_added() -> None:
    waiting = pod(spec={"nodeSelector": {"disk": "ssd"}})
    assert changes_of(waiting, [node("n1"), node("n2")]) == [
        "no nodeSelector disk=ssd: n1, n2",
        "the label disk=ssd on one of these nodes: n1, n2",
    ]


def test_labels_that_describe_the_machine_are_not_added() -> None:
    waiting = pod(spec={"nodeSelector": {INSTANCE_TYPE: "m5.large"}})
    assert changes_of(waiting, [node("n1")]) == [f"no nodeSelector {INSTANCE_TYPE}=m5.large: n1"]


def test_one_requirement_of_the_required_node_affinity_is_dropped() -> None:
    terms = [
        {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}, {"key": "gpu", "operator": "Exists"}]}
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    waiting = pod(affinity={"nodeAffinity": required})
    assert changes_of(waiting, [node("n1", zone="a")]) == ["no required node affinity gpu: n1"]


def test_max_skew_is_raised_as_little_as_possible() -> None:
    spread = {**APP_PER_ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    placed = [pod(f"p{index}", node="n1", labels={"app": "web"}) for index in range(3)]
    full = node("n2", zone="b", cpu="0")
    waiting = pod("new", labels={"app": "web"}, cpu="1", spread=[spread])
    changes = changes_of(waiting, [node("n1", zone="a"), full], placed)
    assert changes == [f"maxSkew 4 instead of 1 for {ZONE}: n1"]


def test_a_constraint_on_a_label_that_no_node_has_is_made_optional() -> None:
    spread = {**APP_PER_ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    waiting = pod(labels={"app": "web"}, spread=[spread])
    assert changes_of(waiting, [node("n1")]) == [f"ScheduleAnyway instead of DoNotSchedule for {ZONE}: n1"]


def test_a_required_anti_affinity_term_is_dropped() -> None:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "db"}}}
    waiting = pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    changes = changes_of(waiting, [node("n1")], [pod("db", node="n1", labels={"app": "db"})])
    assert changes == [f"no required pod anti-affinity to app in (db) in the same {HOSTNAME}: n1"]


def test_the_least_important_pod_that_no_budget_protects_is_found_as_victim() -> None:
    placed = [
        pod(name, node="n1", labels={"app": "a"}, cpu="2", priority=value) for name, value in (("x", 5), ("y", 1))
    ]
    waiting = pod("new", cpu="2", priority=10)
    changes = changes_of(waiting, [node("n1", cpu="4")], placed)
    assert changes == ["without the pod default/y (priority 1): n1"]
    cache = cache_of([node("n1", cpu="4")], placed)
    body = {
        "metadata": {"name": "guard", "namespace": "default", "uid": "b"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}},
        "status": {"disruptionsAllowed": 0},
    }
    cache.set_object(added("PodDisruptionBudget", make("PodDisruptionBudget", body)))
    assert find_changes(PROFILE, waiting, cache) == []


def test_a_new_node_of_a_group_has_the_daemons_of_the_group_and_no_transient_taints() -> None:
    labels = {INSTANCE_TYPE: "m5.large"}
    sick = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    agent = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "d", "controller": True}
    placed = [pod("agent", node="n1", cpu="1", owner=agent), pod("big", node="n1", cpu="3")]
    nodes = [node("n1", zone="a", labels=labels, taints=sick)]
    assert "one more m5.large in a: new-n1" in changes_of(pod("new", cpu="3"), nodes, placed)
    assert not [text for text in changes_of(pod("new", cpu="3500m"), nodes, placed) if text.startswith("one more")]


def test_the_number_of_tries_is_limited() -> None:
    tries = []

    class Counting(NameFilter):
        """A Filter that rejects all nodes, and counts its calls."""

        def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
            del state
            tries.append(pod)
            nothing = np.zeros(nodes.size, np.bool_)
            return FilterResult(nothing, lambda: [Rejection(~nothing, "no")])

    taints = ([{"key": f"k{number}", "effect": "NoSchedule"}] for number in range(MAX_TRIES + 100))
    nodes = [node(f"n{number}", taints=each) for number, each in enumerate(taints)]
    assert find_changes(profile(filter=(Counting(),)), pod(), cache_of(nodes)) == []
    assert MAX_TRIES <= len(tries) <= MAX_TRIES + 10


def test_a_search_returns_the_changes_that_it_found_before_its_time_was_over() -> None:
    left = iter([True, True, *[False] * 100])
    tainted = [node(f"n{number}", taints=[{"key": f"k{number}", "effect": "NoSchedule"}]) for number in range(9)]
    found = find_changes(PROFILE, pod(), cache_of(tainted), (), left.__next__)
    assert [change.text for change in found] == [
        f"a toleration for the taint k{number}:NoSchedule" for number in (0, 1)
    ]


def test_a_long_text_is_cut() -> None:
    waiting = pod(spec={"nodeSelector": {"k" * 60: "v" * 60, "disk": "x" * 5000}}, namespace="default")
    (change, *_) = find_changes(PROFILE, waiting, cache_of([node("n1", labels={"k" * 60: "v" * 60})]))
    assert len(change.text) == TEXT_CHARACTERS


def test_the_cache_is_unchanged_after_a_search() -> None:
    labels = {INSTANCE_TYPE: "m5.large"}
    cache = cache_of([node("n1", labels=labels, cpu="1")], [pod("p", node="n1", cpu="1")])
    waiting = pod("new", cpu="1", spec={"nodeSelector": {"disk": "ssd"}})
    first = find_changes(PROFILE, waiting, cache)
    assert find_changes(PROFILE, waiting, cache) == first
    assert list(cache.snapshot.names) == ["n1"]
    assert cache.pod_count == 1


def test_another_policy_is_found() -> None:
    strict = kube_profile()
    cache = cache_of([node("n1", cpu="1")])
    lenient = dataclasses.replace(kube_profile("lenient"), filter=(), pre_filter=())
    (change,) = find_changes(strict, pod(cpu="2"), cache, (strict, lenient))[1:]
    assert change.text == "schedulerName lenient"


def test_the_best_change_of_each_kind_comes_first_and_the_list_is_short() -> None:
    many = [change_to(ChangeKind.TOLERATION, f"t{index:02}", ["n"]) for index in range(20)]
    small, large = (change_to(ChangeKind.REQUEST, text, ["n"], size) for text, size in (("z", 0.1), ("a", 0.5)))
    ranked = rank([*many, large, small])
    assert [change.text for change in ranked[:4]] == ["z", "t00", "a", "t01"]
    assert len(ranked) == MAX_CHANGES


def test_amounts_are_exact_quantities() -> None:
    texts = [amount_text("cpu", 1500), amount_text("cpu", 2000), amount_text("memory", 3 * 2**29)]
    assert [*texts, amount_text("memory", 1000), amount_text("x/gpu", 2048)] == ["1500m", "2", "1536Mi", "1000", "2048"]


def test_a_copy_decides_like_the_cluster_and_its_changes_do_not_affect_the_cluster() -> None:
    placed = [pod("a", node="n1", cpu="1"), pod("b", node="n2", cpu="2")]
    cache = cache_of([node("n1", cpu="2"), node("n2", cpu="4")], placed)
    claim = {"metadata": {"name": "c", "namespace": "default", "uid": "c"}, "spec": {}}
    cache.set_object(added("PersistentVolumeClaim", make("PersistentVolumeClaim", claim)))
    cache.nominator.nominate(pod("waits", cpu="1"), "n2")
    copy = content_of(cache.snapshot).build()
    for waiting in (pod("p", cpu="1"), pod("q", cpu="2"), pod("r", cpu="3")):
        assert fitting_nodes(PROFILE, waiting, copy.snapshot) == fitting_nodes(PROFILE, waiting, cache.snapshot)
    assert list(copy.snapshot.objects("PersistentVolumeClaim")) == ["default/c"]
    copy.remove_node("n1")
    assert list(cache.snapshot.names) == ["n1", "n2"]
    assert content_of(cache.snapshot, without="default/a").build().pod_count == 1


# -- the property ---------------------------------------------------------------------------------------------------


@st.composite
def small_clusters(draw: st.DrawFn) -> tuple[list[Node], list[Pod], Pod]:
    """Draw nodes, pods on these nodes, and a waiting pod.

    The nodes have so little CPU that a test can try every possible request.
    The placed pods have no host ports, because drawn pods of one node could share a port.
    """
    nodes, pods = draw(strategies.clusters(max_pods=4))
    sized = [
        dataclasses.replace(
            each,
            allocatable=Resources((("cpu", draw(st.integers(1, 12))), ("memory", 8), ("pods", 10))),
            labels={**each.labels, INSTANCE_TYPE: draw(st.sampled_from(["m5.large", "c5.large"]))},
        )
        for each in nodes
    ]
    return (
        sized,
        [with_shape(_with_cpu(draw, each), host_ports=()) for each in pods],
        _with_cpu(draw, draw(strategies.pods("waiting"))),
    )


def _with_cpu(draw: st.DrawFn, each: Pod) -> Pod:
    amount = Resources((("cpu", draw(st.integers(0, 12))),))
    return replace(with_shape(each, requests=amount), requests=amount)


@given(small_clusters())
def test_search_finds_the_same_changes_as_trying_every_change(drawn: tuple[list[Node], list[Pod], Pod]) -> None:
    nodes, pods, waiting = drawn
    cache = cache_of(nodes, pods)
    if fitting_nodes(PROFILE, waiting, cache.snapshot):
        assert find_changes(PROFILE, waiting, cache) == []
        return
    found = list(all_changes(PROFILE, waiting, cache, ()))
    expected = list(every_change(nodes, pods, waiting))
    assert sorted(map(key_of, found)) == sorted(map(key_of, expected))


def key_of(change: Counterfactual) -> tuple[str, str, int]:
    """Return the parts of a change on which both searches must agree.

    The search may choose any victim among equally important victims on a node.
    """
    if change.kind is ChangeKind.VICTIM:
        return change.kind.value, change.node_names[0], int(change.size)
    return change.kind.value, change.text, change.node_count


def every_change(nodes: Sequence[Node], pods: Sequence[Pod], waiting: Pod) -> Iterator[Counterfactual]:
    """Try all values and all clusters one by one, and yield the smallest changes."""
    yield from every_request(nodes, pods, waiting)
    yield from every_toleration(nodes, pods, waiting)
    yield from every_constraint(nodes, pods, waiting)
    yield from every_victim(nodes, pods, waiting)
    yield from every_new_node(nodes, pods, waiting)


def fits(nodes: Sequence[Node], pods: Sequence[Pod], waiting: Pod, profile: Profile = PROFILE) -> list[str]:
    return fitting_nodes(profile, waiting, cache_of(nodes, pods).snapshot)


def every_request(nodes: Sequence[Node], pods: Sequence[Pod], waiting: Pod) -> Iterator[Counterfactual]:
    amount = waiting.shape.requests.get("cpu")
    for less in range(1, amount):
        names = fits(nodes, pods, with_shape(waiting, requests=Resources((("cpu", amount - less),))))
        if names:
            yield change_to(ChangeKind.REQUEST, f"{less}m less cpu", names)
            return


def every_toleration(nodes: Sequence[Node], pods: Sequence[Pod], waiting: Pod) -> Iterator[Counterfactual]:
    for taint in {taint for each in nodes for taint in each.taints if taint.effect in {"NoSchedule", "NoExecute"}}:
        tolerated = (*waiting.shape.tolerations, Toleration(taint.key, "Equal", taint.value, taint.effect))
        names = fits(nodes, pods, with_shape(waiting, tolerations=tolerated))
        if names:
            value = f"={taint.value}" if taint.value else ""
            yield change_to(
                ChangeKind.TOLERATION, f"a toleration for the taint {taint.key}{value}:{taint.effect}", names
            )


def every_constraint(nodes: Sequence[Node], pods: Sequence[Pod], waiting: Pod) -> Iterator[Counterfactual]:
    constraints = waiting.shape.spread_constraints
    for index, constraint in enumerate(constraints):
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue
        for max_skew in range(constraint.max_skew + 1, len(pods) + 2):
            raised = dataclasses.replace(constraint, max_skew=max_skew)
            changed = (*constraints[:index], raised, *constraints[index + 1 :])
            names = fits(nodes, pods, with_shape(waiting, spread_constraints=changed))
            if names:
                text = f"maxSkew {max_skew} instead of {constraint.max_skew} for {constraint.topology_key}"
                yield change_to(ChangeKind.SPREAD, text, names)
                break
        else:
            names = fits(
                nodes, pods, with_shape(waiting, spread_constraints=constraints[:index] + constraints[index + 1 :])
            )
            if names:
                text = f"ScheduleAnyway instead of DoNotSchedule for {constraint.topology_key}"
                yield change_to(ChangeKind.SPREAD, text, names)
    yield from every_affinity_term(nodes, pods, waiting)


def every_affinity_term(nodes: Sequence[Node], pods: Sequence[Pod], waiting: Pod) -> Iterator[Counterfactual]:
    affinity = waiting.shape.pod_affinity
    for field, word in (("required_affinity", "affinity"), ("required_anti_affinity", "anti-affinity")):
        terms = list(getattr(affinity, field))
        for index, term in enumerate(terms):
            left = tuple(terms[:index] + terms[index + 1 :])
            changed = dataclasses.replace(affinity, **{field: left})
            names = fits(nodes, pods, with_shape(waiting, pod_affinity=changed))
            if names:
                selector = term.selector.requirements if term.selector else ()
                target = ", ".join(map(str, selector)) or "all pods"
                text = f"no required pod {word} to {target} in the same {term.topology_key}"
                yield change_to(ChangeKind.AFFINITY, text, names)


def every_victim(nodes: Sequence[Node], pods: Sequence[Pod], waiting: Pod) -> Iterator[Counterfactual]:
    for each in nodes:
        enough = [
            victim.priority
            for victim in pods
            if victim.node_name == each.name
            and victim.priority < waiting.priority
            and each.name in fits(nodes, [other for other in pods if other is not victim], waiting)
        ]
        if enough:
            yield change_to(ChangeKind.VICTIM, "any", [each.name], float(min(enough)))


def every_new_node(nodes: Sequence[Node], pods: Sequence[Pod], waiting: Pod) -> Iterator[Counterfactual]:
    groups = {(each.labels[INSTANCE_TYPE], each.labels.get(ZONE, "")) for each in nodes}
    for instance_type, zone in groups:
        members = [
            each for each in nodes if (each.labels[INSTANCE_TYPE], each.labels.get(ZONE, "")) == (instance_type, zone)
        ]
        template = min(members, key=lambda each: (each.unschedulable, each.name))
        labels = {**template.labels, HOSTNAME: "extra"}
        extra = dataclasses.replace(template, name="extra", labels=labels, unschedulable=False)
        if "extra" in fits([*nodes, extra], pods, waiting):
            yield change_to(ChangeKind.NEW_NODE, f"one more {instance_type}{f' in {zone}' if zone else ''}", ["extra"])

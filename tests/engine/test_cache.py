import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from builders import node, pod
from moorage.engine.cache import Cache
from moorage.framework.cluster_events import added, deleted
from moorage.model.workloads.workload_objects import Namespace, PodDisruptionBudget


def requested(cache: Cache, name: str) -> int:
    position = cache.snapshot.position(name)
    assert position is not None
    return int(cache.snapshot.requested("cpu")[position])


def test_assumed_pod_uses_resources_of_its_node_until_it_is_forgotten() -> None:
    cache = Cache()
    cache.set_node(node("n1"))
    assumed = cache.assume(pod("a", cpu="1"), "n1")
    assert assumed.node_name == "n1"
    assert requested(cache, "n1") == 1000
    assert cache.forget(assumed.uid)
    assert requested(cache, "n1") == 0
    assert not cache.forget(assumed.uid)


def test_forget_keeps_a_pod_that_the_watch_has_confirmed() -> None:
    cache = Cache()
    cache.set_node(node("n1"))
    cache.assume(pod("a", cpu="1"), "n1")
    cache.set_pod(pod("a", cpu="1", node="n1"))
    assert not cache.is_assumed(pod("a").uid)
    assert not cache.forget(pod("a").uid)
    assert requested(cache, "n1") == 1000


def test_assumed_pod_moves_to_another_node_if_the_watch_shows_it_there() -> None:
    cache = Cache()
    cache.set_node(node("n1"))
    cache.set_node(node("n2"))
    cache.assume(pod("a", cpu="1"), "n1")
    cache.set_pod(pod("a", cpu="1", node="n2"))
    assert (requested(cache, "n1"), requested(cache, "n2")) == (0, 1000)


def test_assume_raises_value_error_if_the_pod_is_already_assumed() -> None:
    cache = Cache()
    cache.set_node(node("n1"))
    cache.assume(pod("a"), "n1")
    with pytest.raises(ValueError, match="default/a"):
        cache.assume(pod("a"), "n1")


def test_pod_on_an_unknown_node_is_counted_when_the_node_is_added() -> None:
    cache = Cache()
    cache.set_pod(pod("a", cpu="1", node="n1"))
    cache.set_node(node("n1"))
    assert requested(cache, "n1") == 1000


def test_pods_of_a_removed_node_are_counted_when_the_node_is_added_again() -> None:
    cache = Cache()
    cache.set_node(node("n1"))
    cache.set_pod(pod("a", cpu="1", node="n1"))
    cache.set_pod(pod("b", cpu="1", node="n1"))
    cache.remove_node("n1")
    assert cache.snapshot.size == 0
    cache.remove_pod(pod("b").uid)
    cache.set_node(node("n1"))
    assert requested(cache, "n1") == 1000


def test_node_counts_the_new_requests_of_a_resized_pod() -> None:
    cache = Cache()
    cache.set_node(node("n1"))
    cache.set_pod(pod("a", cpu="1", node="n1"))
    cache.set_pod(pod("a", cpu="3", node="n1"))
    assert requested(cache, "n1") == 3000


def test_confirmed_pod_with_a_start_time_replaces_the_assumed_pod() -> None:
    cache = Cache()
    cache.set_node(node("n1"))
    cache.assume(pod("a"), "n1")
    started = pod("a", node="n1", status={"startTime": "2026-01-01T00:00:00Z"})
    cache.set_pod(started)
    assert list(cache.snapshot.pods_on(0)) == [started]


def test_objects_are_added_and_removed_by_key() -> None:
    cache = Cache()
    budget = PodDisruptionBudget(namespace="ns", name="b")
    cache.set_object(added("PodDisruptionBudget", budget))
    cache.set_object(added("Namespace", Namespace(name="ns", labels={"team": "a"})))
    assert dict(cache.snapshot.objects("PodDisruptionBudget")) == {"ns/b": budget}
    assert dict(cache.snapshot.namespaces) == {"ns": {"team": "a"}}
    cache.set_object(deleted("PodDisruptionBudget", budget))
    cache.set_object(deleted("Namespace", Namespace(name="ns")))
    assert not cache.snapshot.objects("PodDisruptionBudget")
    assert not cache.snapshot.namespaces


NODE_NAMES = ("n1", "n2", "n3")
POD_NAMES = tuple("abcdef")
AMOUNTS = ("1", "2", "500m")


class CacheMachine(RuleBasedStateMachine):
    """The cache and a model: a dict of pods and a set of nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache()
        self.nodes: set[str] = set()
        self.pods: dict[str, tuple[str, str, int]] = {}
        self.assumed: set[str] = set()

    @rule(name=st.sampled_from(NODE_NAMES), cpu=st.sampled_from(AMOUNTS))
    def set_node(self, name: str, cpu: str) -> None:
        self.cache.set_node(node(name, cpu=cpu))
        self.nodes.add(name)

    @rule(name=st.sampled_from(NODE_NAMES))
    def remove_node(self, name: str) -> None:
        self.cache.remove_node(name)
        self.nodes.discard(name)

    @rule(
        name=st.sampled_from(POD_NAMES),
        on=st.sampled_from(NODE_NAMES),
        cpu=st.sampled_from(AMOUNTS),
        priority=st.integers(-1, 2),
    )
    def watch_pod(self, name: str, on: str, cpu: str, priority: int) -> None:
        self.cache.set_pod(pod(name, cpu=cpu, node=on, priority=priority))
        self.pods[name] = (on, cpu, priority)
        self.assumed.discard(name)

    @rule(name=st.sampled_from(POD_NAMES))
    def remove_pod(self, name: str) -> None:
        removed = self.cache.remove_pod(pod(name).uid)
        assert (removed is not None) == (name in self.pods)
        self.pods.pop(name, None)
        self.assumed.discard(name)

    @precondition(lambda self: self.nodes and len(self.pods) < len(POD_NAMES))
    @rule(data=st.data(), cpu=st.sampled_from(AMOUNTS))
    def assume(self, data: st.DataObject, cpu: str) -> None:
        name = data.draw(st.sampled_from([each for each in POD_NAMES if each not in self.pods]))
        on = data.draw(st.sampled_from(sorted(self.nodes)))
        self.cache.assume(pod(name, cpu=cpu), on)
        self.pods[name] = (on, cpu, 0)
        self.assumed.add(name)

    @rule(name=st.sampled_from(POD_NAMES))
    def forget(self, name: str) -> None:
        assert self.cache.forget(pod(name).uid) == (name in self.assumed)
        if name in self.assumed:
            self.assumed.discard(name)
            del self.pods[name]

    @invariant()
    def columns_equal_the_sum_over_pods(self) -> None:
        snapshot = self.cache.snapshot
        assert sorted(snapshot.names) == sorted(self.nodes)
        assert self.cache.pod_count == len(self.pods)
        assert self.cache.assumed_count == len(self.assumed)
        for position, name in enumerate(snapshot.names):
            here = [cpu for on, cpu, _ in self.pods.values() if on == name]
            priorities = [priority for on, _, priority in self.pods.values() if on == name]
            assert not priorities or snapshot.lowest_priority[position] == min(priorities)
            assert snapshot.pod_count[position] == len(here)
            assert snapshot.requested("cpu")[position] == sum(500 if cpu == "500m" else int(cpu) * 1000 for cpu in here)


TestCache = CacheMachine.TestCase
TestCache.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)

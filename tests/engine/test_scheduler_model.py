"""The scheduler with a model of the API server that delays events, loses bindings, and changes and deletes objects."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from builders import node, pod
from engine.doubles import SCHEDULER
from moorage.engine.messages import BindingFinished, ProfileChanged, ProfileRemoved
from moorage.engine.outcomes import Bind, SchedulingFailed
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import ClusterEvent, added, deleted, updated
from moorage.framework.profile import ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.pods.pod import Pod

REGISTRY = Registry.discover()
NODE_NAMES = ("n1", "n2", "n3")
LONG = 10_000.0
"""In seconds. Longer than any backoff, and longer than a pod stays unschedulable without an event."""


@dataclass
class ApiServer:
    """The objects of the cluster, and the events that the scheduler has not received yet."""

    nodes: dict[str, int] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    undelivered: list[ClusterEvent] = field(default_factory=list)

    def bind(self, assumed: Pod) -> str | None:
        """Bind a pod and return None, or return an error."""
        current = self.pods.get(assumed.uid)
        if current is None:
            return "404"
        if current.node_name:
            return "409"
        self.pods[assumed.uid] = replace(current, node_name=assumed.node_name)
        self.undelivered.append(updated("Pod", current, self.pods[assumed.uid]))
        return None


class SchedulerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.profile = REGISTRY.build_profile(ProfileSpec(scheduler_name=SCHEDULER))
        self.scheduler = Scheduler(1, [self.profile])
        self.api = ApiServer()
        self.binding: dict[str, Bind] = {}
        self.is_profile_live = True
        self.now = 0.0
        self.next_name = 0

    @initialize(cpus=st.lists(st.integers(1, 4), min_size=1, max_size=2))
    def start_nodes(self, cpus: list[int]) -> None:
        for name, cpu in zip(NODE_NAMES, cpus, strict=False):
            self.set_node(name, cpu)
        self.deliver_all()

    # -- changes in the cluster -------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NODE_NAMES), cpu=st.integers(1, 4))
    def set_node(self, name: str, cpu: int) -> None:
        is_new = name not in self.api.nodes
        self.api.nodes[name] = cpu
        new = node(name, cpu=str(cpu))
        self.api.undelivered.append(added("Node", new) if is_new else updated("Node", node(name, cpu="99"), new))

    @precondition(lambda self: self.api.nodes)
    @rule(data=st.data())
    def delete_node(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.api.nodes)))
        del self.api.nodes[name]
        self.api.undelivered.append(deleted("Node", node(name)))

    @rule(cpus=st.lists(st.integers(1, 3), min_size=1, max_size=3))
    def create_pods(self, cpus: list[int]) -> None:
        for cpu in cpus:
            new = pod(f"p{self.next_name}", cpu=str(cpu))
            self.next_name += 1
            self.api.pods[new.uid] = new
            self.api.undelivered.append(added("Pod", new))

    @precondition(lambda self: any(not each.node_name for each in self.api.pods.values()))
    @rule(data=st.data())
    def label_pod(self, data: st.DataObject) -> None:
        waiting = sorted(uid for uid, each in self.api.pods.items() if not each.node_name)
        old = self.api.pods[data.draw(st.sampled_from(waiting))]
        version = str(int(old.labels.get("version", "0")) + 1)
        new = pod(old.name, cpu=f"{old.requests.get('cpu')}m", labels={"version": version})
        self.api.pods[new.uid] = new
        self.api.undelivered.append(updated("Pod", old, new))

    @precondition(lambda self: self.api.pods)
    @rule(data=st.data())
    def delete_pod(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.api.pods)))
        self.api.undelivered.append(deleted("Pod", self.api.pods.pop(uid)))

    @precondition(lambda self: self.next_name > 0)
    @rule()
    def swap_profile(self) -> None:
        self.is_profile_live = not self.is_profile_live
        message = ProfileChanged(self.profile) if self.is_profile_live else ProfileRemoved(SCHEDULER)
        self.scheduler.apply(message, self.now)

    # -- the scheduler and its inputs -------------------------------------------------------------------------------

    @precondition(lambda self: self.api.undelivered)
    @rule()
    def deliver_one(self) -> None:
        self.scheduler.apply(self.api.undelivered.pop(0), self.now)

    @rule()
    def deliver_all(self) -> None:
        while self.api.undelivered:
            self.scheduler.apply(self.api.undelivered.pop(0), self.now)

    @rule(seconds=st.sampled_from([0.1, 1.5, 30.0, 400.0]))
    def advance(self, seconds: float) -> None:
        self.now += seconds
        self.scheduler.tick(self.now)

    @rule()
    def schedule(self) -> None:
        outcome = self.scheduler.schedule_one(self.now)
        assert not isinstance(outcome, SchedulingFailed), outcome
        if outcome is not None and not self.api.undelivered:
            assert outcome.pod.labels == self.api.pods[outcome.pod.uid].labels, "an old version is tried"
        if isinstance(outcome, Bind):
            assert outcome.pod.uid not in self.binding, "bound twice"
            self.binding[outcome.pod.uid] = outcome

    @precondition(lambda self: self.binding)
    @rule(data=st.data(), is_reached=st.booleans(), is_answered=st.booleans())
    def finish_binding(self, data: st.DataObject, *, is_reached: bool, is_answered: bool) -> None:
        """Finish a binding; the request or its answer may be lost."""
        bind = self.binding.pop(data.draw(st.sampled_from(sorted(self.binding))))
        error = self.api.bind(bind.pod) if is_reached else None
        if not is_reached or not is_answered:
            error = error or "the connection was reset"
        self.scheduler.apply(BindingFinished(bind.pod, bind.node_name, error), self.now)

    # -- invariants -------------------------------------------------------------------------------------------------

    @invariant()
    def pending_pods_are_the_pods_without_a_node(self) -> None:
        if self.api.undelivered:
            return
        waiting = {uid for uid, each in self.api.pods.items() if not each.node_name}
        counts = self.scheduler.statistics.pending_pods_by_profile().get(SCHEDULER, {})
        assert sum(counts.values()) == len(waiting)
        assert counts.get("binding", 0) == len(waiting & self.binding.keys())
        assert counts.get("inFlight", 0) == 0

    @invariant()
    def nodes_have_the_requests_of_their_pods(self) -> None:
        if self.api.undelivered:
            return
        expected = dict.fromkeys(self.api.nodes, 0)
        placed = {uid: each for uid, each in self.api.pods.items() if each.node_name}
        assumed = {uid: bind.pod for uid, bind in self.binding.items() if uid in self.api.pods}
        for each in {**assumed, **placed}.values():
            if each.node_name in expected:
                expected[each.node_name] += each.requests.get("cpu")
        snapshot = self.scheduler.snapshot
        assert dict(zip(snapshot.names, snapshot.requested("cpu").tolist(), strict=True)) == expected

    def teardown(self) -> None:
        """Deliver all events and schedule until nothing changes. Then check that no pending pod fits on a node."""
        if not self.is_profile_live:
            self.swap_profile()
        for _ in range(3):
            self.deliver_all()
            for bind in list(self.binding.values()):
                self.scheduler.apply(BindingFinished(bind.pod, bind.node_name, self.api.bind(bind.pod)), self.now)
            self.binding.clear()
            self.now += LONG
            self.scheduler.tick(self.now)
            while (outcome := self.scheduler.schedule_one(self.now)) is not None:
                if isinstance(outcome, Bind):
                    error = self.api.bind(outcome.pod)
                    self.scheduler.apply(BindingFinished(outcome.pod, outcome.node_name, error), self.now)
                    assert error is None
        free = {name: cpu * 1000 for name, cpu in self.api.nodes.items()}
        for each in self.api.pods.values():
            if each.node_name in free:
                free[each.node_name] -= each.requests.get("cpu")
        waiting = [each.requests.get("cpu") for each in self.api.pods.values() if not each.node_name]
        assert all(cpu > room for cpu in waiting for room in free.values())


TestScheduler = SchedulerMachine.TestCase
TestScheduler.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)

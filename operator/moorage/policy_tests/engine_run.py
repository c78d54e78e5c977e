"""Runs the pods of a test through the engine, on a virtual clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from moorage.engine.messages import BindingFinished, ExtendersAnswered
from moorage.engine.outcomes import (
    AskAboutVictims,
    Bind,
    CallExtenders,
    Held,
    Outcome,
    SchedulingFailed,
    Skipped,
    Unschedulable,
)
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added, deleted, updated
from moorage.framework.profile import Profile
from moorage.inventory import Inventory, cluster_events
from moorage.model.decode import Decoder
from moorage.model.pods.pod import Pod
from moorage.policy_tests.disruption_counts import DisruptionCounts
from moorage.policy_tests.policy_test_reader import Json
from moorage.policy_tests.policy_test_scene import PolicyTestScene

POD = "Pod"
MAX_ROUNDS = 50
"""The number of times that waiting pods are tried again after evictions. A real test needs only a few rounds."""
ARRIVAL_SECONDS = 0.001
"""The time between the arrivals of two pods of a test."""


@dataclass(slots=True)
class PodResult:
    """The result of one pod."""

    namespace: str
    name: str
    arrives: bool = True
    """Whether the pod arrived during the test. If False, the pod was in place before the test."""
    node: str = ""
    message: str = ""
    """Why the pod has no node."""
    plugins: frozenset[str] = frozenset()
    """The plugins that rejected the pod."""
    nominated: str = ""
    evicted: bool = False

    @property
    def key(self) -> str:
        """The namespace and the name."""
        return f"{self.namespace}/{self.name}"


@dataclass(slots=True)
class EngineRun:
    """One run of a test."""

    scheduler: Scheduler
    results: dict[str, PodResult] = field(default_factory=dict)
    """The results by uid."""
    tried: list[str] = field(default_factory=list)
    """The keys of the pods, in the order of their first attempts."""
    _now: float = 0.0
    _decoder: Decoder = field(default_factory=Decoder)
    _placed: dict[str, Pod] = field(default_factory=dict)
    _budgets: DisruptionCounts = field(default_factory=DisruptionCounts)

    def run(self, scene: PolicyTestScene) -> None:
        """Add the objects of a scene, and try all pods until nothing changes."""
        bodies = [*scene.cluster, *scene.placed]
        for event in cluster_events(Inventory.of(bodies), self._decoder):
            self.scheduler.apply(event, self._now)
            if event.kind == POD:
                self._place(event.new, arrives=False)
        self._budgets.watch(scene.cluster, self._decoder)
        self._recount()
        for wave in scene.waves:
            self._arrive(wave)
            self._try_all()

    def _arrive(self, wave: Sequence[Json]) -> None:
        for event in cluster_events(Inventory.of(wave), self._decoder):
            pod: Pod = event.new
            message = f"no policy and no profile has the schedulerName {pod.scheduler_name}"
            known = pod.scheduler_name in self.scheduler.profiles
            self.results[pod.uid] = PodResult(pod.namespace, pod.name, message="" if known else message)
            self._now += ARRIVAL_SECONDS
            self.scheduler.apply(event, self._now)

    def _try_all(self) -> None:
        """Try pods until none is ready. After evictions, move the virtual clock to the next attempts."""
        for _ in range(MAX_ROUNDS):
            has_evicted = False
            while (outcome := self.scheduler.schedule_one(self._now)) is not None:
                has_evicted |= self._carry_out(outcome)
            wakeup = self.scheduler.next_wakeup(self._now)
            if not has_evicted or wakeup is None:
                return
            self._now = max(wakeup, self._now + ARRIVAL_SECONDS)
            self.scheduler.tick(self._now)

    def _carry_out(self, outcome: Outcome) -> bool:
        """Carry out a decision like the runtime. Return whether pods were evicted."""
        pod = outcome.pod
        result = self.results[pod.uid]
        if result.key not in self.tried:
            self.tried.append(result.key)
        match outcome:
            case Bind():
                self.scheduler.apply(BindingFinished(pod, outcome.node_name), self._now)
                running = replace(pod, start_time=self._now, phase="Running")
                self.scheduler.apply(added(POD, running), self._now)
                self._place(running)
                self._recount()
            case Unschedulable():
                result.message, result.plugins = outcome.message, outcome.diagnosis.unschedulable_plugins
                result.nominated = outcome.nominated_node_name or result.nominated
                return self._evict(outcome.victims)
            case SchedulingFailed():
                result.message = f"error: {outcome.message}"
            case Held():
                result.message = ": ".join(part for part in (outcome.reason.value, outcome.message) if part)
            case Skipped():
                result.message = outcome.message
            case CallExtenders():
                answer = ExtendersAnswered(pod_uid=pod.uid, node_names=frozenset(outcome.node_names))
                self.scheduler.apply(answer, self._now)
            case AskAboutVictims():
                result.message = "extenders with a preemptVerb are not called in tests"
        return False

    def _place(self, pod: Pod, *, arrives: bool = True) -> None:
        result = self.results.setdefault(pod.uid, PodResult(pod.namespace, pod.name, arrives=arrives))
        result.node, result.message, result.plugins = pod.node_name, "", frozenset()
        self._placed[pod.uid] = pod

    def _evict(self, victims: Iterable[Pod]) -> bool:
        evicted = [self._placed.pop(victim.uid) for victim in victims if victim.uid in self._placed]
        for pod in evicted:
            result = self.results[pod.uid]
            result.evicted, result.node, result.message = True, "", "evicted by preemption"
            self._budgets.evicted(pod)
        self._recount()
        for pod in evicted:
            self.scheduler.apply(deleted(POD, pod), self._now)
        return bool(evicted)

    def _recount(self) -> None:
        """Update the number of disruptions that each budget allows in the engine."""
        for old, new in self._budgets.changes(self._placed.values()):
            self.scheduler.apply(updated("PodDisruptionBudget", old, new), self._now)


def run_scene(scene: PolicyTestScene, profiles: Iterable[Profile], seed: int) -> EngineRun:
    """Run a scene with profiles, and return the run with the results."""
    run = EngineRun(Scheduler(seed, profiles))
    run.run(scene)
    return run

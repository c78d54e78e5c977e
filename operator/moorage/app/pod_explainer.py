"""Explains pods: reads the log of decisions, and makes a new decision on the current cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from moorage.engine.counterfactuals.cluster_copy import content_of
from moorage.engine.counterfactuals.counterfactual import Counterfactual
from moorage.engine.counterfactuals.find_changes import find_changes
from moorage.engine.records.decision_record import DecisionOutcome, DecisionRecord
from moorage.engine.records.explanation import Explanation, Standing
from moorage.engine.records.present_decision import PresentDecision
from moorage.engine.records.stored_record import Moment
from moorage.engine.scheduler import Scheduler
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod
from moorage.runtime.clock import Clock

MAX_SHADOWS_SHOWN = 5
"""The number of policies in mode Shadow whose decisions are shown."""
SEARCH_SECONDS = 5.0
"""The time after which a search for changes ends. A usual search takes 0.1 s."""


@dataclass(slots=True, kw_only=True)
class PodExplainer:
    """Explanations from one scheduler. Call it between two turns of the scheduling loop."""

    scheduler: Scheduler
    pods: Mapping[str, Pod]
    """The known pods by `namespace/name`."""
    clock: Clock
    operator: str
    """The name of the operator that answers; empty if a command answers without an operator."""
    _epoch: float = field(init=False)
    """The time, in seconds since the epoch, at which the monotonic clock was 0."""

    def __post_init__(self) -> None:
        """Read both clocks once, so that an attempt has the same time in all answers."""
        self._epoch = self.clock.time() - self.clock.monotonic()

    def explain(self, namespace: str, name: str, node: str = "") -> Explanation | None:
        """Explain a pod, and why it is not on `node`. Return None if the pod is unknown and has no records."""
        key = f"{namespace}/{name}"
        pod = self._known(key)
        log = self.scheduler.decisions
        records = [self._with_time_of_day(record) for record in log.find(key)] if log else []
        if pod is not None:
            return self._explain_pod(pod, records, node)
        if not records:
            return None
        last = records[0]
        return Explanation(
            namespace=namespace,
            name=name,
            uid=last.uid,
            scheduler_name=last.scheduler_name,
            detail="the pod was deleted",
            at=self.clock.time(),
            operator=self.operator,
            records=tuple(records),
        )

    def change_search(self, explanation: Explanation) -> Callable[[], tuple[Counterfactual, ...]] | None:
        """Return a search for changes after which the pod would fit; None if the pod fits or has no profile.

        The search works on a copy of the cluster. Call it in another thread, because it may take a second.
        """
        pod = self._known(f"{explanation.namespace}/{explanation.name}")
        now = explanation.now
        if pod is None or pod.node_name or now is None or now.outcome is not DecisionOutcome.UNSCHEDULABLE:
            return None
        profile = self.scheduler.profiles[pod.scheduler_name]
        others = tuple(each for each in self.scheduler.profiles.values() if _may_bind(each) and each is not profile)
        content = content_of(self.scheduler.snapshot, without=pod.uid)
        until = self.clock.monotonic() + SEARCH_SECONDS

        def search() -> tuple[Counterfactual, ...]:
            return tuple(find_changes(profile, pod, content.build(), others, lambda: self.clock.monotonic() < until))

        return search

    def _known(self, key: str) -> Pod | None:
        """Return a pod with the schedulerName of the policy that decides for it now."""
        pod = self.pods.get(key)
        return pod and self.scheduler.parts.handlers.route(pod)

    def _explain_pod(self, pod: Pod, records: Sequence[DecisionRecord], node: str) -> Explanation:
        standing, detail = self.scheduler.standings.of(pod, self.clock.monotonic())
        decision = self._decide_now(pod) if standing is not Standing.OTHER_SCHEDULER else None
        is_earlier = bool(records) and records[0].uid != pod.uid
        return Explanation(
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            scheduler_name=pod.scheduler_name,
            node=pod.node_name or (records[0].node if standing is Standing.BINDING and records else ""),
            standing=standing,
            detail=detail,
            at=self.clock.time(),
            operator=self.operator,
            records=tuple(records),
            earlier_uid=records[0].uid if is_earlier else "",
            now=decision.record(preempts=not self.operator) if decision else None,
            shadows=tuple(self._shadow_decisions(pod)),
            verdict=decision.verdict(node) if decision and node else None,
        )

    def _decide_now(self, pod: Pod) -> PresentDecision | None:
        """Return a decision on the current cluster.

        A command also searches for pods to evict. An operator does not, because the search may take long.
        """
        profile = self.scheduler.profiles.get(pod.scheduler_name)
        return None if profile is None or pod.is_terminal else self._decision(profile, pod)

    def _shadow_decisions(self, pod: Pod) -> Iterator[DecisionRecord]:
        handlers = self.scheduler.parts.handlers
        for shadow in () if pod.is_terminal else handlers.shadows.of(pod)[:MAX_SHADOWS_SHOWN]:
            if handlers.is_allowed(shadow, pod):
                yield self._decision(shadow, pod).record()

    def _decision(self, profile: Profile, pod: Pod) -> PresentDecision:
        moment = Moment(self.scheduler.seed, 0, self.clock.time())
        return PresentDecision(profile, pod, self.scheduler.snapshot, moment)

    def _with_time_of_day(self, record: DecisionRecord) -> DecisionRecord:
        """Return the record with its time in seconds since the epoch."""
        return replace(record, at=round(record.at + self._epoch, 3))


def _may_bind(profile: Profile) -> bool:
    """Return whether a pod could use the profile: it is neither paused nor a shadow, and open to all namespaces."""
    settings = profile.settings
    return not settings.paused and not settings.shadow_of and settings.allowed_namespaces is None

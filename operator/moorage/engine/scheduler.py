"""The scheduler: the main path of a pod, from the queue to an outcome.

The runtime calls `apply` for each message, `schedule_one` to try the next pod, and `tick` to requeue pods whose waiting
time has ended. The scheduler performs no I/O and never waits. It returns outcomes, which the runtime carries out
(`moorage.engine.outcomes`).

Upstream: pkg/scheduler/scheduler.go, pkg/scheduler/schedule_one.go.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from moorage.cluster.snapshot import Snapshot
from moorage.engine.binding_pods import BindingPods
from moorage.engine.cache import Cache
from moorage.engine.candidate import Candidate
from moorage.engine.cycle.cycle_error import CycleError
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.reserve import run_reserve
from moorage.engine.cycle.scheduling_cycle import AskExtenders, CycleInput, ScheduleResult, run_cycle
from moorage.engine.cycle.scoring import draw
from moorage.engine.disallowed_pods import DisallowedPods
from moorage.engine.engine_state import CycleCounters, SchedulerParts
from moorage.engine.event_handlers import EventHandlers
from moorage.engine.failure_handler import FailureHandler
from moorage.engine.held_pods import HeldPods
from moorage.engine.messages import (
    BindingFinished,
    CandidatesAnswered,
    ExtendersAnswered,
    KindReadable,
    KindUnreadable,
    LeadershipStarted,
    Message,
    NodeRefused,
    ProfileChanged,
    ProfileRefused,
    ProfileRemoved,
    TryAgain,
)
from moorage.engine.nominations import Nominations
from moorage.engine.outcomes import (
    AskAboutVictims,
    Bind,
    CallExtenders,
    Outcome,
    SchedulingFailed,
    Skipped,
    Unschedulable,
)
from moorage.engine.pending_extenders import (
    TOO_MANY_ASKED,
    Attempt,
    PendingExtenders,
    must_ask_about_candidates,
    must_ask_about_nodes,
)
from moorage.engine.preemption.chosen_victims import candidate_of
from moorage.engine.preemption.post_filter import PostFilterResult, make_room
from moorage.engine.queue.scheduling_queue import SchedulingQueue
from moorage.engine.recorder import NO_RECORDER, Recorder
from moorage.engine.records.attempt_recorder import AttemptRecorder
from moorage.engine.records.decision_log import DecisionLog
from moorage.engine.records.pod_standings import PodStandings
from moorage.engine.refusing_nodes import RefusingNodes
from moorage.engine.room_check import lost_room, missing_room
from moorage.engine.scheduler_statistics import SchedulerStatistics
from moorage.engine.shadows import Shadows
from moorage.engine.unreadable_kinds import UnreadableKinds
from moorage.framework.cluster_events import ClusterEvent
from moorage.framework.profile import Profile
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod

LEFTOVER_FLUSH_SECONDS = 30.0
"""Interval of the check for pods that are unschedulable for too long (upstream: flushUnschedulablePodsLeftover)."""


class Scheduler:
    """The cache, the queue and the profiles, and a pod's path through them. Times are seconds of a monotonic clock."""

    def __init__(
        self,
        seed: int,
        profiles: Iterable[Profile] = (),
        recorder: Recorder = NO_RECORDER,
        log: DecisionLog | None = None,
    ) -> None:
        """Start with an empty cluster. `seed` decides between nodes with equal scores; `log` keeps the decisions."""
        self.seed = seed
        self._recorder = recorder
        self.decisions = log
        self._records = AttemptRecorder(seed, log, recorder)
        self._profiles: dict[str, Profile] = {}
        self._cache = Cache()
        self._queue = SchedulingQueue(self._profiles, recorder)
        self._extenders = PendingExtenders(self._queue, self._profiles)
        self._nominations = Nominations(self._cache.nominator, self._queue)
        self._binding = BindingPods()
        self._held = HeldPods()
        self._disallowed = DisallowedPods()
        self._unreadable = UnreadableKinds()
        self._shadows = Shadows(self._cache, seed, recorder)
        self._handlers = EventHandlers(
            self._profiles, self._cache, self._queue, self._binding, self._held, self._disallowed, self._shadows
        )
        self._refusing = RefusingNodes()
        self._failures = FailureHandler(self._queue, self._nominations, self._handlers)
        self.statistics = SchedulerStatistics(
            self._cache, self._queue, self._binding, self._held, self._disallowed, self._shadows
        )
        self.standings = PodStandings(
            self._profiles, self._cache, self._queue, self._binding, self._held, self._disallowed, self._extenders
        )
        self._counters = CycleCounters()
        self.parts = SchedulerParts(self._handlers, self._extenders, self._unreadable, self._refusing, self._counters)
        """The parts that have state, for `moorage.engine.engine_state`."""
        for profile in profiles:
            self._handlers.set_profile(profile, 0.0)

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The live profiles by schedulerName."""
        return MappingProxyType(self._profiles)

    @property
    def snapshot(self) -> Snapshot:
        """The cluster as the next cycle reads it; valid until the next `apply` or `schedule_one`."""
        return self._cache.snapshot

    def candidate_of(self, preemptor: Pod, node_name: str, uids: Iterable[str]) -> Candidate:
        """Return the candidate with the victims that an extender names; raise ValueError if a victim is not allowed."""
        return candidate_of(preemptor, node_name, uids, self._cache.snapshot)

    def lost_room(self, bind: Bind) -> str:
        """Return why the pod of a decision does not fit on its node any more; empty if it fits."""
        return lost_room(bind.profile, bind.pod, self._cache.snapshot)

    def apply(self, message: Message, now: float) -> None:
        """Apply a message to the scheduler's state."""
        match message:
            case ClusterEvent():
                self._handlers.handle(message, now)
            case BindingFinished():
                self._failures.finish_binding(message, now)
            case ExtendersAnswered() | CandidatesAnswered():
                self._extenders.resume(message)
            case TryAgain(pod_uid, void_nomination):
                self._failures.retry(pod_uid, void_nomination, now)
            case LeadershipStarted():
                self._held.report_again()
                self._disallowed.report_again()
            case NodeRefused():
                self._avoid_node(message, now)
            case KindUnreadable() | KindReadable():
                for uid in self._unreadable.update(message):
                    self._queue.retry(uid, now)
            case ProfileChanged() | ProfileRemoved() | ProfileRefused():
                self._handlers.change_profile(message, now)

    def tick(self, now: float) -> None:
        """Requeue the pods whose backoff has ended, and the pods that are unschedulable for too long."""
        self._held.tick(now)
        self._queue.flush_backoff(now)
        if now >= self._counters.next_leftover_flush:
            self._queue.flush_unschedulable_leftover(now)
            self._counters.next_leftover_flush = now + LEFTOVER_FLUSH_SECONDS

    def next_wakeup(self, now: float) -> float | None:
        """Return when to call `tick` and `schedule_one` next, in seconds.

        Return `now` if a pod is ready, and None if no pod waits for a certain time.
        """
        sources = (self._held, self._disallowed, self._shadows)
        has_report = any(source.has_unreported for source in sources)
        if has_report or self._extenders.has_answered or self._queue.has_next():
            return now
        times = [self._queue.next_backoff_expiry(), self._held.next_tick]
        if self._queue.has_unschedulable():
            times.append(self._counters.next_leftover_flush)
        return min((time for time in times if time is not None), default=None)

    def schedule_one(self, now: float) -> Outcome | None:
        """Try the next pod; return None if no pod is ready. An exception becomes the outcome `SchedulingFailed`."""
        if report := self._held.next_report() or self._disallowed.next_report() or self._shadows.next_report():
            return report
        attempt = self._next_attempt(now)
        if attempt is None:
            return None
        self._counters.cycle = self._records.cycle = self._counters.cycle + 1
        self._recorder.start_cycle()
        try:
            return self._schedule(attempt, now)
        except CycleError as error:
            return self._fail(attempt, str(error), now)
        except Exception as fault:  # noqa: BLE001 - one pod's fault must not stop the loop
            return self._fail(attempt, f"{type(fault).__name__}: {fault}", now)

    def _next_attempt(self, now: float) -> Attempt | None:
        """Return the next attempt, and hold pods whose namespace became disallowed while their attempt waited."""
        while attempt := self._take_attempt(now):
            pod = attempt.queued.pod
            if attempt.profile.settings.allowed_namespaces is None or self._handlers.may_try(pod):
                return attempt
            self._queue.done(pod.uid)
            self._handlers.hold(pod)
        return None

    def _take_attempt(self, now: float) -> Attempt | None:
        """Return the next attempt. Attempts that extenders have answered come first."""
        if self._extenders.has_answered and (answered := self._extenders.next_answered()):
            return answered
        queued = self._queue.pop(now)
        return Attempt(queued, self._profiles[queued.pod.scheduler_name]) if queued else None

    def _schedule(self, attempt: Attempt, now: float) -> Outcome:
        pod, profile = attempt.queued.pod, attempt.profile
        if pod.terminating:
            self._queue.done(pod.uid)
            return Skipped(pod=pod, profile=profile, message=f"skip schedule deleting pod: {pod.key}")
        if attempt.error:
            raise CycleError(attempt.error)
        if fault := self._unreadable.fault_of(pod, self._cache.snapshot):
            raise CycleError(fault)
        asks_extenders = must_ask_about_nodes(profile, pod)
        if asks_extenders and attempt.answer is None and not self._extenders.has_room(profile):
            raise CycleError(TOO_MANY_ASKED)
        result = run_cycle(
            CycleInput(
                profile=profile,
                pod=pod,
                snapshot=self._cache.snapshot,
                seed=self.seed,
                cycle=self._counters.cycle,
                start=self._counters.start,
                asks_extenders=asks_extenders,
                answer=attempt.answer,
                resting=self._refusing.names(now),
                recorder=self._recorder,
            )
        )
        match result:
            case ScheduleResult():
                return self._start_binding(attempt, result, now)
            case FitError():
                return self._handle_fit_error(attempt, result, now)
            case AskExtenders(node_names):
                self._extenders.ask(attempt)
                return CallExtenders(pod=pod, profile=profile, node_names=node_names)

    def _start_binding(self, attempt: Attempt, result: ScheduleResult, now: float) -> Bind:
        """Assume the pod on the chosen node and end its attempt.

        No plugin waits on Permit, so no plugin can reject the pod after this step (see `moorage.engine.binding_pods`).
        """
        queued, node_name = attempt.queued, result.node_name
        snapshot = self._cache.snapshot
        self._shadows.compare(queued.pod, node_name, self._handlers.is_allowed)
        intents = run_reserve(attempt.profile, result, snapshot)
        self._counters.start = (self._counters.start + result.evaluated_nodes) % snapshot.size
        assumed = self._cache.assume(queued.pod, node_name, intents)
        self._cache.nominator.remove(assumed.uid)
        self._queue.done(assumed.uid)
        self._binding.add(queued)
        self._records.record_binding(attempt, assumed, result, now)
        return Bind(
            pod=assumed,
            node_name=node_name,
            profile=attempt.profile,
            intents=intents,
            attempts=queued.attempts,
            first_attempt_at=queued.first_attempt_at or 0.0,
            was_flushed=queued.was_flushed,
        )

    def _handle_fit_error(self, attempt: Attempt, fit_error: FitError, now: float) -> Unschedulable | AskAboutVictims:
        """Run PostFilter, nominate the pod if preemption makes room for it, and put it back as unschedulable."""
        queued, profile = attempt.queued, attempt.profile
        kept = attempt.candidates.candidates if attempt.candidates else None
        post = make_room(profile, fit_error, draw(self.seed, self._counters.cycle), kept)
        if post.victims and (fault := self._unreadable.budgets_fault(queued.pod)):
            post = PostFilterResult(Code.UNSCHEDULABLE, f"preemption: waits for disruption budgets: {fault}")
        if post.victims and attempt.candidates is None and must_ask_about_candidates(profile, queued.pod):
            self._extenders.ask(attempt)
            candidates = post.search.candidates if post.search else ()
            return AskAboutVictims(pod=queued.pod, profile=profile, candidates=candidates)
        if not post.victims:
            self._shadows.compare(queued.pod, "", self._handlers.is_allowed)
        outcome = self._failures.reject(attempt, fit_error, post, now)
        self._records.record_rejection(attempt, fit_error, post, outcome, now)
        return outcome

    def _fail(self, attempt: Attempt, message: str, now: float) -> SchedulingFailed:
        self._records.record_failure(attempt, message, now)
        return self._failures.fail(attempt, message, now)

    def _avoid_node(self, message: NodeRefused, now: float) -> None:
        """Let a node rest if its kubelet refused a pod for which the cache shows room."""
        if not missing_room(message.profile, message.pod, message.node_name, self._cache.snapshot):
            self._refusing.add(message.node_name, now)

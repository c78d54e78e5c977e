"""The scheduler: the main path, from an event to an outcome.

It is driven from outside: `apply` tells it what happened, `schedule_one` tries the pod at the head of the queue, `tick`
lets time pass. It performs no I/O, and never waits; what has to be done is returned (`moorage.engine.outcomes`).
"""

from collections import deque
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cache import Cache
from moorage.engine.cycle.decision import CycleError
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.fit_error_message import fit_error_message
from moorage.engine.cycle.scheduling_cycle import AskExtenders, Attempt, ScheduleResult, run_cycle
from moorage.engine.cycle.scoring import draw
from moorage.engine.event_handlers import POD, EventHandlers
from moorage.engine.held_pods import Hold
from moorage.engine.messages import (
    BindingFinished,
    CandidatesAnswered,
    ExtendersAnswered,
    Message,
    ProfileChanged,
    ProfileRefused,
    ProfileRemoved,
    TryAgain,
)
from moorage.engine.outcomes import (
    AskAboutVictims,
    Bind,
    CallExtenders,
    HoldReason,
    Outcome,
    SchedulingFailed,
    Skipped,
    Unschedulable,
)
from moorage.engine.preemption.post_filter import PostFilterResult, choose_among, run_post_filter
from moorage.engine.queue.queued_pod_info import QueuedPodInfo, QueueType
from moorage.engine.queue.scheduling_queue import SchedulingQueue
from moorage.framework.cluster_events import ClusterEvent, deleted
from moorage.framework.profile import Profile
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod

LEFTOVER_FLUSH_SECONDS = 30.0
"""How often pods are looked for that have waited for an event for too long."""
NOTHING_DONE = PostFilterResult(Code.UNSCHEDULABLE)


class _Turn(Struct, frozen=True):
    """A pod that is about to be tried."""

    queued: QueuedPodInfo
    profile: Profile
    answer: ExtendersAnswered | None = None
    """What extenders say of the nodes, once they have been asked."""
    left: CandidatesAnswered | None = None
    """What they leave of the candidates for preemption, once they have been asked."""

    @property
    def error(self) -> str | None:
        """Why the attempt fails, as extenders say."""
        return next((answer.error for answer in (self.answer, self.left) if answer and answer.error), None)


class Scheduler:
    """Decides where pods run. All times are seconds of one clock that never goes back."""

    def __init__(self, seed: int, profiles: Iterable[Profile] = ()) -> None:
        """Start with an empty cluster. `seed` decides between nodes that are equally good."""
        self._seed = seed
        self._profiles = {profile.name: profile for profile in profiles}
        self._cache = Cache()
        self._queue = SchedulingQueue(self._profiles)
        self._handlers = EventHandlers(self._cache, self._queue, self._profiles)
        for profile in self._profiles.values():
            if profile.settings.paused:
                self._handlers.held.explain(profile.name, Hold(HoldReason.PAUSED))
        self._asked: dict[str, _Turn] = {}
        self._answered: deque[_Turn] = deque()
        self._cycle = 0
        self._start = 0
        self._next_leftover_flush = 0.0

    # -- what happens -----------------------------------------------------------------------------------------------

    def apply(self, message: Message, now: float) -> None:
        """Take in one thing that happened."""
        match message:
            case ClusterEvent():
                self._handlers.apply(message, now)
            case BindingFinished():
                self._binding_finished(message, now)
            case ExtendersAnswered():
                self._take_up(message.pod_uid, answer=message)
            case CandidatesAnswered():
                self._take_up(message.pod_uid, left=message)
            case TryAgain(pod_uid, void_nomination):
                self._try_again(pod_uid, void_nomination, now)
            case ProfileChanged(profile):
                self._profiles[profile.name] = profile
                if profile.settings.paused:
                    self._handlers.stop_profile(profile.name, Hold(HoldReason.PAUSED))
                else:
                    self._handlers.start_profile(profile.name, now)
            case ProfileRemoved(scheduler_name):
                self._profiles.pop(scheduler_name, None)
                self._handlers.stop_profile(scheduler_name, Hold(HoldReason.NO_PROFILE))
            case ProfileRefused(scheduler_name, reason):
                self._profiles.pop(scheduler_name, None)
                self._handlers.stop_profile(scheduler_name, Hold(HoldReason.REFUSED, reason))

    def tick(self, now: float) -> None:
        """Bring back pods whose backoff is over, and those that have waited too long for an event."""
        self._queue.flush_backoff(now)
        if now >= self._next_leftover_flush:
            self._queue.flush_leftovers(now)
            self._next_leftover_flush = now + LEFTOVER_FLUSH_SECONDS

    def _binding_finished(self, message: BindingFinished, now: float) -> None:
        uid = message.pod.uid
        if message.error is None:
            self._queue.done(uid)
            return
        if self._cache.forget(uid):
            self._queue.move_on_event(deleted(POD, message.pod), now)
        queued = self._queue.find(uid)
        if queued is None:
            self._queue.done(uid)
        elif queued.place is QueueType.IN_FLIGHT:
            queued.message = message.error
            self._take_back_failed(queued, now)

    def _take_up(self, uid: str, **answer: ExtendersAnswered | CandidatesAnswered) -> None:
        """Let the attempt that waits for extenders go on with their answer; without it where the profile changed."""
        asked = self._asked.pop(uid, None)
        if asked is None:
            return
        if self._queue.find(uid) is not asked.queued:
            self._queue.done(uid)
            return
        profile = self._profiles.get(asked.profile.name)
        if profile is asked.profile:
            self._answered.append(replace(asked, **answer))
        else:
            self._answered.append(_Turn(asked.queued, profile or asked.profile))

    # -- the main path ----------------------------------------------------------------------------------------------

    def schedule_one(self, now: float) -> Outcome | None:
        """Try the pod that is due; None where no pod is. Never raises: a fault becomes `SchedulingFailed`."""
        if notice := self._handlers.held.next_notice():
            return notice
        turn = self._next_turn(now)
        if turn is None:
            return None
        self._cycle += 1
        try:
            return self._try(turn, now)
        except CycleError as failure:
            return self._failed(turn, str(failure), now)
        except Exception as fault:  # noqa: BLE001 - the border of the loop: one pod's fault must not stop the others
            return self._failed(turn, f"{type(fault).__name__}: {fault}", now)

    def _next_turn(self, now: float) -> _Turn | None:
        """Return the pod that is due; pods that extenders have answered about come first."""
        while self._answered:
            turn = self._answered.popleft()
            if self._queue.find(turn.queued.pod.uid) is turn.queued:
                return turn
            self._queue.done(turn.queued.pod.uid)
        queued = self._queue.pop(now)
        return _Turn(queued, self._profiles[queued.pod.scheduler_name]) if queued else None

    def _try(self, turn: _Turn, now: float) -> Outcome:
        pod, profile, answer = turn.queued.pod, turn.profile, turn.answer
        if pod.terminating:
            self._queue.done(pod.uid)
            return Skipped(pod=pod, profile=profile, message=f"skip schedule deleting pod: {pod.key}")
        if turn.error:
            raise CycleError(turn.error)
        attempt = Attempt(
            profile=profile,
            pod=pod,
            snapshot=self._cache.snapshot,
            seed=self._seed,
            cycle=self._cycle,
            start=self._start,
            asks_extenders=_has_say(profile, pod, "filter_verb", "prioritize_verb"),
            answer=answer,
        )
        result = run_cycle(attempt)
        match result:
            case ScheduleResult():
                return self._bind(turn, result)
            case FitError():
                return self._refuse(turn, result, now)
            case AskExtenders(node_names):
                self._asked[pod.uid] = turn
                return CallExtenders(pod=pod, profile=profile, node_names=node_names)

    def _bind(self, turn: _Turn, chosen: ScheduleResult) -> Bind:
        """Assume the pod on the chosen node."""
        queued, decision = turn.queued, chosen.decision
        snapshot = self._cache.snapshot
        intents = _reserve(turn.profile, chosen, snapshot)
        self._start = (self._start + chosen.evaluated) % snapshot.size
        assumed = self._cache.assume(queued.pod, decision.node_name, intents)
        self._cache.nominator.remove(assumed.uid)
        return Bind(
            pod=assumed,
            node_name=decision.node_name,
            profile=turn.profile,
            intents=intents,
            decision=decision,
            attempts=queued.attempts,
            first_attempt_at=queued.first_attempt_at or 0.0,
        )

    def _refuse(self, turn: _Turn, refusal: FitError, now: float) -> Unschedulable | AskAboutVictims:
        """Look for a way to make room, and let the pod wait."""
        queued, profile = turn.queued, turn.profile
        post = self._post_filter(turn, refusal)
        if post.victims and turn.left is None and _has_say(profile, queued.pod, "preempt_verb"):
            self._asked[queued.pod.uid] = turn
            candidates = post.search.candidates if post.search else ()
            return AskAboutVictims(pod=queued.pod, profile=profile, candidates=candidates)
        diagnosis = replace(refusal.diagnose(), post_filter_message=post.message)
        message = fit_error_message(diagnosis)
        displaced = self._displace(queued.pod, post.nominated_node_name)
        nominated = self._nominate(queued, post.nominated_node_name)
        unchanged = queued.message == message
        queued.message = message
        # Without nodes nobody rejected the pod; whatever plugin may let it onto the first node that comes wakes it.
        rejectors = diagnosis.unschedulable_plugins or frozenset(plugin.name for plugin in profile.filter)
        rejectors |= post.rejectors
        if self._handlers.is_live(queued.pod.scheduler_name):
            self._queue.reject(queued, rejectors, diagnosis.pending_plugins, now)
        else:
            self._hold(queued)
        return Unschedulable(
            pod=queued.pod,
            profile=profile,
            message=message,
            diagnosis=diagnosis,
            nominated_node_name=nominated,
            victims=post.victims,
            displaced=displaced,
            attempts=queued.attempts,
            unchanged=unchanged,
        )

    def _post_filter(self, turn: _Turn, refusal: FitError) -> PostFilterResult:
        if not refusal.snapshot.size:
            return NOTHING_DONE
        chance = draw(self._seed, self._cycle)
        if turn.left is not None:
            strict = turn.profile.settings.strict_preemption
            return choose_among(turn.left.candidates, refusal, chance, strict=strict)
        return run_post_filter(turn.profile, refusal, chance) or NOTHING_DONE

    def _failed(self, turn: _Turn, message: str, now: float) -> SchedulingFailed:
        queued = turn.queued
        unchanged = queued.message == message
        queued.message = message
        self._take_back_failed(queued, now)
        return SchedulingFailed(
            pod=queued.pod, profile=turn.profile, message=message, attempts=queued.attempts, unchanged=unchanged
        )

    def _take_back_failed(self, queued: QueuedPodInfo, now: float) -> None:
        """Try the pod again after its backoff. A nomination is void: it did not help."""
        self._nominate(queued, "")
        if self._handlers.is_live(queued.pod.scheduler_name):
            self._queue.fail(queued, now)
        else:
            self._hold(queued)

    def _hold(self, queued: QueuedPodInfo) -> None:
        """Hold a pod whose profile was paused or removed during its attempt."""
        self._queue.done(queued.pod.uid)
        self._handlers.hold(queued.pod)

    def _nominate(self, queued: QueuedPodInfo, node_name: str | None) -> str | None:
        """Nominate a pod to a node, or to none; return what the API server has to be told."""
        pod = queued.pod
        if node_name is None or node_name == pod.nominated_node_name:
            return None
        queued.pod = replace(pod, nominated_node_name=node_name)
        self._cache.nominator.nominate(queued.pod, node_name)
        return node_name

    def _try_again(self, uid: str, void_nomination: str, now: float) -> None:
        """Try a pod again; the room is free for others that a nomination held which came to nothing."""
        queued = self._queue.find(uid)
        if queued is not None and void_nomination:
            if self._cache.nominator.node_of(uid) == void_nomination:
                self._nominate(queued, "")
            # It may have been taken back before this, by the pod's own update, which wakes nobody.
            self._queue.move_on_event(deleted(POD, queued.pod), now)
        self._queue.retry(uid, now)

    def _displace(self, pod: Pod, node_name: str | None) -> list[Pod]:
        """Take back the nominations of pods of lower priority to a node that a pod is about to be nominated to."""
        if not node_name:
            return []
        displaced = [other for other in self._cache.nominator.pods_on(node_name) if other.priority < pod.priority]
        for other in displaced:
            self._cache.nominator.remove(other.uid)
            queued = self._queue.find(other.uid)
            if queued is not None:
                queued.pod = replace(queued.pod, nominated_node_name="")
        return displaced

    # -- what is asked ----------------------------------------------------------------------------------------------

    def next_wakeup(self, now: float) -> float | None:
        """Return when `tick` next has something to do, None for never; `now` where a pod is due already."""
        if self._handlers.held.has_notices or self._answered or self._queue.is_due():
            return now
        times = [self._queue.next_backoff_expiry()]
        if self._queue.has_unschedulable():
            times.append(self._next_leftover_flush)
        return min((time for time in times if time is not None), default=None)

    def pending_pods(self) -> Mapping[str, int]:
        """Return the number of waiting pods by queue: active, backoff, unschedulable, gated; and those in flight."""
        return self._queue.counts()

    def pending_pods_by_profile(self) -> Mapping[str, Mapping[str, int]]:
        """Return the same by schedulerName, and `held` for those that nobody tries."""
        counts: dict[str, dict[str, int]] = {
            name: dict(places) for name, places in self._queue.counts_by_profile().items()
        }
        for name, held in self._handlers.held.counts().items():
            counts.setdefault(name, {})["held"] = held
        return counts

    def unschedulable_pods(self) -> Mapping[tuple[str, str], int]:
        """Return the number of rejected pods by plugin and schedulerName; a pod counts for each of its rejectors."""
        return self._queue.rejections()

    def stuck_pods(self, now: float, seconds: float) -> Mapping[str, float]:
        """Return the pods that have been ready for longer than `seconds` without an attempt, and for how long."""
        stuck = self._queue.ready_since_before(now - seconds)
        return {queued.pod.key: now - queued.ready_at for queued in stuck}

    def cache_size(self) -> Mapping[str, int]:
        """Return the numbers of nodes, pods and assumed_pods that decisions are made with."""
        cache = self._cache
        return {"nodes": cache.snapshot.size, "pods": cache.pod_count, "assumed_pods": cache.assumed_count}

    def held_pods(self, scheduler_name: str) -> tuple[Pod, ...]:
        """Return the pods that wait because their profile is gone, paused, refused, or has never been there."""
        return self._handlers.held.of(scheduler_name)

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The live profiles by schedulerName."""
        return MappingProxyType(self._profiles)

    @property
    def snapshot(self) -> Snapshot:
        """The cluster as the next cycle sees it; valid until something is applied, or scheduled."""
        return self._cache.snapshot


def _has_say(profile: Profile, pod: Pod, *verbs: str) -> bool:
    """Whether some extender has one of the verbs, and is interested in pods like this one."""
    for extender in profile.settings.extenders:
        if not any(getattr(extender, verb) for verb in verbs):
            continue
        managed = {resource.name for resource in extender.managed_resources}
        if not managed or managed & pod.shape.limit_names:
            return True
    return False


def _reserve(profile: Profile, chosen: ScheduleResult, snapshot: Snapshot) -> tuple[object, ...]:
    """Ask the Reserve plugins what has to be written; those that PreFilter left out have nothing to say."""
    found = chosen.found
    asked = [plugin for plugin in profile.reserve if plugin in found.states or plugin not in profile.pre_filter]
    if not asked:
        return ()
    position = snapshot.position(chosen.decision.node_name)
    node = NodesView(snapshot, np.array([position], np.int64))
    return tuple(intent for plugin in asked for intent in plugin.reserve(found.states.get(plugin), found.pod, node))

"""Attempts that wait for the answers of extenders, and attempts that continue with an answer.

The engine performs no I/O, so it returns the question to the extenders as an outcome. The pod stays in flight. When the
answer arrives, the engine starts the attempt again from the beginning, with the answer, before it tries another pod.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from moorage.engine.messages import CandidatesAnswered, ExtendersAnswered
from moorage.engine.queue.queued_pod_info import QueuedPodInfo
from moorage.engine.queue.scheduling_queue import SchedulingQueue
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod

MAX_ASKED = 2000
"""The attempts of a profile that may wait for answers. In a cluster of 5,000 nodes, each holds 40 kB of names."""
TOO_MANY_ASKED = f"{MAX_ASKED} pods already wait for the answers of the profile's extenders; the pod is tried again"


class Attempt(Struct, frozen=True):
    """An attempt to schedule a pod."""

    queued: QueuedPodInfo
    profile: Profile
    answer: ExtendersAnswered | None = None
    """The extenders' answer about nodes; None if they have not been asked yet."""
    candidates: CandidatesAnswered | None = None
    """The extenders' answer about candidates for preemption; None if they have not been asked yet."""

    @property
    def error(self) -> str | None:
        """The extender's error that fails the attempt, or None."""
        return next((answer.error for answer in (self.answer, self.candidates) if answer and answer.error), None)


class PendingExtenders:
    """Attempts that wait for an answer, by pod uid, and attempts that can continue, in the order of their answers."""

    def __init__(self, queue: SchedulingQueue, profiles: Mapping[str, Profile]) -> None:
        """Read from `queue` and `profiles`, a live mapping, whether a waiting attempt is still valid."""
        self._queue = queue
        self._profiles = profiles
        self._asked: dict[str, Attempt] = {}
        self._count_by_profile: Counter[str] = Counter()
        self._answered: deque[Attempt] = deque()

    @property
    def has_answered(self) -> bool:
        """Whether an attempt can continue."""
        return bool(self._answered)

    def has_room(self, profile: Profile) -> bool:
        """Return whether one more attempt of a profile may wait for an answer."""
        return self._count_by_profile[profile.name] < MAX_ASKED

    def is_asked(self, uid: str) -> bool:
        """Return whether the attempt of a pod waits for an answer."""
        return uid in self._asked

    def ask(self, attempt: Attempt) -> None:
        """Keep an attempt until the answer arrives."""
        self._asked[attempt.queued.pod.uid] = attempt
        self._count_by_profile[attempt.profile.name] += 1

    def resume(self, message: ExtendersAnswered | CandidatesAnswered) -> None:
        """Continue the attempt that waits for this answer; if the profile has changed, drop the answer."""
        attempt = self._asked.pop(message.pod_uid, None)
        if attempt is None:
            return
        self._forget(attempt.profile.name)
        if not self._is_queued(attempt):
            return
        profile = self._profiles.get(attempt.profile.name)
        if profile is not attempt.profile:
            attempt = Attempt(attempt.queued, profile or attempt.profile)
        elif isinstance(message, ExtendersAnswered):
            attempt = replace(attempt, answer=message)
        else:
            attempt = replace(attempt, candidates=message)
        self._answered.append(attempt)

    def next_answered(self) -> Attempt | None:
        """Remove and return the first attempt that can continue, or return None."""
        while self._answered:
            attempt = self._answered.popleft()
            if self._is_queued(attempt):
                return attempt
        return None

    def state(self) -> tuple[list[Attempt], list[Attempt]]:
        """Return the attempts that wait, and the attempts that can continue."""
        return list(self._asked.values()), list(self._answered)

    def restore(self, asked: Iterable[Attempt], answered: Iterable[Attempt]) -> None:
        """Add the attempts that `state` has returned."""
        for attempt in asked:
            self.ask(attempt)
        self._answered = deque(answered)

    def _forget(self, profile_name: str) -> None:
        self._count_by_profile[profile_name] -= 1
        if not self._count_by_profile[profile_name]:
            del self._count_by_profile[profile_name]

    def _is_queued(self, attempt: Attempt) -> bool:
        """Return whether the pod of an attempt is still in the queue. If it is not, end the attempt."""
        uid = attempt.queued.pod.uid
        if self._queue.find(uid) is attempt.queued:
            return True
        self._queue.done(uid)
        return False


def must_ask_about_nodes(profile: Profile, pod: Pod) -> bool:
    """Return whether an extender that is interested in the pod filters or prioritizes nodes."""
    extenders = profile.settings.extenders
    return bool(extenders) and any(
        (extender.filter_verb or extender.prioritize_verb) and extender.is_interested(pod.shape.limit_names)
        for extender in extenders
    )


def must_ask_about_candidates(profile: Profile, pod: Pod) -> bool:
    """Return whether an extender that is interested in the pod has a preemptVerb."""
    extenders = profile.settings.extenders
    return any(extender.preempt_verb and extender.is_interested(pod.shape.limit_names) for extender in extenders)

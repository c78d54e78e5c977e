"""Calls extenders for the engine and the binder. Keeps the extenders of each profile and the state of their health.

Each call runs in a separate task, so that a slow extender delays only the pods of its profile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from moorage.api.extender import Extender
from moorage.engine.candidate import Candidate
from moorage.engine.messages import CandidatesAnswered, ExtendersAnswered
from moorage.engine.outcomes import AskAboutVictims, CallExtenders
from moorage.errors import MoorageError
from moorage.framework.profile import Profile
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.runtime.degradation import Degradation, ReadyStatus
from moorage.runtime.extenders.circuit_breaker import BreakerState
from moorage.runtime.extenders.extender_connection import without_user
from moorage.runtime.extenders.extender_context import ExtenderContext, ExtenderLimits
from moorage.runtime.extenders.profile_extenders import ExtenderHealth, ProfileExtenders

logger = logging.getLogger(__name__)

STEP_IF_NEEDED = "fix it, or set `ignorable: true` to schedule without it; until then, pods that need it are retried"
STEP_IF_IGNORABLE = "fix it; until then, pods are scheduled without it, because it is ignorable"
STEP_IF_NOT_CALLED_AGAIN = "it may work again now; the next pod that needs it calls it"


class ExtenderDispatcher:
    """Calls extenders and posts their answers to the engine."""

    def __init__(
        self,
        context: ExtenderContext,
        limits: ExtenderLimits,
        nodes: Mapping[str, Node],
        candidate_of: Callable[[Pod, str, Sequence[str]], Candidate],
        post: Callable[[ExtendersAnswered | CandidatesAnswered], None],
    ) -> None:
        """`nodes` are the objects to send, by name. `candidate_of` checks the victims that an extender chooses."""
        self._context = context
        self._limits = limits
        self._nodes = nodes
        self._candidate_of = candidate_of
        self._post = post
        self._kept: dict[str, _KeptExtenders] = {}
        self._queue: asyncio.Queue[CallExtenders | AskAboutVictims] = asyncio.Queue()

    def submit(self, outcome: CallExtenders | AskAboutVictims) -> None:
        """Queue a call of the extenders of the outcome's profile."""
        self._queue.put_nowait(outcome)

    async def run(self) -> None:
        """Call extenders until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(self._work(await self._queue.get()))

    def binds(self, profile: Profile, pod: Pod) -> bool:
        """Return whether one of the profile's extenders binds this pod."""
        extenders = profile.settings.extenders
        return any(one.bind_verb and one.is_interested(pod.shape.limit_names) for one in extenders)

    def binding_turns(self, profile: Profile) -> asyncio.Semaphore:
        """Return the semaphore that limits how many pods of the profile are bound by extenders at once."""
        return self._keep(profile).binding_turns

    async def bind(self, profile: Profile, pod: Pod, node_name: str) -> bool:
        """Let an extender of the profile that has a bindVerb bind the pod. Return whether an extender bound the pod.

        Raises a MoorageError as `ProfileExtenders.bind` does.
        """
        if not any(extender.bind_verb for extender in profile.settings.extenders):
            return False
        return await self.extenders_of(profile).bind(pod, node_name)

    def extenders_of(self, profile: Profile) -> ProfileExtenders:
        """Return the profile's extenders; they keep their health until their configuration changes."""
        return self._keep(profile).extenders

    def keep_profiles(self, profiles: Mapping[str, Profile]) -> None:
        """Forget the extenders of all other profiles, with their health and their metrics."""
        self._kept = {name: kept for name, kept in self._kept.items() if name in profiles}
        addresses = {
            without_user(extender.url_prefix)
            for profile in profiles.values()
            for extender in profile.settings.extenders
        }
        self._context.metrics.keep_extenders(addresses)

    def degradations(self, profile: Profile) -> Sequence[Degradation]:
        """Return a degradation for each extender of the profile that fails."""
        if not profile.settings.extenders:
            return ()
        return [
            _degradation(name, health, is_ignorable=_is_ignorable(name, profile))
            for name, health in self.extenders_of(profile).health().items()
            if health.error or health.state is not BreakerState.CLOSED
        ]

    def _keep(self, profile: Profile) -> _KeptExtenders:
        configurations = profile.settings.extenders
        kept = self._kept.get(profile.name)
        if kept is None or kept.configurations != configurations:
            extenders = ProfileExtenders(configurations, self._context, self._limits)
            turns, binding_turns = (asyncio.Semaphore(self._limits.parallelism) for _ in range(2))
            kept = self._kept[profile.name] = _KeptExtenders(configurations, extenders, turns, binding_turns)
        return kept

    async def _work(self, outcome: CallExtenders | AskAboutVictims) -> None:
        try:
            answer = await (self._call(outcome) if isinstance(outcome, CallExtenders) else self._preempt(outcome))
        except Exception as error:  # a bug must not stop other pods
            logger.exception("Calling the extenders for pod %s failed with a bug; please report it", outcome.pod.key)
            answer = _failed(outcome, f"{type(error).__name__}: {error}")
        self._post(answer)

    async def _call(self, outcome: CallExtenders) -> ExtendersAnswered:
        kept = self._keep(outcome.profile)
        async with kept.turns:
            nodes = {name: self._nodes[name] for name in outcome.node_names if name in self._nodes}
            return await kept.extenders.filter_and_prioritize(outcome.pod, nodes)

    async def _preempt(self, outcome: AskAboutVictims) -> ExtendersAnswered | CandidatesAnswered:
        kept = self._keep(outcome.profile)
        candidate_of = partial(self._candidate_of, outcome.pod)
        async with kept.turns:
            try:
                candidates = await kept.extenders.preempt(outcome.pod, outcome.candidates, candidate_of)
            except MoorageError as error:
                return _failed(outcome, str(error))
        return CandidatesAnswered(pod_uid=outcome.pod.uid, candidates=tuple(candidates))


@dataclass(slots=True)
class _KeptExtenders:
    """The extenders of a profile. They are replaced when the profile's configuration of extenders changes."""

    configurations: tuple[Extender, ...]
    extenders: ProfileExtenders
    turns: asyncio.Semaphore
    """Limits how many requests exist at once, because a request may contain thousands of nodes or whole pods."""
    binding_turns: asyncio.Semaphore


def _degradation(name: str, health: ExtenderHealth, *, is_ignorable: bool) -> Degradation:
    """Return the error and the next step.

    If the breaker is half-open, the next pod that needs the extender causes a call.
    """
    ready: ReadyStatus
    step, ready = (STEP_IF_IGNORABLE, "True") if is_ignorable else (STEP_IF_NEEDED, "False")
    if health.state is BreakerState.HALF_OPEN:
        step, ready = STEP_IF_NOT_CALLED_AGAIN, "True" if is_ignorable else "Unknown"
    return Degradation("ExtenderFailing", f"extender {name} fails: {health.error}; {step}", name, ready)


def _is_ignorable(name: str, profile: Profile) -> bool:
    """Return whether all entries with this address are ignorable."""
    extenders = profile.settings.extenders
    return all(extender.ignorable for extender in extenders if without_user(extender.url_prefix) == name)


def _failed(outcome: CallExtenders | AskAboutVictims, error: str) -> ExtendersAnswered | CandidatesAnswered:
    answer = ExtendersAnswered if isinstance(outcome, CallExtenders) else CandidatesAnswered
    return answer(pod_uid=outcome.pod.uid, error=error)

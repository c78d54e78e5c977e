"""Where outcomes meet extenders: each live profile's are kept with their health, and asked in the background.

One profile's hanging extenders hold up that profile's pods alone: everything here runs in tasks of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from moorage.api.extender import Extender
from moorage.engine.messages import CandidatesAnswered, ExtendersAnswered, Message
from moorage.engine.outcomes import AskAboutVictims, CallExtenders
from moorage.errors import MoorageError
from moorage.framework.profile import Profile
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.runtime.binder import Writer
from moorage.runtime.degradation import Degradation
from moorage.runtime.extenders.circuit_breaker import BreakerState
from moorage.runtime.extenders.extender_connection import without_user
from moorage.runtime.extenders.extender_context import ExtenderContext, ExtenderLimits
from moorage.runtime.extenders.profile_extenders import ExtenderHealth, ProfileExtenders

logger = logging.getLogger(__name__)

NEXT_STEP = "mend it, or set `ignorable: true` to do without; pods that need it are tried again until then"
DONE_WITHOUT = "mend it; pods are scheduled without it until then, as it is ignorable"
NOT_CALLED_SINCE = "it has not been called again since, so it may be back; the next pod that needs it finds out"


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What extenders are told of."""

    nodes: Mapping[str, Node]
    pods_on: Callable[[str], Iterable[Pod]]
    """The pods that are on a node, by its name."""


@dataclass(slots=True)
class _Kept:
    """The caller of a profile's extenders, as long as the profile has just these."""

    extenders: tuple[Extender, ...]
    caller: ProfileExtenders
    turns: asyncio.Semaphore
    """So that a question, which names thousands of nodes, is only put together when it is about to be asked."""


class ExtenderDispatcher:
    """Asks extenders, and knows how they do."""

    def __init__(
        self,
        ports: ExtenderContext,
        limits: ExtenderLimits,
        cluster: ClusterView,
        post: Callable[[Message], None],
    ) -> None:
        """Describe the cluster from `cluster`, and leave answers by `post`."""
        self._ports = ports
        self._limits = limits
        self._nodes = cluster.nodes
        self._pods_on = cluster.pods_on
        self._post = post
        self._kept: dict[str, _Kept] = {}
        self._queue: asyncio.Queue[CallExtenders | AskAboutVictims] = asyncio.Queue()

    def submit(self, outcome: CallExtenders | AskAboutVictims) -> None:
        """Have a pod's extenders asked."""
        self._queue.put_nowait(outcome)

    async def run(self) -> None:
        """Ask until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(self._work(await self._queue.get()))

    def caller(self, profile: Profile) -> ProfileExtenders:
        """Return the caller of a profile's extenders; an edit that leaves them alone keeps their health."""
        return self._keep(profile).caller

    def degradations(self, profile: Profile) -> Sequence[Degradation]:
        """Say which of a profile's extenders fail."""
        if not profile.settings.extenders:
            return ()
        return [
            Degradation("ExtenderFailing", _words(name, health, is_ignorable=_is_ignorable(name, profile)))
            for name, health in self.caller(profile).health().items()
            if health.error or health.state is not BreakerState.CLOSED
        ]

    def _keep(self, profile: Profile) -> _Kept:
        extenders = profile.settings.extenders
        kept = self._kept.get(profile.name)
        if kept is None or kept.extenders != extenders:
            caller = ProfileExtenders(extenders, self._ports, self._limits)
            kept = self._kept[profile.name] = _Kept(extenders, caller, asyncio.Semaphore(self._limits.parallelism))
        return kept

    async def _work(self, outcome: CallExtenders | AskAboutVictims) -> None:
        try:
            answer = await (self._ask(outcome) if isinstance(outcome, CallExtenders) else self._ask_about(outcome))
        except Exception as fault:  # the border of the task: a fault must not cost the other pods
            logger.exception("Asking the extenders about pod %s failed in an unforeseen way", outcome.pod.key)
            answer = _failed(outcome, f"{type(fault).__name__}: {fault}")
        self._post(answer)

    async def _ask(self, outcome: CallExtenders) -> Message:
        kept = self._keep(outcome.profile)
        async with kept.turns:
            nodes = {name: self._nodes[name] for name in outcome.node_names if name in self._nodes}
            return await kept.caller.ask(outcome.pod, nodes)

    async def _ask_about(self, outcome: AskAboutVictims) -> Message:
        caller = self.caller(outcome.profile)
        try:
            left = await caller.preempt(outcome.pod, outcome.candidates, self._pods_on)
        except MoorageError as error:
            return _failed(outcome, str(error))
        return CandidatesAnswered(pod_uid=outcome.pod.uid, candidates=tuple(left))


def _words(name: str, health: ExtenderHealth, *, is_ignorable: bool) -> str:
    """Say how an extender fails. Nobody calls it to see whether it is back: only a pod that needs it does."""
    step = DONE_WITHOUT if is_ignorable else NEXT_STEP
    if health.state is BreakerState.HALF_OPEN:
        step = NOT_CALLED_SINCE
    return f"extender {name} fails: {health.error}; {step}"


def _is_ignorable(name: str, profile: Profile) -> bool:
    """Whether pods can do without all that is at an address."""
    extenders = profile.settings.extenders
    return all(extender.ignorable for extender in extenders if without_user(extender.url_prefix) == name)


def _failed(outcome: CallExtenders | AskAboutVictims, error: str) -> Message:
    answer = ExtendersAnswered if isinstance(outcome, CallExtenders) else CandidatesAnswered
    return answer(pod_uid=outcome.pod.uid, error=error)


class ExtendedWriter:
    """Binds through the extender that binds, where a pod's profile has one that is interested; else as everybody."""

    def __init__(self, writer: Writer, desk: ExtenderDispatcher, profiles: Callable[[], Mapping[str, Profile]]) -> None:
        """Fall back on `writer`."""
        self._writer = writer
        self._desk = desk
        self._profiles = profiles

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod, or raise a MoorageError when it was certainly not bound."""
        profile = self._profiles().get(pod.scheduler_name)
        has_binder = profile and any(extender.bind_verb for extender in profile.settings.extenders)
        if not (profile and has_binder and await self._desk.caller(profile).bind(pod, node_name)):
            await self._writer.bind(pod, node_name)

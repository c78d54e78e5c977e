"""Asks extenders on the engine's behalf: takes its questions, posts the answers, and never makes the loop wait.

Every profile has a caller of its own, so that one whose extenders hang holds up nobody else's pods.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from moorage.engine.inbox import ExtendersAnswered
from moorage.runtime.extender import ExtenderCaller

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from moorage.api.extender import Extender
    from moorage.engine.outcomes import CallExtenders
    from moorage.framework.profile import Profile
    from moorage.model.node import Node
    from moorage.model.pod import Pod
    from moorage.runtime.extender import ExtenderHealth
    from moorage.runtime.extender_ports import ExtenderLimits, ExtenderPorts

logger = logging.getLogger(__name__)


class Writer(Protocol):
    """Binds pods itself."""

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod, or raise a MoorageError."""


class ExtenderCalls:
    """The extenders of all profiles."""

    def __init__(
        self,
        ports: ExtenderPorts,
        limits: ExtenderLimits,
        nodes: Mapping[str, Node],
        post: Callable[[ExtendersAnswered], None],
    ) -> None:
        """Look nodes up in `nodes`, the informer's, and hand answers to `post`."""
        self._ports = ports
        self._limits = limits
        self._nodes = nodes
        self._post = post
        self._callers: dict[str, tuple[tuple[Extender, ...], ExtenderCaller]] = {}
        self._questions: asyncio.Queue[CallExtenders] = asyncio.Queue()

    def caller(self, profile: Profile) -> ExtenderCaller:
        """Return the profile's caller; one lasts, breakers and all, as long as the extenders stay what they are."""
        extenders = profile.settings.extenders
        known = self._callers.get(profile.name)
        if known is not None and known[0] == extenders:
            return known[1]
        caller = ExtenderCaller(extenders, self._ports, self._limits)
        self._callers[profile.name] = extenders, caller
        return caller

    def health(self, profile: Profile) -> Mapping[str, ExtenderHealth]:
        """Return the health of the profile's extenders by urlPrefix."""
        return self.caller(profile).health()

    def submit(self, outcome: CallExtenders) -> None:
        """Ask, and post the answer, whatever becomes of it."""
        self._questions.put_nowait(outcome)

    async def run(self) -> None:
        """Ask until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(self._answer(await self._questions.get()))

    async def _answer(self, outcome: CallExtenders) -> None:
        try:
            answer = await self._ask(outcome)
        except Exception as error:  # the border of the task: a fault must not leave the pod in flight for ever
            logger.exception("Asking extenders about pod %s failed in an unforeseen way", outcome.pod.key)
            answer = ExtendersAnswered(pod_uid=outcome.pod.uid, error=f"{type(error).__name__}: {error}")
        self._post(answer)

    async def _ask(self, outcome: CallExtenders) -> ExtendersAnswered:
        # A node that is gone by now is not kept; the engine does not know it either when it comes back to the pod.
        nodes = {name: node for name in outcome.node_names if (node := self._nodes.get(name)) is not None}
        return await self.caller(outcome.profile).ask(outcome.pod, nodes)


class ExtenderBinding:
    """Has the profile's extender bind a pod where there is one for it, and binds it otherwise."""

    def __init__(self, calls: ExtenderCalls, profiles: Callable[[], Mapping[str, Profile]], default: Writer) -> None:
        """Look the live profiles up by schedulerName, and leave to `default` what no extender binds."""
        self._calls = calls
        self._profiles = profiles
        self._default = default

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod. Raises ExtenderError when its extender did not, or as the default does."""
        profile = self._profiles().get(pod.scheduler_name)
        is_bound = profile is not None and await self._calls.caller(profile).bind(pod, node_name)
        if not is_bound:
            await self._default.bind(pod, node_name)

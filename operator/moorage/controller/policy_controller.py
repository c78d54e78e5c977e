"""PolicyController: updates the engine's profiles when SchedulingPolicies change.

    PolicyWatch, in kopf's thread --receive--> PolicyStore --> ProfileChanged, ProfileRemoved, ProfileRefused --> engine
    PolicyPoll --receive, and resync with a list--^   `--> states --> PolicyAnnouncer, StatusReporter

Scheduling waits for the first list. Later lists, every minute and after a failed watch, find what the watches missed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from moorage.controller.policies import PolicyStore
from moorage.controller.policy_announcer import PolicyAnnouncer
from moorage.controller.policy_state import PolicyChanges
from moorage.controller.seen_versions import SeenVersions
from moorage.controller.status_reporter import StatusReporter
from moorage.engine.messages import Message, ProfileChanged, ProfileRefused, ProfileRemoved
from moorage.errors import ApiError, ApiUnreachable, NotFound
from moorage.runtime.client.reachability import level_of
from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

EventReceiver = Callable[[str, Mapping[str, Any]], None]
"""Takes the type of an event and the object."""

LIST_AGAIN_SECONDS = 1.0
"""The pause after a failed list. It is short, because scheduling waits for the first list."""
GONE_SECONDS = 60.0
"""The time without the CRD after which its policies count as deleted. A started API server needs some seconds to serve
the CRD."""


class PolicyController:
    """The controller of SchedulingPolicies. It passes their changes to the engine and to users, in one event loop."""

    def __init__(
        self,
        store: PolicyStore,
        post: Callable[[Message], None],
        announcer: PolicyAnnouncer,
        reporter: StatusReporter,
        clock: Clock,
    ) -> None:
        """Send the messages for the engine to `post`."""
        self.has_synced = False
        """Whether all policies of the cluster are known."""
        self._seen = SeenVersions()
        self._store = store
        self._post = post
        self._announcer = announcer
        self._reporter = reporter
        self._clock = clock

    def receive(self, type_: str, manifest: Mapping[str, Any]) -> None:
        """Process an event of one of the two watches. Ignore it if the other watch has already reported it."""
        if not self._seen.is_new(manifest):
            return
        change = self._store.remove if type_ == "DELETED" else self._store.replace
        self._pass_on(change(manifest))

    async def run(
        self,
        list_policies: Callable[[], Awaitable[list[dict[str, Any]]]],
        follow: Callable[[float], Awaitable[None]],
        first_listed: Callable[[], None],
        resync_seconds: float,
    ) -> None:
        """List the policies, `follow` their changes for `resync_seconds`, and repeat both until cancelled.

        Call `first_listed` after the first list.
        """
        failure: type[Exception] | None = None
        failed_at = 0.0
        is_first = True
        while True:
            try:
                manifests = await self._prepared(await list_policies())
            except (ApiError, ApiUnreachable) as error:
                if failure is not type(error):
                    _log_failure(error)
                    failed_at = self._clock.monotonic()
                failure = type(error)
                if isinstance(error, NotFound) and self._clock.monotonic() - failed_at >= GONE_SECONDS:
                    self._pass_on(self._store.resync([]))
                # Without the CRD there are no policies. The profiles of the configuration file do not need them.
                self.has_synced = self.has_synced or isinstance(error, NotFound)
            else:
                if failure is not None:
                    _log_recovery(failure)
                failure = None
                self._seen.listed(manifests)
                self._pass_on(self._store.resync(manifests))
                self.has_synced = True
                if is_first:
                    is_first = False
                    first_listed()
            await (self._clock.sleep(LIST_AGAIN_SECONDS) if failure else follow(resync_seconds))

    async def _prepared(self, manifests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Compile a list of policies. Let other tasks run after each policy, because a thousand take seconds."""
        for manifest in manifests:
            if self._store.prepare(manifest):
                await asyncio.sleep(0)
        return manifests

    def _pass_on(self, changes: PolicyChanges) -> None:
        for profile in changes.profiles:
            self._post(ProfileChanged(profile))
        for scheduler_name in changes.removed:
            self._post(ProfileRemoved(scheduler_name))
        for scheduler_name, message in changes.refused.items():
            self._post(ProfileRefused(scheduler_name, message))
        self._announcer.announce(changes)
        self._reporter.states_changed(changes.states)


def receiver_in(loop: asyncio.AbstractEventLoop, receive: EventReceiver) -> EventReceiver:
    """Return a receiver for other threads, which passes each event to `receive` in `loop`.

    The receiver passes one event in each turn of the loop, because compiling a policy takes milliseconds, and a
    thousand events can arrive at once.
    """
    waiting: deque[tuple[str, Mapping[str, Any]]] = deque()

    def pass_next() -> None:
        try:
            receive(*waiting[0])
        finally:
            waiting.popleft()
            if waiting:
                loop.call_soon(pass_next)

    def add(type_: str, manifest: Mapping[str, Any]) -> None:
        waiting.append((type_, manifest))
        if len(waiting) == 1:
            loop.call_soon(pass_next)

    def receive_in_thread(type_: str, manifest: Mapping[str, Any]) -> None:
        loop.call_soon_threadsafe(add, type_, manifest)

    return receive_in_thread


def _log_failure(error: ApiError | ApiUnreachable) -> None:
    if isinstance(error, NotFound):
        logger.warning("The CRD of SchedulingPolicy is not installed; run `moorage crd | kubectl apply -f -`")
    else:
        message = "SchedulingPolicies cannot be listed, trying again every %g s: %s"
        logger.log(level_of(error), message, LIST_AGAIN_SECONDS, error)


def _log_recovery(failure: type[Exception]) -> None:
    if issubclass(failure, NotFound):
        logger.info("The CRD of SchedulingPolicy is installed; policies are read from now on")
    elif not issubclass(failure, ApiUnreachable):  # `Reachability` logs the recovery of the connection
        logger.info("SchedulingPolicies can be listed again")

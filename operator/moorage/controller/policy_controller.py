"""PolicyController: updates the engine's profiles when SchedulingPolicies change.

    PolicyWatch, in kopf's thread --receive--> PolicyStore --> ProfileChanged, ProfileRemoved, ProfileRefused --> engine
    PolicyPoll --receive, and resync with a list--^   `--> states --> PolicyAnnouncer, StatusReporter

Scheduling waits for the first list. The controller lists again every minute and after a failed watch, to find changes
that the watches missed.

Compiling a policy takes up to 60 ms. So each event waits in a queue, and a pause follows the work. If a user changes
policies in a loop, only policies are slowed down, not the scheduling.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from moorage.controller.policies import PolicyStore
from moorage.controller.policy_announcer import PolicyAnnouncer
from moorage.controller.policy_state import PolicyChanges
from moorage.controller.resource_version import identity
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
BUSY_SECONDS = 0.005
"""After this time of work, the controller pauses."""
PAUSE_SHARE = 2.0
"""The ratio of a pause to the work before it. So policies use at most a third of the event loop's time."""
GONE_SECONDS = 60.0
"""If the CRD is missing for this time, all policies count as deleted. After its start, an API server needs some seconds
to serve the CRD."""


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
        self._waiting: dict[str, tuple[str, Mapping[str, Any]]] = {}
        """The newest event of each policy that is not processed yet, by uid."""
        self._arrived = asyncio.Event()
        self._turn = asyncio.Lock()
        """Locked from the start of a list to the end of its processing. Events wait, because they may be newer than the
        list."""
        self._busy_seconds = 0.0
        self._store = store
        self._post = post
        self._announcer = announcer
        self._reporter = reporter
        self._clock = clock

    def receive(self, type_: str, manifest: Mapping[str, Any]) -> None:
        """Queue an event of one of the two watches. Ignore it if the other watch has already reported it."""
        if self._seen.is_new(manifest):
            self._waiting[identity(manifest)[0]] = type_, manifest
            self._arrived.set()

    async def run(
        self,
        list_policies: Callable[[], Awaitable[list[dict[str, Any]]]],
        follow: Callable[[float], Awaitable[None]],
        first_listed: Callable[[], None],
        resync_seconds: float,
    ) -> None:
        """List the policies, `follow` their changes for `resync_seconds`, and repeat both until cancelled.

        Call `first_listed` after the first list. Process the received events at the same time.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._process_events())
            await self._list_and_follow(list_policies, follow, first_listed, resync_seconds)

    async def _list_and_follow(
        self,
        list_policies: Callable[[], Awaitable[list[dict[str, Any]]]],
        follow: Callable[[float], Awaitable[None]],
        first_listed: Callable[[], None],
        resync_seconds: float,
    ) -> None:
        failure: type[Exception] | None = None
        failed_at = 0.0
        is_first = True
        while True:
            try:
                await self._list(list_policies)
            except (ApiError, ApiUnreachable) as error:
                if failure is not type(error):
                    _log_failure(error)
                    failed_at = self._clock.monotonic()
                failure = type(error)
                if isinstance(error, NotFound) and self._clock.monotonic() - failed_at >= GONE_SECONDS:
                    await self._resync([])
                # Without the CRD there are no policies. The profiles of the configuration file do not need them.
                self.has_synced = self.has_synced or isinstance(error, NotFound)
            else:
                if failure is not None:
                    _log_recovery(failure)
                failure = None
                self.has_synced = True
                if is_first:
                    is_first = False
                    first_listed()
            await (self._clock.sleep(LIST_AGAIN_SECONDS) if failure else follow(resync_seconds))

    async def _list(self, list_policies: Callable[[], Awaitable[list[dict[str, Any]]]]) -> None:
        async with self._turn:
            manifests = await list_policies()
            self._seen.listed(manifests)
            await self._resync(manifests)

    async def _resync(self, manifests: list[dict[str, Any]]) -> None:
        started = self._clock.monotonic()
        for changes in self._store.resync(manifests):
            self._pass_on(changes)
            await self._pause_after(started)
            started = self._clock.monotonic()

    async def _process_events(self) -> None:
        while True:
            await self._arrived.wait()
            async with self._turn:
                started = self._clock.monotonic()
                self._process_next()
                await self._pause_after(started)

    def _process_next(self) -> None:
        type_, manifest = self._waiting.pop(next(iter(self._waiting)))
        if not self._waiting:
            self._arrived.clear()
        try:
            self._pass_on((self._store.remove if type_ == "DELETED" else self._store.replace)(manifest))
        except Exception:  # a defect in one event must not stop the processing of later events
            logger.exception("An event of a SchedulingPolicy cannot be processed because of a defect; report it")

    async def _pause_after(self, started: float) -> None:
        """Let other tasks run if the work since the last pause has taken BUSY_SECONDS.

        The last piece of work began at `started`.

        The first list has no pauses, because scheduling waits for it.
        """
        self._busy_seconds += self._clock.monotonic() - started
        if self._busy_seconds >= BUSY_SECONDS:
            pause, self._busy_seconds = PAUSE_SHARE * self._busy_seconds, 0.0
            await self._clock.sleep(pause if self.has_synced else 0)

    def _pass_on(self, changes: PolicyChanges) -> None:
        for profile in changes.profiles:
            self._post(ProfileChanged(profile))
        for scheduler_name in changes.removed:
            self._post(ProfileRemoved(scheduler_name))
        for scheduler_name, message in changes.refused.items():
            self._post(ProfileRefused(scheduler_name, message))
        self._announcer.announce(changes)
        self._reporter.states_changed(changes.states)


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

"""Policies on their way through the process: from the watch to the engine, and from the engine to their status.

    kopf's thread --receive--> (this event loop) --> PolicyStore --> ProfileChanged, ProfileRemoved --> inbox
    own list, at start and every minute --------------^                status, events <-- verdicts, numbers

The list at the start is what scheduling waits for; those after it find deletions that nobody watched.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from moorage.api.policy_status import Condition
from moorage.api.v1alpha1 import API_VERSION, KIND
from moorage.controller.policies import Changes, PolicyState, PolicyStore
from moorage.controller.policy_report import Numbers, status_of
from moorage.engine.messages import Message, ProfileChanged, ProfileRefused, ProfileRemoved
from moorage.errors import ApiError, ApiUnreachable, NotFound
from moorage.runtime.client.reachability import level_of
from moorage.runtime.clock import Clock
from moorage.runtime.events.event import Event, ObjectReference
from moorage.runtime.troubles import Trouble

logger = logging.getLogger(__name__)

LIST_AGAIN_SECONDS = 1.0
"""How soon a list that failed is tried again: nothing is scheduled before the first, and deletions may be missed."""
STATUS_SECONDS = 1.0


class Statuses(Protocol):
    """Writes policies' statuses."""

    def publish(self, name: str, uid: str, status: Mapping[str, object]) -> None:
        """Say what a status shall be."""

    def forget(self, name: str) -> None:
        """Drop a policy that is gone."""


class Facts(Protocol):
    """Knows what the status of a policy tells besides the verdict."""

    def numbers(self, verdict: PolicyState) -> Numbers:
        """Count the policy's pods."""

    def troubles(self, verdict: PolicyState) -> Sequence[Trouble]:
        """Say what the policy relies on and fails."""


class PolicyKeeper:
    """Keeps the engine's profiles as the policies are. To be used in one event loop."""

    def __init__(
        self,
        store: PolicyStore,
        post: Callable[[Message], None],
        statuses: Statuses,
        record: Callable[[Event], None],
        clock: Clock,
    ) -> None:
        """Tell the engine through `post`, and people through `statuses` and `record`."""
        self.has_synced = False
        """Whether all policies are known."""
        self._store = store
        self._post = post
        self._statuses = statuses
        self._record = record
        self._clock = clock
        self._conditions: dict[str, tuple[Condition, ...]] = {}
        self._told: dict[str, tuple[object, ...]] = {}

    def receive(self, type_: str, manifest: Mapping[str, Any]) -> None:
        """Take in one event of the watch."""
        change = self._store.remove if type_ == "DELETED" else self._store.replace
        self._tell_engine(change(manifest))
        self._tell_people()

    async def keep_listing(
        self,
        list_policies: Callable[[], Awaitable[list[dict[str, Any]]]],
        first_listed: Callable[[], None],
        resync_seconds: float,
    ) -> None:
        """List until cancelled, every `resync_seconds`; `first_listed` is called once, when the policies are known."""
        failure: type[Exception] | None = None
        watched = False
        while True:
            try:
                self._tell_engine(self._store.resync(await list_policies()))
            except (ApiError, ApiUnreachable) as error:
                if failure is not type(error):
                    _tell_failure(error)
                failure = type(error)
                # Where the kind is not installed there are no policies, and the file's profiles need none.
                self.has_synced = self.has_synced or isinstance(error, NotFound)
            else:
                if failure is not None:
                    _tell_recovery(failure)
                failure = None
                self._tell_people()
                self.has_synced = True
                if not watched:
                    watched = True
                    first_listed()
            await self._clock.sleep(LIST_AGAIN_SECONDS if failure else resync_seconds)

    async def keep_reporting(self, facts: Callable[[], Facts]) -> None:
        """Say how the policies fare, until cancelled."""
        while True:
            try:
                self.report(facts())
            except Exception:  # a border: a report that fails must not end the scheduling
                logger.exception("The policies' statuses could not be put together; trying again")
            await self._clock.sleep(STATUS_SECONDS)

    def report(self, facts: Facts) -> None:
        """Publish every policy's status; what has not changed is not written."""
        now = datetime.fromtimestamp(self._clock.time(), UTC)
        conditions = {}
        for verdict in self._store.verdicts():
            before = self._conditions.get(verdict.uid) or tuple(map(Condition.model_validate, verdict.conditions))
            status = status_of(verdict, facts.numbers(verdict), facts.troubles(verdict), before, now)
            conditions[verdict.uid] = tuple(map(Condition.model_validate, status["conditions"]))
            self._statuses.publish(verdict.name, verdict.uid, status)
        self._conditions = conditions

    def _tell_engine(self, changes: Changes) -> None:
        for profile in changes.changed:
            self._post(ProfileChanged(profile))
        for name in changes.removed:
            self._post(ProfileRemoved(name))
        for name, words in changes.refused.items():
            self._post(ProfileRefused(name, words))

    def _tell_people(self) -> None:
        """Record an event, and log a line, for each policy whose verdict is new; log a line for each that is gone."""
        verdicts = self._store.verdicts()
        for verdict in verdicts:
            active = verdict.profile.policy.generation if verdict.profile and verdict.profile.policy else None
            said = (verdict.uid, verdict.refusal, active)
            if self._told.get(verdict.name) != said:
                self._told[verdict.name] = said
                self._record(_event(verdict))
                _log(verdict)
        for name in self._told.keys() - {verdict.name for verdict in verdicts}:
            self._statuses.forget(name)
            del self._told[name]
            logger.info("SchedulingPolicy %s is removed", name)


def _tell_failure(error: ApiError | ApiUnreachable) -> None:
    if isinstance(error, NotFound):
        logger.warning("SchedulingPolicy is not installed; `moorage crd | kubectl apply -f -` does it")
    else:
        logger.log(level_of(error), "schedulingpolicies cannot be listed, trying again: %s", error)


def _tell_recovery(failure: type[Exception]) -> None:
    if issubclass(failure, NotFound):
        logger.info("SchedulingPolicy is installed now, and policies are read")
    elif not issubclass(failure, ApiUnreachable):  # what the transport tells itself
        logger.info("schedulingpolicies can be listed again")


def _log(verdict: PolicyState) -> None:
    refusal, profile = verdict.refusal, verdict.profile
    generation, name = verdict.observed_generation, verdict.scheduler_name
    if refusal is None:
        state = "is paused" if _is_paused(verdict) else "is live"
        logger.info("SchedulingPolicy %s %s: generation %d, schedulerName %s", verdict.name, state, generation, name)
        return
    kept = ", its last good generation stays live" if profile else ""
    words = "SchedulingPolicy %s is refused%s: generation %d, schedulerName %s: %s: %s"
    logger.warning(words, verdict.name, kept, generation, name, refusal.reason, refusal.message)


def _event(verdict: PolicyState) -> Event:
    refusal, name = verdict.refusal, verdict.scheduler_name
    if refusal:
        reason, note = refusal.reason, f"SchedulingPolicy {verdict.name} is refused: {refusal.message}"
    elif _is_paused(verdict):
        reason, note = "Paused", f"Pods with schedulerName {name} wait: spec.paused is true"
    else:
        generation = verdict.observed_generation
        reason, note = "Programmed", f"Pods with schedulerName {name} are scheduled by generation {generation}"
    return Event(
        regarding=ObjectReference(API_VERSION, KIND, verdict.name, verdict.uid),
        reason=reason,
        action="Compiling",
        note=note,
        reporter="moorage",
        warning=refusal is not None,
    )


def _is_paused(verdict: PolicyState) -> bool:
    return verdict.profile is not None and verdict.profile.settings.paused


def run_in(loop: asyncio.AbstractEventLoop, keeper: PolicyKeeper) -> Callable[[str, Mapping[str, Any]], None]:
    """Return a receiver that another thread may call; what it is given arrives in `loop`."""

    def receive(type_: str, manifest: Mapping[str, Any]) -> None:
        loop.call_soon_threadsafe(keeper.receive, type_, manifest)

    return receive

"""PolicyPoll: lists SchedulingPolicies and follows them with short watches, in addition to kopf's long watch.

    list -> watch for POLL_SECONDS -> watch again ... -> list after a minute, an error, or a watch that did not end

A long watch without events may be idle or dead. A long watch is dead if the CRD was deleted and created again, if the
connection stalls, or if there was no CRD when kopf started. A short watch must end after some seconds; if it does not,
it is dead too. On an idle cluster, a short watch costs one empty answer. The events of a short watch are passed on at
once. If kopf does not report the same events, kopf's watch is started again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import msgspec

from moorage.controller.resource_version import identity
from moorage.controller.watch_lag import WatchLag
from moorage.errors import ApiError, ApiUnreachable, NotFound
from moorage.nested_json import decode_nested
from moorage.runtime.api_resources import SCHEDULING_POLICY
from moorage.runtime.backoff import ExponentialBackoff
from moorage.runtime.client.kube import KubeClient
from moorage.runtime.clock import Clock
from moorage.runtime.informers.list_watch import ListWatch

logger = logging.getLogger(__name__)

POLL_SECONDS = 3
"""The duration of a short watch. With this duration, watches cause fewer requests than leader election."""
SPARE_SECONDS = 2.0
"""A short watch is dead if its answer is later than POLL_SECONDS by this time."""
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 5.0
"""The pause after a failed watch doubles with each failure, up to this value."""


class PolicyPoll:
    """The lists and the short watches."""

    def __init__(
        self, client: KubeClient, random: Random, receive: Callable[[str, Mapping[str, Any]], None], clock: Clock
    ) -> None:
        """Read through `client`, and pass events on to `receive`."""
        source = ListWatch(client, SCHEDULING_POLICY, random, POLL_SECONDS + SPARE_SECONDS)
        self.restart_watch: Callable[[], None] = lambda: None
        """Starts kopf's watch again."""
        source.watch_seconds = (POLL_SECONDS, POLL_SECONDS)
        self._source = source
        self._receive = receive
        self._clock = clock
        self._lag = WatchLag(clock)
        self._backoff = ExponentialBackoff(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, random)
        self._was_missing = False

    def receive_from_watch(self, type_: str, manifest: Mapping[str, Any]) -> None:
        """Receive an event of kopf's watch."""
        self._lag.delivered(manifest)
        self._receive(type_, manifest)

    async def list(self) -> list[dict[str, Any]]:
        """Return all policies. Raise ApiError or ApiUnreachable."""
        try:
            found = [_decode(raw) async for page in self._source.pages() for raw in page]
        except NotFound:
            self._was_missing = True
            raise
        self._lag.keep({identity(manifest)[0] for manifest in found})
        if self._was_missing:
            self._was_missing = False
            self._restart()  # kopf does not look for a CRD that was missing when it started
        return found

    async def follow(self, seconds: float) -> None:
        """Pass events on for `seconds`. Return earlier after an error, so that the caller lists the policies again."""
        until = self._clock.monotonic() + seconds
        while self._clock.monotonic() < until:
            started = self._clock.monotonic()
            try:
                await self._watch_once()
            except (ApiError, ApiUnreachable) as error:
                logger.debug("A watch of SchedulingPolicies failed; listing them again: %s", error)
                await self._clock.sleep(self._backoff.next_seconds())
                return
            if self._clock.monotonic() - started < 1:
                await self._clock.sleep(self._backoff.next_seconds())
            else:
                self._backoff.reset()
            if self._lag.is_overdue():
                self._restart()

    async def _watch_once(self) -> None:
        async for events in self._source.changes(lambda: None):
            self._backoff.reset()
            for event in events:
                manifest = _decode(event.object)
                self._lag.seen(manifest)
                self._receive(event.type, manifest)

    def _restart(self) -> None:
        logger.info("The long watch of SchedulingPolicies misses changes; it is started again")
        self._lag.restarted()
        self.restart_watch()


def _decode(raw: msgspec.Raw) -> dict[str, Any]:
    manifest: dict[str, Any] = decode_nested(msgspec.json.decode, bytes(raw))
    return manifest

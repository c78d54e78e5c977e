"""Which replica may write: an elector over a Lease (semantics of client-go's `tools/leaderelection`).

    standby --(lease free, or not renewed for its whole duration as seen from here)--> leader
    leader  --(another holder, or the fence has passed)--> standby
    leader  --(clean stop)--> lease released

The fence: a write is allowed until `renew_deadline` after the moment *before* the last successful renewal was sent, on
the monotonic clock. Since the lease lasts longer than that, a leader that is cut off stops before another can start.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from moorage.errors import ApiError, ApiUnreachable, Conflict, NotFound
from moorage.runtime.api_resources import LEASE
from moorage.runtime.client.reachability import level_of
from moorage.runtime.events.event import Event, ObjectReference
from moorage.runtime.leadership.lease import Lease, LeaseMetadata, LeaseSpec

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.clock import Clock
    from moorage.settings import LeaderElectionSettings

logger = logging.getLogger(__name__)

JITTER_FACTOR = 1.2
"""A standby looks at the lease every retry period, times 1 to 2.2."""
MOST_STANDBY_SECONDS = 0.5
"""Taken for a standby's retry period where that is longer: a lease that was released is to be taken within 2 s."""
NEVER = float("-inf")


class LeaderElector:
    """Tries to hold the lease for as long as it runs."""

    def __init__(
        self,
        client: KubeClient,
        identity: str,
        settings: LeaderElectionSettings,
        clock: Clock,
        random: Random,
    ) -> None:
        """`client` should be one of its own, without limits, so that other writes cannot hold a renewal up."""
        self.identity = identity
        self.changed: Callable[[bool, Event], None] = _ignore
        """Called with True when this replica starts to lead, and with False when it stops; with the event to record."""
        self._client = client
        self._settings = settings
        self._clock = clock
        self._random = random
        self._path = LEASE.path(settings.lease_name, settings.lease_namespace)
        self._decoder = msgspec.json.Decoder(Lease)
        self._lease: Lease | None = None
        self._observed_at = NEVER
        self._renewed_at = NEVER
        self._leads = False
        self._told: type[Exception] | None = None

    @property
    def leads(self) -> bool:
        """Whether this replica was the holder when it last looked."""
        return self._leads

    @property
    def holder(self) -> str:
        """Who holds the lease, as last seen; empty for nobody."""
        return (self._lease and self._lease.spec.holder_identity) or ""

    @property
    def seconds_since_renewal(self) -> float:
        """How long ago the lease was last renewed by us."""
        return self._clock.monotonic() - self._renewed_at

    def may_write(self) -> bool:
        """Whether this replica leads, and can be sure that nobody else does."""
        return self._leads and self.seconds_since_renewal < self._settings.renew_deadline_seconds

    async def run(self) -> None:
        """Acquire and renew until cancelled; the lease is released then."""
        try:
            while True:
                await self._try()
                await self._clock.sleep(self._pause_seconds())
        finally:
            if self._leads:
                await self._release()

    async def _try(self) -> None:
        """Look at the lease once, and take or renew it if that is possible."""
        started = self._clock.monotonic()
        try:
            held = await self._acquire_or_renew(started)
        except (ApiError, ApiUnreachable) as error:
            self._tell(error)
            held = False
        else:
            self._told = None
        if held:
            self._renewed_at = started
        if held != self._leads and (held or not self.may_write() or self._is_anothers()):
            self._become(leads=held)

    def _tell(self, error: ApiError | ApiUnreachable) -> None:
        """Tell of a failure, once while it stays the same."""
        level = logging.DEBUG if self._told is type(error) else level_of(error)
        logger.log(level, "The lease %s cannot be renewed or acquired, trying again: %s", self._path, error)
        self._told = type(error)

    async def _acquire_or_renew(self, started: float) -> bool:
        lease = await self._read()
        if lease.spec.holder_identity not in {self.identity, "", None} and not self._has_expired(lease, started):
            return False
        wanted = lease.held_by(self.identity, self._settings.lease_duration_seconds, self._clock.time())
        try:
            self._observe(await self._write(wanted))
        except Conflict:
            return False  # another replica was quicker; the next look shows which
        return True

    async def _read(self) -> Lease:
        """Return the lease as it is, or a new one that nobody holds."""
        try:
            body = await self._client.get(self._path, timeout_seconds=self._request_seconds)
        except NotFound:
            metadata = LeaseMetadata(self._settings.lease_name, self._settings.lease_namespace)
            return Lease(metadata, LeaseSpec())
        lease = self._decode(body)
        self._observe(lease)
        return lease

    async def _write(self, lease: Lease) -> Lease:
        body = msgspec.json.encode(lease)
        if lease.metadata.resource_version:
            answer = await self._client.replace(self._path, body, timeout_seconds=self._request_seconds)
        else:
            collection = LEASE.within(self._settings.lease_namespace)
            answer = await self._client.create(collection, body, timeout_seconds=self._request_seconds)
        return self._decode(answer)

    async def _release(self) -> None:
        lease = self._lease
        self._become(leads=False)
        try:
            try:
                await self._give_up(lease)
            except Conflict:  # a renewal was under way when the stop came, and its answer was not waited for
                await self._give_up(await self._read())
        except (ApiError, ApiUnreachable) as error:
            logger.warning("The lease %s could not be released; it expires by itself: %s", self._path, error)

    async def _give_up(self, lease: Lease | None) -> None:
        if lease and lease.spec.holder_identity == self.identity:
            await self._write(lease.released(self._clock.time()))

    def _observe(self, lease: Lease) -> None:
        """Note the lease; a change of it restarts the time after which it counts as expired."""
        if self._lease is None or lease.spec != self._lease.spec:
            self._observed_at = self._clock.monotonic()
        self._lease = lease

    def _has_expired(self, lease: Lease, now: float) -> bool:
        duration = lease.spec.lease_duration_seconds or self._settings.lease_duration_seconds
        return now - self._observed_at >= duration

    def _is_anothers(self) -> bool:
        return self.holder not in {self.identity, ""}

    def _become(self, *, leads: bool) -> None:
        self._leads = leads
        words = "became leader" if leads else "stopped leading"
        logger.info("%s %s", self.identity, words)
        self.changed(leads, self._event(words))

    def _event(self, words: str) -> Event:
        metadata = self._lease.metadata if self._lease else LeaseMetadata(self._settings.lease_name, "")
        return Event(
            regarding=ObjectReference(
                LEASE.api_version, LEASE.kind, metadata.name, metadata.uid, self._settings.lease_namespace
            ),
            reason="LeaderElection",
            action="LeaderElection",
            note=f"{self.identity} {words}",
            reporter="moorage",
            repeats=False,
        )

    def _decode(self, body: bytes) -> Lease:
        try:
            return self._decoder.decode(body)
        except msgspec.DecodeError as error:
            raise ApiUnreachable(f"{self._path}: not a Lease: {error}") from error

    def _pause_seconds(self) -> float:
        period = self._settings.retry_period_seconds
        if self._leads:
            return period
        return min(period, MOST_STANDBY_SECONDS) * (1 + self._random.random() * JITTER_FACTOR)

    @property
    def _request_seconds(self) -> float:
        """As client-go: half the renew deadline, so that one lost request does not cost the lease."""
        return max(1.0, self._settings.renew_deadline_seconds / 2)


def _ignore(leads: bool, event: Event) -> None:  # noqa: FBT001 - a callback's shape
    """Do nothing."""

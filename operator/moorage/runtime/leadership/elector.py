"""Decides with a Lease which replica may write, as client-go's `tools/leaderelection` does.

    standby --(lease free, or no renewal seen for its whole duration)--> leader
    leader  --(another holder, or no writes allowed any more)--> standby
    leader  --(clean stop)--> lease released

The fence: writes are allowed until shortly before `renew_deadline` has passed on the monotonic clock. This time starts
right before the last successful renewal was sent. The lease lasts longer, so a leader without a connection stops
writing before another replica can become leader.
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
"""A standby replica pauses between two reads for the retry period, multiplied by a random number from 1 to 2.2."""
MAX_STANDBY_SECONDS = 0.5
"""The longest retry period of a standby replica. With this limit, it takes a released lease within 2 s."""
FENCE_MARGIN = 0.01
"""Writes stop before the renew deadline by this share of it, so that no write starts at the deadline."""
NEVER = float("-inf")


class LeaderElector:
    """A candidate for the lease. While it runs, it tries to take the lease and to keep it."""

    def __init__(
        self,
        client: KubeClient,
        identity: str,
        settings: LeaderElectionSettings,
        clock: Clock,
        random: Random,
    ) -> None:
        """Use `client`, which must have no rate limit, because other writes must not delay a renewal."""
        self.identity = identity
        self.pod = ""
        """The `namespace/name` of this replica's pod; empty if it is not a pod."""
        self.changed: Callable[[bool, Event], None] = _ignore
        """Called when this replica becomes leader (True) or stops leading (False), with the event to record."""
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
        self._logged: type[Exception] | None = None
        self._logged_holder = ""

    @property
    def leads(self) -> bool:
        """Whether this replica held the lease when it last read the lease."""
        return self._leads

    @property
    def holder(self) -> str:
        """The last known holder of the lease; empty if there is none."""
        return (self._lease and self._lease.spec.holder_identity) or ""

    @property
    def seconds_since_renewal(self) -> float:
        """The time since this replica last renewed the lease."""
        return self._clock.monotonic() - self._renewed_at

    def describe(self) -> str:
        """Return this replica's role and the lease's holder as text, for the health check."""
        lease = f"the Lease {self._settings.lease_namespace}/{self._settings.lease_name}"
        if self._leads:
            return f"this replica holds {lease} as {self.identity}"
        return f"standby, {self.holder} holds {lease}" if self.holder else f"standby, no holder of {lease} is known"

    def may_write(self) -> bool:
        """Return whether this replica is sure that it leads."""
        fence_seconds = self._settings.renew_deadline_seconds * (1 - FENCE_MARGIN)
        return self._leads and self.seconds_since_renewal < fence_seconds

    async def run(self) -> None:
        """Acquire and renew the lease until cancelled; then release it."""
        try:
            while True:
                await self._try()
                await self._clock.sleep(self._pause_seconds())
        finally:
            if self._leads:
                await self._release()

    async def _try(self) -> None:
        """Read the lease once, and take or renew it if possible."""
        started = self._clock.monotonic()
        try:
            held = await self._acquire_or_renew(started)
        except (ApiError, ApiUnreachable) as error:
            self._log_failure(error)
            held = False
        else:
            self._logged = None
        if held:
            self._renewed_at = started
        if held != self._leads and (held or not self.may_write() or self._has_other_holder()):
            self._set_leads(leads=held)
        self._log_holder()

    def _log_holder(self) -> None:
        """Log the lease's holder if it is another replica and was not logged before."""
        if self._has_other_holder() and self.holder != self._logged_holder:
            logger.info(
                "This replica is a standby. It waits until the Lease %s/%s, held by %s, is released or expires",
                *(self._settings.lease_namespace, self._settings.lease_name, self.holder),
            )
        self._logged_holder = self.holder

    def _log_failure(self, error: ApiError | ApiUnreachable) -> None:
        """Log a failure. If the failure before had the same type, log it at DEBUG."""
        level = logging.DEBUG if self._logged is type(error) else level_of(error)
        logger.log(level, "The lease %s cannot be renewed or acquired; retrying: %s", self._path, error)
        self._logged = type(error)

    async def _acquire_or_renew(self, started: float) -> bool:
        lease = await self._read()
        if lease.spec.holder_identity not in {self.identity, "", None} and not self._has_expired(lease, started):
            return False
        wanted = lease.held_by(self.identity, self._settings.lease_duration_seconds, self._clock.time(), self.pod)
        try:
            self._observe(await self._write(wanted))
        except Conflict:
            return False  # another replica was faster; the next read shows the new holder
        return True

    async def _read(self) -> Lease:
        """Return the lease, or a new one without a holder if there is none."""
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
        self._set_leads(leads=False)
        try:
            try:
                await self._write_released(lease)
            except Conflict:  # the API server had carried out the last renewal, although its task was cancelled
                await self._write_released(await self._read())
        except (ApiError, ApiUnreachable) as error:
            logger.warning("The lease %s could not be released; it will expire: %s", self._path, error)

    async def _write_released(self, lease: Lease | None) -> None:
        if lease and lease.spec.holder_identity == self.identity:
            await self._write(lease.released(self._clock.time()))

    def _observe(self, lease: Lease) -> None:
        """Keep the lease. If its spec has changed, restart the time until the lease counts as expired."""
        if self._lease is None or lease.spec != self._lease.spec:
            self._observed_at = self._clock.monotonic()
        self._lease = lease

    def _has_expired(self, lease: Lease, now: float) -> bool:
        duration = lease.spec.lease_duration_seconds or self._settings.lease_duration_seconds
        return now - self._observed_at >= duration

    def _has_other_holder(self) -> bool:
        return self.holder not in {self.identity, ""}

    def _set_leads(self, *, leads: bool) -> None:
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
        return min(period, MAX_STANDBY_SECONDS) * (1 + self._random.random() * JITTER_FACTOR)

    @property
    def _request_seconds(self) -> float:
        """Half the renew deadline, as in client-go, so that one lost request does not lose the lease."""
        return max(1.0, self._settings.renew_deadline_seconds / 2)


def _ignore(leads: bool, event: Event) -> None:  # noqa: FBT001 - a callback's shape
    """Do nothing."""

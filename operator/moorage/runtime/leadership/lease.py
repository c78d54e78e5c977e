"""The `coordination.k8s.io/v1` Lease, with the fields that the elector reads and writes."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from moorage.runtime.api_resources import HOLDER_POD, LEASE
from moorage.runtime.timestamps import micro_time

RELEASED_SECONDS = 1
"""The duration in a released lease. The next replica that reads the lease may take it (client-go's ReleaseOnCancel)."""


class LeaseMetadata(msgspec.Struct, rename="camel", omit_defaults=True):
    """The metadata. The resourceVersion makes a write fail if the lease has changed since it was read."""

    name: str
    namespace: str
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class LeaseSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """The holder and the times."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, rename="camel"):
    """The Lease object."""

    metadata: LeaseMetadata
    spec: LeaseSpec
    api_version: str = LEASE.api_version
    kind: str = LEASE.kind

    def held_by(self, identity: str, duration_seconds: float, now: float, pod: str = "") -> Lease:
        """Return the lease that `identity` writes to take or renew it at `now`, in seconds since the epoch.

        `pod` is the `namespace/name` of the holder's pod; empty if the holder is not a pod.
        """
        renews = self.spec.holder_identity == identity
        transitions = self.spec.lease_transitions or 0
        others = {key: value for key, value in (self.metadata.annotations or {}).items() if key != HOLDER_POD}
        annotations = others | ({HOLDER_POD: pod} if pod else {})
        return Lease(
            replace(self.metadata, annotations=annotations or None),
            LeaseSpec(
                holder_identity=identity,
                lease_duration_seconds=int(duration_seconds),
                acquire_time=self.spec.acquire_time if renews else micro_time(now),
                renew_time=micro_time(now),
                lease_transitions=transitions if renews or not self.metadata.resource_version else transitions + 1,
            ),
        )

    def released(self, now: float) -> Lease:
        """Return the lease that its holder writes to release it at `now`, in seconds since the epoch."""
        return Lease(
            self.metadata,
            LeaseSpec(
                holder_identity="",
                lease_duration_seconds=RELEASED_SECONDS,
                acquire_time=micro_time(now),
                renew_time=micro_time(now),
                lease_transitions=self.spec.lease_transitions,
            ),
        )

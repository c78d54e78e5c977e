"""A record of a decision in the compact form that the log keeps."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from moorage.engine.records.decision_record import DecisionOutcome, DecisionRecord, PointDuration, PolicyVersion
from moorage.engine.records.score_rows import ScoreRows
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod

BYTES_OF_A_RECORD = 1000
BYTES_OF_A_COUNT = 250
BYTES_OF_A_CANDIDATE = 1000
BYTES_OF_A_DURATION = 100

Durations = tuple[tuple[str, float], ...]
"""Extension points in the order in which they ran, with their durations in seconds."""


class StoredRecord(Struct, frozen=True, eq=False, gc=False):
    """A record, and separately its scores and durations in a compact form."""

    record: DecisionRecord
    """The record without scores and durations."""
    rows: ScoreRows | None = None
    durations: Durations = ()

    @property
    def size_bytes(self) -> int:
        """The approximate size in memory."""
        record = self.record
        size = BYTES_OF_A_RECORD + len(record.message) + len(record.filters) * BYTES_OF_A_COUNT
        if record.preemption is not None:
            size += len(record.preemption.considered) * BYTES_OF_A_CANDIDATE
        return size + len(self.durations) * BYTES_OF_A_DURATION + (self.rows.size_bytes if self.rows else 0)

    def complete(self) -> DecisionRecord:
        """Return the record with its scores and durations."""
        durations = tuple(PointDuration(point, seconds) for point, seconds in self.durations)
        return replace(self.record, scores=self.rows.scores() if self.rows else None, durations=durations)


class Moment(Struct, frozen=True, gc=False):
    """The seed, the number of the cycle, and the time in seconds."""

    seed: int
    cycle: int
    at: float


def record_of(pod: Pod, profile: Profile, moment: Moment, outcome: DecisionOutcome) -> DecisionRecord:
    """Return a record with the fields that all records have in common."""
    policy = profile.policy
    return DecisionRecord(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        scheduler_name=pod.scheduler_name,
        policy=PolicyVersion(policy.name, policy.uid, policy.generation) if policy else None,
        canary_of=pod.canary_of,
        outcome=outcome,
        at=moment.at,
        seed=moment.seed,
        cycle=moment.cycle,
    )

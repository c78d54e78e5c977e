"""An attempt that found no node. The scheduling loop captures the attempt at low cost, and makes the record later.

Equal pods share one failure until the cluster changes (`moorage.engine.cycle.kept_failure`), so their records share the
summary of this failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from moorage.engine.candidate import Candidate
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.messages import ExtenderCall
from moorage.engine.preemption.post_filter import PostFilterResult
from moorage.engine.records.decision_record import DecisionOutcome, NodeCount
from moorage.engine.records.preemption_record import preemption_record
from moorage.engine.records.rejected_nodes import counts_by_reason
from moorage.engine.records.stored_record import Durations, Moment, StoredRecord, record_of
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod


@dataclass(slots=True)
class LastSummary:
    """The last failure that was summarized, with the numbers of rejected nodes."""

    failure: FitError | None = None
    counts: tuple[NodeCount, ...] = ()

    def of(self, failure: FitError, names: Sequence[str]) -> tuple[NodeCount, ...]:
        """Return the number of rejected nodes for each plugin and reason."""
        if failure is not self.failure:
            self.failure, self.counts = failure, tuple(counts_by_reason(failure, names))
        return self.counts


class CapturedRejection(Struct, frozen=True, eq=False, gc=False):
    """An attempt that found no node."""

    pod: Pod
    profile: Profile
    attempt: int
    seed: int
    cycle: int
    at: float
    message: str
    failure: FitError
    post: PostFilterResult
    kept: Sequence[Candidate]
    """The candidates for preemption that extenders kept, if they were asked."""
    displaced: Sequence[Pod]
    """The pods whose nomination was cleared, so that this pod can use the node."""
    names: Sequence[str]
    """The names of all nodes by slot."""
    last: LastSummary
    extenders: tuple[ExtenderCall, ...] = ()
    durations: Durations = ()

    def summarize(self) -> StoredRecord:
        """Return the record. The record does not refer to the arrays of the cycle."""
        names, moment = self.names, Moment(self.seed, self.cycle, self.at)
        record = replace(
            record_of(self.pod, self.profile, moment, DecisionOutcome.UNSCHEDULABLE),
            attempt=self.attempt,
            message=self.message,
            node=self.post.nominated_node_name or "",
            total_nodes=len(names),
            evaluated_nodes=len(names),
            extenders=self.extenders,
            filters=self.last.of(self.failure, names),
            preemption=preemption_record(self.post, self.kept, self.displaced, names),
        )
        return StoredRecord(record, durations=self.durations)

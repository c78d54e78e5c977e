"""Writes the attempts of the scheduler to the log of decisions."""

from msgspec.structs import replace

from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.scheduling_cycle import ScheduleResult
from moorage.engine.outcomes import Unschedulable
from moorage.engine.pending_extenders import Attempt
from moorage.engine.preemption.post_filter import PostFilterResult
from moorage.engine.recorder import Recorder
from moorage.engine.records.captured_binding import CapturedBinding, capture_filters
from moorage.engine.records.captured_rejection import CapturedRejection, LastSummary
from moorage.engine.records.decision_log import DecisionLog
from moorage.engine.records.decision_record import DecisionOutcome
from moorage.engine.records.score_rows import CapturedScores
from moorage.engine.records.stored_record import Moment, StoredRecord, record_of
from moorage.model.pods.pod import Pod


class AttemptRecorder:
    """The writer of the log; without a log, it records nothing."""

    def __init__(self, seed: int, log: DecisionLog | None, recorder: Recorder) -> None:
        """Write to `log`; `seed` is the seed of the scheduler. `recorder` has the durations of the present cycle."""
        self._seed = seed
        self._log = log
        self._recorder = recorder
        self._last_failure: FitError | None = None
        self._last_summary = LastSummary()
        self.cycle = 0
        """The number of the present cycle."""

    def record_binding(self, attempt: Attempt, assumed: Pod, result: ScheduleResult, now: float) -> None:
        """Record a decision to bind."""
        if self._log is None:
            return
        names, scores, table = result.filtered.nodes.cluster.names, None, result.table
        if table is not None:
            extenders = attempt.answer.scores if attempt.answer else None
            slots = table.nodes.slots
            scores = CapturedScores(table.total, table.kept, table.computed, slots, result.chosen, extenders)
        self._log.add(
            CapturedBinding(
                assumed,
                attempt.profile,
                attempt.queued.attempts,
                self._seed,
                self.cycle,
                now,
                result.node_name,
                result.evaluated_nodes,
                result.fitting_nodes,
                capture_filters(result.filtered, result.pre_filtered, len(names)),
                scores,
                names,
                attempt.answer.calls if attempt.answer else (),
                tuple(self._recorder.durations),
            ),
            result.fitting_nodes,
        )

    def record_rejection(
        self, attempt: Attempt, fit_error: FitError, post: PostFilterResult, outcome: Unschedulable, now: float
    ) -> None:
        """Record that the pod fits on no node. Call this before the cluster changes."""
        if self._log is None:
            return
        is_shared = fit_error is self._last_failure
        self._last_failure = fit_error
        names = fit_error.snapshot.names
        self._log.add(
            CapturedRejection(
                attempt.queued.pod,
                attempt.profile,
                outcome.attempts,
                self._seed,
                self.cycle,
                now,
                outcome.message,
                fit_error,
                post,
                attempt.candidates.candidates if attempt.candidates else (),
                outcome.displaced,
                names,
                self._last_summary,
                attempt.answer.calls if attempt.answer else (),
                tuple(self._recorder.durations),
            ),
            0 if is_shared else len(names),
        )

    def record_failure(self, attempt: Attempt, message: str, now: float) -> None:
        """Record that an attempt ended in an error."""
        if self._log is None:
            return
        record = record_of(attempt.queued.pod, attempt.profile, self._moment(now), DecisionOutcome.ERROR)
        calls = attempt.answer.calls if attempt.answer else ()
        record = replace(record, attempt=attempt.queued.attempts, message=message, extenders=calls)
        self._log.add(StoredRecord(record, durations=tuple(self._recorder.durations)))

    def _moment(self, now: float) -> Moment:
        return Moment(self._seed, self.cycle, now)

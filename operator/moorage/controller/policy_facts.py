"""PolicyFacts: pod counts and degradations of each policy, from the engine's queues and the runtime's tally."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from moorage.api.policy_status import REJECTION_LENGTH, ShadowCounts
from moorage.compilation.policy_warning import PolicyWarning
from moorage.controller.policy_report import PolicyCounts
from moorage.controller.policy_state import PolicyState
from moorage.engine.outcomes import ShadowVerdict
from moorage.engine.scheduler import Scheduler
from moorage.framework.profile import Profile
from moorage.outside_text import one_line
from moorage.runtime.degradation import Degradation
from moorage.runtime.shadow_tally import ShadowTally, skew
from moorage.runtime.tally import Tally

CANARY_TAKES_NO_PODS = "CanaryTakesNoPods"
FAILURES_IN_A_ROW = 3
"""After this number of consecutive failed binds or attempts, the policy is degraded. One failure can be a race."""


class PolicyFacts:
    """The facts about all policies at one moment.

    Build an instance between two scheduling cycles, and use it at once.
    """

    def __init__(
        self, scheduler: Scheduler, tally: Tally, degradations_of: Callable[[Profile], Sequence[Degradation]]
    ) -> None:
        """Count the pending pods. `degradations_of` returns a profile's missing rights and failing extenders."""
        self._pending = scheduler.statistics.pending_pods_by_profile()
        self._skipped = scheduler.statistics.skipped_by_shadows()
        self._tally = tally
        self._degradations_of = degradations_of
        self._canaries = scheduler.parts.handlers.canaries

    def counts(self, state: PolicyState) -> PolicyCounts:
        """Return the counts of the policy's pods. The counts are 0 if another policy owns the schedulerName."""
        waiting = self._pending.get(state.scheduler_name, {}) if state.owns_name else {}
        unschedulable = waiting.get("unschedulable", 0)
        not_allowed = waiting.get("notAllowed", 0)
        pending = sum(waiting.values()) - unschedulable - not_allowed
        if state.profile is None:
            return PolicyCounts(pending=pending, unschedulable=unschedulable)
        tally = self._tally.of(state.profile)
        bound_at = tally.last_bound_time
        return PolicyCounts(
            pending=pending,
            unschedulable=unschedulable,
            not_allowed=not_allowed,
            bound=tally.bound,
            failed=tally.failed,
            last_bound_time=datetime.fromtimestamp(int(bound_at), UTC) if bound_at else None,
            rejections=tally.rejections,
            shadow=self._shadow_counts(state, tally.shadow) if state.shadow_of else None,
        )

    def warnings(self, state: PolicyState) -> Sequence[PolicyWarning]:
        """Return a warning if the policy is a canary, but takes no pods of the policy that it names."""
        fault = self._canaries.fault_of(state.profile) if state.profile else ""
        return (PolicyWarning(CANARY_TAKES_NO_PODS, f"spec.canary takes no pods: {fault}"),) if fault else ()

    def _shadow_counts(self, state: PolicyState, tally: ShadowTally) -> ShadowCounts:
        verdicts = tally.verdicts
        return ShadowCounts(
            same=verdicts[ShadowVerdict.SAME],
            tie=verdicts[ShadowVerdict.TIE],
            other_node=verdicts[ShadowVerdict.OTHER_NODE],
            fits_nowhere=verdicts[ShadowVerdict.FITS_NOWHERE],
            fits=verdicts[ShadowVerdict.FITS],
            failed=verdicts[ShadowVerdict.FAILED],
            skipped=self._skipped.get(state.scheduler_name, 0),
            zone_skew=skew(tally.zones, tally.actual_zones),
            actual_zone_skew=skew(tally.actual_zones, tally.zones),
            last_difference=one_line(tally.last_difference, REJECTION_LENGTH),
        )

    def degradations(self, state: PolicyState) -> Sequence[Degradation]:
        """Return the failures that affect the live profile: missing rights and extenders, then attempts and binds.

        Attempts and binds that fail because of a missing right or an extender are left out, because the missing right
        or the extender is already in the list.
        """
        profile = state.profile
        if profile is None:
            return ()
        tally = self._tally.of(profile)
        found = [self._with_ready(failing, state) for failing in self._degradations_of(profile)]
        subjects = [failing.subject for failing in found if failing.subject]
        if tally.errors_in_a_row >= FAILURES_IN_A_ROW and not _mentions(tally.last_error, subjects):
            message = f"the last {tally.errors_in_a_row} scheduling attempts ended in errors; last: {tally.last_error}"
            found.append(Degradation("SchedulingFailing", message))
        if tally.failures_in_a_row >= FAILURES_IN_A_ROW and not _mentions(tally.last_failure, subjects):
            message = f"the last {tally.failures_in_a_row} binds failed; the events of the pods have the reasons"
            found.append(Degradation("BindFailing", message))
        return found

    def _with_ready(self, failing: Degradation, state: PolicyState) -> Degradation:
        """Return the failure. If pods are waiting, change Ready from Unknown to False.

        Unknown means that no pod calls the failed extender. Pods that are waiting will call it soon.
        """
        is_awaited = any(self._pending.get(state.scheduler_name, {}).values())
        return replace(failing, ready="False") if failing.ready == "Unknown" and is_awaited else failing


def _mentions(error: str, subjects: Iterable[str]) -> bool:
    return any(subject in error for subject in subjects)

"""What a policy's status tells of its pods: the engine's queues and the runtime's tally, brought together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from moorage.controller.policies import PolicyState
from moorage.controller.policy_report import Numbers
from moorage.engine.scheduler import Scheduler
from moorage.framework.profile import Profile
from moorage.runtime.tally import Tally
from moorage.runtime.troubles import Trouble

FAILURES_IN_A_ROW = 3
"""Binds, or attempts, that fail one after the other before a policy counts as degraded; one may be a race."""


class EngineFacts:
    """What the engine and the tally know at one moment, between two cycles."""

    def __init__(
        self, scheduler: Scheduler, tally: Tally, extender_troubles: Callable[[Profile], Sequence[Trouble]]
    ) -> None:
        """`extender_troubles` says which of a profile's extenders fail."""
        self._pending = scheduler.pending_pods_by_profile()
        self._tally = tally
        self._extender_troubles = extender_troubles

    def numbers(self, verdict: PolicyState) -> Numbers:
        """Count the pods of the policy's schedulerName."""
        waiting = self._pending.get(verdict.scheduler_name, {}) if _holds_name(verdict) else {}
        unschedulable = waiting.get("unschedulable", 0)
        pending = sum(waiting.values()) - unschedulable
        if verdict.profile is None:
            return Numbers(pending=pending, unschedulable=unschedulable)
        tally = self._tally.of(verdict.profile)
        bound_at = tally.last_bound_time
        return Numbers(
            pending=pending,
            unschedulable=unschedulable,
            bound=tally.bound,
            failed=tally.failed,
            last_bound_time=datetime.fromtimestamp(int(bound_at), UTC) if bound_at else None,
            rejections=tally.rejections,
        )

    def troubles(self, verdict: PolicyState) -> Sequence[Trouble]:
        """Say what the policy relies on and fails: extenders first, then attempts, and binds."""
        profile = verdict.profile
        if profile is None:
            return ()
        tally = self._tally.of(profile)
        troubles = list(self._extender_troubles(profile))
        if tally.errors_in_a_row >= FAILURES_IN_A_ROW:
            message = f"attempts to schedule end in errors, the last one: {tally.last_error}"
            troubles.append(Trouble("SchedulingFailing", message))
        if tally.failures_in_a_row >= FAILURES_IN_A_ROW:
            message = f"the last {tally.failures_in_a_row} binds failed; the events of the pods say why"
            troubles.append(Trouble("BindFailing", message))
        return troubles


def _holds_name(verdict: PolicyState) -> bool:
    return verdict.refusal is None or verdict.refusal.reason != "NameConflict"

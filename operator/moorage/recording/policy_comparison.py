"""Decides for the pods of a recording by other policies, and compares.

Each decision is made in the recorded cluster, right before the recorded decision. So the pods that another policy
would place elsewhere do not change its later decisions.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from moorage.engine.cycle.cycle_error import CycleError
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.fit_error_message import fit_error_message
from moorage.engine.cycle.scheduling_cycle import AskExtenders, CycleInput, ScheduleResult, run_cycle
from moorage.engine.outcomes import ShadowVerdict
from moorage.engine.scheduler import Scheduler
from moorage.engine.shadows import compared
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod
from moorage.recording.calls import RecordedTry
from moorage.recording.outcome_records import describe_outcome, node_of


class OtherDecision(Struct, frozen=True, kw_only=True):
    """A decision of another policy that differs from the recorded one."""

    time: float
    """In seconds since the epoch."""
    pod: str
    uid: str
    scheduler_name: str
    verdict: str
    recorded: str
    other: str


class ComparedPolicies(Struct, kw_only=True):
    """The comparison of a recording with other policies."""

    decisions: int = 0
    """The number of recorded decisions for which another policy decided too."""
    verdicts: dict[str, int] = {}
    """The number of decisions by verdict."""
    differences: list[OtherDecision] = []
    """The first difference of each pod. If chance decides between nodes with equal scores, this is not a difference."""
    scheduler_names: dict[str, int] = {}
    """The number of recorded decisions by the schedulerName of the pod."""


class PolicyComparison:
    """The comparison of a segment with other policies."""

    def __init__(self, profiles: Iterable[Profile]) -> None:
        """Compare with these profiles, each for the pods of its schedulerName."""
        self._profiles = {profile.name: profile for profile in profiles}
        self._differing: set[str] = set()
        self.found = ComparedPolicies(verdicts={}, differences=[], scheduler_names={})

    def decide(self, scheduler: Scheduler, recorded: RecordedTry, time: float) -> None:
        """Decide for the pod of a recorded decision, which the scheduler will make next."""
        assert recorded.outcome is not None
        uid = recorded.outcome[2]
        queued = scheduler.parts.handlers.queue.find(uid)
        if queued is None:
            return
        pod, names = queued.pod, self.found.scheduler_names
        names[pod.scheduler_name] = names.get(pod.scheduler_name, 0) + 1
        profile = self._profiles.get(pod.scheduler_name)
        if profile is None:
            return
        node_name = node_of(recorded.outcome)
        verdict, text = _decided(scheduler, profile, pod, recorded.now, node_name)
        self.found.decisions += 1
        self.found.verdicts[verdict.value] = self.found.verdicts.get(verdict.value, 0) + 1
        if verdict not in {ShadowVerdict.SAME, ShadowVerdict.TIE} and uid not in self._differing:
            self._differing.add(uid)
            self.found.differences.append(
                OtherDecision(
                    time=time,
                    pod=pod.key,
                    uid=uid,
                    scheduler_name=pod.scheduler_name,
                    verdict=verdict.value,
                    recorded=describe_outcome(recorded.outcome),
                    other=text,
                )
            )


def _decided(scheduler: Scheduler, profile: Profile, pod: Pod, now: float, node_name: str) -> tuple[ShadowVerdict, str]:
    """Return the verdict about another profile's decision, and the decision as a text."""
    result = _run(scheduler, profile, pod, now)
    if isinstance(result, CycleError):
        return ShadowVerdict.FAILED, f"an error: {result}"
    if isinstance(result, FitError):
        verdict = ShadowVerdict.FITS_NOWHERE if node_name else ShadowVerdict.SAME
        return verdict, f"no node: {fit_error_message(result.diagnose())}"
    verdict, reason = compared(result, node_name)
    return verdict, f"node {result.node_name}" + (f" ({reason})" if reason else "")


def _run(scheduler: Scheduler, profile: Profile, pod: Pod, now: float) -> ScheduleResult | FitError | CycleError:
    """Run a cycle with the counters of the recorded attempt, so that an equal policy makes the same decision."""
    counters = scheduler.parts.counters
    cycle = CycleInput(
        profile=profile,
        pod=pod,
        snapshot=scheduler.snapshot,
        seed=scheduler.seed,
        cycle=counters.cycle + 1,
        start=counters.start,
        resting=scheduler.parts.refusing.names(now),
    )
    try:
        result = run_cycle(cycle)
    except CycleError as error:
        return error
    except Exception as fault:  # noqa: BLE001 - a fault of a plugin is a result
        return CycleError(f"{type(fault).__name__}: {fault}")
    assert not isinstance(result, AskExtenders), "the profile has no extenders"
    return result

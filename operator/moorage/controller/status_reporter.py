"""StatusReporter: builds the statuses of policies, and passes them to the writer.

When the state of a policy changes, the reporter builds its status at once. Once a second, it checks all policies for
new counts and degradations. An error in one policy's status is logged, and does not affect the other policies.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from moorage.api.policy_status import Condition
from moorage.controller.policies import PolicyStore
from moorage.controller.policy_facts import PolicyFacts
from moorage.controller.policy_report import PolicyFindings, status_of
from moorage.controller.policy_state import PolicyState
from moorage.controller.policy_warnings import PolicyWarnings
from moorage.controller.status_writer import PolicyStatusWriter
from moorage.runtime.clock import Clock
from moorage.runtime.wakeup import Wakeup

logger = logging.getLogger(__name__)

STATUS_SECONDS = 1.0
"""The interval at which the counts of all policies are read."""
SLICE_SECONDS = 0.005
"""The time after which a report lets other tasks run."""
CHANGE_SECONDS = 0.1
"""The minimum time between two reports. Without this minimum, a burst of new policies would count the pods again for
each policy."""


@dataclass(frozen=True, slots=True)
class _Reported:
    """The last status of a policy: the values that it was built from, and its conditions."""

    state: PolicyState
    findings: PolicyFindings
    conditions: tuple[Condition, ...]


class StatusReporter:
    """Builds all statuses. Use it only in the event loop of the policy store."""

    def __init__(
        self, store: PolicyStore, statuses: PolicyStatusWriter, warnings: PolicyWarnings, clock: Clock
    ) -> None:
        """Report the policies of `store` through `statuses`."""
        self._store = store
        self._statuses = statuses
        self._warnings = warnings
        self._clock = clock
        self._reported: dict[str, _Reported] = {}
        self._failing: set[str] = set()
        self._changed: set[str] = set()
        """The policies whose state changed since the last report."""
        self._wakeup = Wakeup(clock)

    def states_changed(self, states: Iterable[PolicyState]) -> None:
        """Report these policies soon."""
        names = {state.name for state in states}
        if names:
            self._changed |= names
            self._wakeup.signal()

    async def run(self, facts: Callable[[], PolicyFacts]) -> None:
        """Report changed policies soon and all policies every second, until cancelled."""
        next_full_report = self._clock.monotonic()
        while True:
            is_full = self._clock.monotonic() >= next_full_report
            if is_full:
                next_full_report = self._clock.monotonic() + STATUS_SECONDS
            try:
                await self._report_in_slices(facts(), only_changed=not is_full)
            except Exception:  # an error in the counts must not end the scheduling
                logger.exception("The statuses of the SchedulingPolicies cannot be built; trying again in a second")
            await self._clock.sleep(CHANGE_SECONDS)
            await self._wakeup.wait(max(0.0, next_full_report - self._clock.monotonic()))

    def report(self, facts: PolicyFacts, *, only_changed: bool = False) -> None:
        """Publish new statuses: of all policies, or if `only_changed` is True, of the policies whose state changed.

        A report of all policies also forgets deleted policies.
        """
        for _ in self._reports(facts, only_changed=only_changed):
            pass

    async def _report_in_slices(self, facts: PolicyFacts, *, only_changed: bool) -> None:
        """Report, and let other tasks run after each slice of time. A thousand new policies take a second."""
        until = self._clock.monotonic() + SLICE_SECONDS
        for _ in self._reports(facts, only_changed=only_changed):
            if self._clock.monotonic() >= until:
                await asyncio.sleep(0)
                until = self._clock.monotonic() + SLICE_SECONDS

    def _reports(self, facts: PolicyFacts, *, only_changed: bool) -> Iterator[None]:
        """Publish the status of one policy in each step of the iterator."""
        now = datetime.fromtimestamp(self._clock.time(), UTC)
        states = tuple(self._store.states())
        changed, self._changed = self._changed, set()
        for state in states:
            yield
            if only_changed and state.name not in changed:
                continue
            try:
                self._report(state, facts, now)
            except Exception:  # an error in one policy's status must not stop the others
                if state.name not in self._failing:
                    message = "The status of SchedulingPolicy %s cannot be built and stays as it is; report this defect"
                    logger.exception(message, state.name)
                self._failing.add(state.name)
            else:
                self._failing.discard(state.name)
        if not only_changed:
            self._forget_others({state.name for state in states})

    def _report(self, state: PolicyState, facts: PolicyFacts, now: datetime) -> None:
        findings = PolicyFindings(
            facts.counts(state), facts.degradations(state), (*self._warnings.of(state), *facts.warnings(state))
        )
        last = self._reported.get(state.name)
        if last and (last.state, last.findings) == (state, findings):
            return
        if last and last.state.uid == state.uid:
            before = last.conditions
        else:
            before = tuple(map(Condition.model_validate, state.conditions))
        status = status_of(state, findings, before, now)
        self._reported[state.name] = _Reported(state, findings, status.conditions)
        self._statuses.publish(state.name, state.uid, status.model_dump(mode="json", by_alias=True, exclude_none=True))

    def _forget_others(self, names: set[str]) -> None:
        for name in self._reported.keys() - names:
            del self._reported[name]
            self._statuses.forget(name)
            self._warnings.forget(name)
        self._failing &= names

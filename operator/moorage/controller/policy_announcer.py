"""PolicyAnnouncer: an event and a log line for every change of a policy's state."""

from __future__ import annotations

import logging
from collections.abc import Callable

from moorage.api.v1alpha1 import API_VERSION, KIND
from moorage.controller.policy_state import PolicyChanges, PolicyRefusal, PolicyState
from moorage.runtime.events.event import Event, ObjectReference

logger = logging.getLogger(__name__)


class PolicyAnnouncer:
    """Records events and log lines about policies that become live, paused, refused or deleted."""

    def __init__(self, record: Callable[[Event], None], is_scheduling: Callable[[], bool]) -> None:
        """Send the events to `record`. `is_scheduling` returns False on a standby replica, where no policy is live."""
        self._record = record
        self._is_scheduling = is_scheduling
        self._announced: dict[str, tuple[str, PolicyRefusal | None, int | None]] = {}

    def announce(self, changes: PolicyChanges) -> None:
        """Record an event and log a line for each policy with a new result; log a line for each deleted policy."""
        for state in changes.states:
            announced = (state.uid, state.refusal, state.live_generation)
            if self._announced.get(state.name) != announced:
                self._announced[state.name] = announced
                self._record(_event(state))
                _log(state, is_scheduling=self._is_scheduling())
        for name in changes.deleted:
            self._announced.pop(name, None)
            logger.info("SchedulingPolicy %s is deleted", name)


def _log(state: PolicyState, *, is_scheduling: bool) -> None:
    refusal, generation, name = state.refusal, state.observed_generation, state.scheduler_name
    if refusal is None:
        active = "is live" if is_scheduling else "is accepted, and is live when this replica schedules"
        shadow = f"follows the schedulerName {state.shadow_of} as a shadow" if state.shadow_of else ""
        status = "is paused" if state.is_paused else shadow or active
        logger.info("SchedulingPolicy %s %s: generation %d, schedulerName %s", state.name, status, generation, name)
        return
    kept = ", its last accepted generation stays live" if state.profile else ""
    message = "SchedulingPolicy %s is refused%s: generation %d, schedulerName %s: %s: %s"
    logger.warning(message, state.name, kept, generation, name, refusal.reason, refusal.message)


def _event(state: PolicyState) -> Event:
    refusal, name = state.refusal, state.scheduler_name
    if refusal:
        reason, note = refusal.reason, f"SchedulingPolicy {state.name} is refused: {refusal.message}"
    elif state.shadow_of:
        reason = "Shadow"
        note = f"The policy decides for the pods with schedulerName {state.shadow_of}, and binds none"
    elif state.is_paused:
        reason, note = "Paused", f"Pods with schedulerName {name} wait: spec.paused is true"
    else:
        generation = state.observed_generation
        reason, note = "Programmed", f"Pods with schedulerName {name} are scheduled by generation {generation}"
    return Event(
        regarding=ObjectReference(API_VERSION, KIND, state.name, state.uid),
        reason=reason,
        action="Compiling",
        note=note,
        reporter="moorage",
        warning=refusal is not None,
    )

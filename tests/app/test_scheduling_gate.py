"""The log line when a replica begins to schedule."""

import logging

import pytest

from moorage.app.scheduling_gate import SHOWN_NAMES, SchedulingGate
from moorage.framework.profile import ProfileSpec
from moorage.framework.registry import Registry


def test_the_gate_logs_the_live_scheduler_names_each_time_it_opens(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    profile = Registry.discover().build_profile(ProfileSpec(scheduler_name="gold"))
    leads, synced, profiles = False, True, {"gold": profile}
    gate = SchedulingGate((lambda: leads, lambda: synced), profiles)
    assert not gate.is_open()
    assert caplog.messages == []
    leads = True
    assert gate.is_open()
    assert gate.is_open()
    assert caplog.messages == ["This replica schedules now; live schedulerNames: gold"]
    synced = False
    assert not gate.is_open()
    synced = True
    profiles |= {f"p{number}": profile for number in range(SHOWN_NAMES)}
    assert gate.is_open()
    assert caplog.messages[1].endswith(" and 1 more")

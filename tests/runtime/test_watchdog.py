"""Pods that are ready, but that the scheduler does not try."""

from __future__ import annotations

import logging

import pytest

from builders import node, pod
from fakes import FakeClock
from moorage.app.gauges import register_gauges
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added
from moorage.framework.profile import ProfileSpec
from moorage.framework.registry import Registry
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.watchdog import STUCK_SECONDS, Watchdog

PROFILE = Registry.discover().build_profile(ProfileSpec(scheduler_name="default-scheduler"))


def scheduler_with_a_pod(clock: FakeClock) -> Scheduler:
    scheduler = Scheduler(seed=1, profiles=(PROFILE,))
    scheduler.apply(added("Node", node("n1")), clock.monotonic())
    scheduler.apply(added("Pod", pod("forgotten")), clock.monotonic())
    return scheduler


def test_a_pod_that_is_not_tried_is_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    watchdog = Watchdog(scheduler_with_a_pod(clock), lambda: True, clock)
    watchdog.check()
    assert watchdog.stuck_pods == 0
    clock.now += STUCK_SECONDS + 1
    with caplog.at_level(logging.WARNING):
        watchdog.check()
    assert watchdog.stuck_pods == 1
    assert "default/forgotten is ready and was not tried for 121 s" in caplog.text


def test_a_standby_has_no_stuck_pods() -> None:
    clock = FakeClock()
    watchdog = Watchdog(scheduler_with_a_pod(clock), lambda: False, clock)
    clock.now += STUCK_SECONDS + 1
    watchdog.check()
    assert watchdog.stuck_pods == 0


def test_gauges_are_read_at_each_scrape() -> None:
    clock = FakeClock()
    scheduler, metrics = scheduler_with_a_pod(clock), ProcessMetrics("host")
    register_gauges(metrics, scheduler, (), Watchdog(scheduler, lambda: True, clock), clock)
    scheduler.apply(added("Pod", pod("huge", cpu="99")), clock.monotonic())
    while scheduler.schedule_one(clock.monotonic()):
        pass
    shown = metrics.render().decode()
    assert 'scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"} 1.0' in shown
    assert 'scheduler_cache_size{type="assumed_pods"} 1.0' in shown
    assert 'scheduler_pending_pods{queue="unschedulable"} 1.0' in shown

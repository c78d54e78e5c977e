"""Builds the process; `moorage.app.operator` starts and stops it.

The order of the calls in `build_process` is the order of the dependencies. Nothing runs before the operator starts the
tasks in `Process.background` and the scheduling loop.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from moorage.app.environment import Environment
from moorage.app.gauges import register_gauges
from moorage.app.process_parts import (
    build_binding,
    build_engine,
    build_evictor,
    build_extenders,
    build_policies,
    build_reporting,
    have_synced,
)
from moorage.app.recordings import Recordings
from moorage.app.scheduling_gate import SchedulingGate
from moorage.configuration.process_configuration import ProcessConfiguration
from moorage.controller.policy_controller import PolicyController
from moorage.controller.policy_facts import PolicyFacts
from moorage.controller.status_reporter import StatusReporter
from moorage.controller.status_writer import PolicyStatusWriter
from moorage.engine.messages import Message
from moorage.engine.scheduler import Scheduler
from moorage.runtime.binder import Binder
from moorage.runtime.events.event_recorder import EventRecorder
from moorage.runtime.inbox import Inbox
from moorage.runtime.informers.informer import Informer
from moorage.runtime.outcome_router import OutcomeRouter
from moorage.runtime.pod_status_writer import PodStatusWriter
from moorage.runtime.retired_profiles import RetiredProfiles
from moorage.runtime.scheduling_loop import SchedulingLoop
from moorage.runtime.watchdog import Watchdog


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The parts that the operator starts, checks and stops."""

    environment: Environment
    inbox: Inbox[Message]
    scheduler: Scheduler
    informers: Mapping[str, Informer]
    """The informers by kind."""
    recorder: EventRecorder
    pod_statuses: PodStatusWriter
    policy_controller: PolicyController
    policy_statuses: PolicyStatusWriter
    status_reporter: StatusReporter
    binder: Binder
    loop: SchedulingLoop
    recordings: Recordings
    facts: Callable[[], PolicyFacts]
    """Returns the engine's current facts for the policies' statuses."""
    background: Mapping[str, Callable[[], Coroutine[Any, Any, None]]]
    """The tasks besides the scheduling loop, by name; each runs until cancelled."""

    @property
    def unsent_reports(self) -> int:
        """Number of events and pod statuses that are not written yet."""
        return len(self.pod_statuses) + len(self.recorder)


def build_process(configuration: ProcessConfiguration, environment: Environment) -> Process:
    """Build all parts of the process."""
    settings = configuration.settings
    engine = build_engine(configuration, environment)
    reporting = build_reporting(engine, environment)
    extenders = build_extenders(settings, engine, environment)
    binding = build_binding(settings, engine, reporting, extenders, environment)
    evictor = build_evictor(engine, reporting, environment)
    policies = build_policies(configuration, engine, reporting, environment)
    conditions = (
        lambda: policies.policy_controller.has_synced,
        environment.may_write,
        partial(have_synced, engine.informers.values()),
    )
    may_schedule = SchedulingGate(conditions, engine.scheduler.profiles).is_open
    router = OutcomeRouter(
        may_schedule=may_schedule,
        volume_binder=binding.volume_binder,
        reporter=reporting.reporter,
        evictor=evictor,
        extenders=extenders,
        claim_repair=binding.claim_repair,
    )
    loop = SchedulingLoop(engine.scheduler, engine.inbox, router, environment.clock, environment.metrics.scheduling)
    recordings = Recordings(engine.scheduler, settings, environment.clock)
    recordings.register(environment.metrics)
    loop.report_fault = recordings.report
    facts = partial(
        PolicyFacts,
        engine.scheduler,
        reporting.tally,
        lambda profile: (*environment.rights.degradations(), *extenders.degradations(profile)),
    )
    watchdog = Watchdog(engine.scheduler, may_schedule, environment.clock)
    retired = RetiredProfiles(
        engine.scheduler.profiles, environment.metrics, reporting.tally, extenders, environment.clock
    )
    environment.metrics.before_scrape(retired.forget)
    register_gauges(environment.metrics, engine.scheduler, engine.informers.values(), watchdog, environment.clock)
    return Process(
        environment=environment,
        inbox=engine.inbox,
        scheduler=engine.scheduler,
        informers=engine.informers,
        recorder=reporting.recorder,
        pod_statuses=reporting.pod_statuses,
        policy_controller=policies.policy_controller,
        policy_statuses=policies.statuses,
        status_reporter=policies.status_reporter,
        binder=binding.binder,
        loop=loop,
        recordings=recordings,
        facts=facts,
        background={
            **{f"informer-{kind}": informer.run for kind, informer in engine.informers.items()},
            "event-recorder": reporting.recorder.run,
            "pod-statuses": reporting.pod_statuses.run,
            "policy-statuses": policies.statuses.run,
            "policy-reports": partial(policies.status_reporter.run, facts),
            "watchdog": watchdog.run,
            "retired-profiles": retired.run,
            "preemption": evictor.run,
            "evicted-pods": evictor.evicted.run,
            "extenders": extenders.run,
            "claim-repair": binding.claim_repair.run,
            "volume-binder": binding.volume_binder.run,
            "binder": binding.binder.run,
            "kubelet-refusals": binding.refusals.run,
        },
    )

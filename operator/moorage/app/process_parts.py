"""Builds the groups of parts that make up the process.

Each function receives the parts that it uses. `moorage.app.process` calls them in order and connects the groups.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from random import SystemRandom
from typing import Any

from moorage.app.environment import Environment
from moorage.compilation.node_facts import NodeFacts
from moorage.configuration.process_configuration import ProcessConfiguration
from moorage.controller.policies import PolicyStore
from moorage.controller.policy_announcer import PolicyAnnouncer
from moorage.controller.policy_controller import PolicyController
from moorage.controller.policy_permissions import PolicyPermissions
from moorage.controller.policy_profiles import build_profile
from moorage.controller.policy_warnings import PolicyWarnings
from moorage.controller.status_reporter import StatusReporter
from moorage.controller.status_writer import PolicyStatusWriter
from moorage.engine.messages import Message
from moorage.engine.records.decision_log import DecisionLog
from moorage.model.decode import Decoder
from moorage.recording.recorded_scheduler import RecordedScheduler
from moorage.runtime.api_resources import INFORMED
from moorage.runtime.binder import Binder
from moorage.runtime.binding_writer import BindingWriter
from moorage.runtime.client.kube import REQUEST_SECONDS
from moorage.runtime.events.event_recorder import EventRecorder
from moorage.runtime.extenders.extender_context import ExtenderLimits
from moorage.runtime.extenders.extender_dispatcher import ExtenderDispatcher
from moorage.runtime.inbox import Inbox
from moorage.runtime.informers.informer import Informer
from moorage.runtime.informers.list_watch import ListWatch
from moorage.runtime.kubelet_refusals import KubeletRefusals
from moorage.runtime.latest_objects import LatestObjects
from moorage.runtime.pod_status_writer import PodStatusWriter
from moorage.runtime.preemption.evicted_pods import EvictedPods
from moorage.runtime.preemption.evictor import Evictor
from moorage.runtime.preemption.victim_writer import VictimWriter
from moorage.runtime.reporter import Reporter
from moorage.runtime.tally import Tally
from moorage.runtime.volumes.selected_node_repair import SelectedNodeRepair
from moorage.runtime.volumes.volume_binder import VolumeBinder
from moorage.runtime.volumes.volume_stores import VolumeStores
from moorage.runtime.volumes.volume_writer import VolumeWriter
from moorage.settings import Settings

logger = logging.getLogger(__name__)

SEED_BITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineParts:
    """The scheduler, and the parts that feed it."""

    inbox: Inbox[Message]
    scheduler: RecordedScheduler
    informers: Mapping[str, Informer]
    latest: LatestObjects


def build_engine(configuration: ProcessConfiguration, environment: Environment) -> EngineParts:
    """Build the scheduler, its inbox, and the informers that post to the inbox."""
    inbox: Inbox[Message] = Inbox()
    informers = _build_informers(inbox, environment)
    seed = _choose_seed(configuration.settings)
    return EngineParts(
        inbox=inbox,
        scheduler=RecordedScheduler(seed, configuration.profiles, environment.metrics.framework, DecisionLog()),
        informers=informers,
        latest=LatestObjects(informers["Pod"].objects, informers["Node"].objects),
    )


def _choose_seed(settings: Settings) -> int:
    if settings.seed is not None:
        return settings.seed
    seed = SystemRandom().getrandbits(SEED_BITS)
    logger.info("the choice among equally good nodes uses the seed %d; pass --seed to repeat it", seed)
    return seed


def _build_informers(inbox: Inbox[Message], environment: Environment) -> Mapping[str, Informer]:
    """Build an informer for each kind in INFORMED."""
    decoder = Decoder()
    return {
        resource.kind: Informer(
            ListWatch(environment.client, resource, environment.random),
            _decode_function(decoder, resource.kind),
            inbox.post_all,
            environment.metrics.informers,
            environment.clock,
        )
        for resource in INFORMED
    }


def _decode_function(decoder: Decoder, kind: str) -> Callable[[bytes], Any]:
    """Return the function that decodes a kind. Nodes keep their JSON, because extenders receive it."""
    if kind == "Node":
        return partial(decoder.decode_node, keep_raw=True)
    return partial(decoder.decode, kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportingParts:
    """The reporter, and the parts that it reports through."""

    recorder: EventRecorder
    pod_statuses: PodStatusWriter
    tally: Tally
    reporter: Reporter


def build_reporting(engine: EngineParts, environment: Environment) -> ReportingParts:
    """Build the reporter of attempts, with the parts that write events and pod statuses."""
    client, clock, metrics = environment.client, environment.clock, environment.metrics
    recorder = EventRecorder(client, socket.gethostname(), clock, metrics.recorder)
    pod_statuses = PodStatusWriter(client, engine.latest, clock, environment.random)
    tally = Tally()
    reporter = Reporter(recorder, pod_statuses, metrics.scheduling, tally, clock)
    return ReportingParts(recorder=recorder, pod_statuses=pod_statuses, tally=tally, reporter=reporter)


def build_extenders(settings: Settings, engine: EngineParts, environment: Environment) -> ExtenderDispatcher:
    """Build the dispatcher that calls extenders."""
    return ExtenderDispatcher(
        environment.extender_context,
        ExtenderLimits(parallelism=settings.parallelism),
        engine.informers["Node"].objects,
        engine.scheduler.candidate_of,
        engine.inbox.post,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingParts:
    """The parts that bind pods and their volumes."""

    binder: Binder
    volume_binder: VolumeBinder
    refusals: KubeletRefusals
    claim_repair: SelectedNodeRepair


def build_binding(
    settings: Settings,
    engine: EngineParts,
    reporting: ReportingParts,
    extenders: ExtenderDispatcher,
    environment: Environment,
) -> BindingParts:
    """Build the binder of volumes, the binder of pods, and the repair of claims."""
    client, clock, metrics = environment.client, environment.clock, environment.metrics.binding
    refusals = KubeletRefusals(client, reporting.recorder, metrics, engine.inbox.post)
    engine.informers["Pod"].subscribe(refusals.observe)
    binder = Binder(
        writer=BindingWriter(client, clock, environment.random, _binding_timeout_seconds(settings)),
        extenders=extenders,
        latest=engine.latest,
        lost_room=engine.scheduler.lost_room,
        refusals=refusals,
        metrics=metrics,
        recorder=environment.metrics.framework,
        reporter=reporting.reporter,
        post=engine.inbox.post,
        parallelism=settings.parallelism,
    )
    stores = VolumeStores(
        pods=engine.informers["Pod"].objects,
        nodes=engine.informers["Node"].objects,
        claims=engine.informers["PersistentVolumeClaim"].objects,
        volumes=engine.informers["PersistentVolume"].objects,
    )
    writer = VolumeWriter(client, stores)
    return BindingParts(
        binder=binder,
        volume_binder=VolumeBinder(writer, stores, clock, binder),
        refusals=refusals,
        claim_repair=SelectedNodeRepair(writer, stores, reporting.recorder),
    )


def _binding_timeout_seconds(settings: Settings) -> float:
    """Return the timeout of a binding.

    A binding that is sent just before this replica stops leading must time out before another replica leads.
    """
    election = settings.leader_election
    if not election.enabled:
        return REQUEST_SECONDS
    return election.lease_duration_seconds - election.renew_deadline_seconds


def build_evictor(engine: EngineParts, reporting: ReportingParts, environment: Environment) -> Evictor:
    """Build the evictor of victims. It also watches for victims that do not terminate."""
    clock, recorder, post = environment.clock, reporting.recorder, engine.inbox.post
    budgets = engine.informers["PodDisruptionBudget"].readability
    return Evictor(
        writer=VictimWriter(environment.client, clock),
        evicted=EvictedPods(engine.latest, recorder, post, clock),
        recorder=recorder,
        metrics=environment.metrics.scheduling,
        clock=clock,
        post=post,
        knows_budgets=lambda: budgets.is_current,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyParts:
    """The parts that read SchedulingPolicy objects and write their statuses."""

    policy_controller: PolicyController
    statuses: PolicyStatusWriter
    status_reporter: StatusReporter


def have_synced(informers: Iterable[Informer]) -> bool:
    """Return whether all objects that decisions need are listed."""
    return all(informer.has_synced for informer in informers)


def build_policies(
    configuration: ProcessConfiguration, engine: EngineParts, reporting: ReportingParts, environment: Environment
) -> PolicyParts:
    """Build the parts that turn SchedulingPolicy objects into profiles and write their statuses."""
    permissions = PolicyPermissions.of(configuration.settings)
    store = PolicyStore(
        build=partial(build_profile, configuration.registry, configuration.defaults, permissions=permissions),
        reserved={profile.name for profile in configuration.profiles},
        name_refusal=permissions.name_refusal,
    )
    informers, may_write = engine.informers.values(), environment.may_write
    announcer = PolicyAnnouncer(reporting.recorder.record, lambda: may_write() and have_synced(informers))
    statuses = PolicyStatusWriter(environment.client, environment.clock)
    nodes, listed = NodeFacts(engine.scheduler.snapshot), engine.informers["Node"]
    warnings = PolicyWarnings(configuration.registry.policy_plugins(), nodes, lambda: listed.has_synced)
    status_reporter = StatusReporter(store, statuses, warnings, environment.clock)
    return PolicyParts(
        policy_controller=PolicyController(store, engine.inbox.post, announcer, status_reporter, environment.clock),
        statuses=statuses,
        status_reporter=status_reporter,
    )

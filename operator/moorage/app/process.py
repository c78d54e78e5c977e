"""Everything that runs in the process, built and wired, but not yet started."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random, SystemRandom
from typing import Any

from moorage.app.gauges import register_gauges
from moorage.configuration.process_configuration import ProcessConfiguration
from moorage.controller.policies import PolicyStore
from moorage.controller.policy_announcer import PolicyAnnouncer
from moorage.controller.policy_facts import PolicyFacts
from moorage.controller.policy_keeper import PolicyKeeper
from moorage.controller.policy_profiles import build_profile
from moorage.controller.status_reporter import StatusReporter
from moorage.controller.status_writer import PolicyStatusWriter
from moorage.engine.messages import Message, TryAgain
from moorage.engine.scheduler import Scheduler
from moorage.framework.registry import Registry
from moorage.model.decode import Decoder
from moorage.model.pods.pod import Pod
from moorage.runtime.api_resources import INFORMED
from moorage.runtime.binder import Binder
from moorage.runtime.binding_writer import BindingWriter
from moorage.runtime.client.kube import REQUEST_SECONDS, KubeClient
from moorage.runtime.clock import Clock
from moorage.runtime.events.event_recorder import EventRecorder
from moorage.runtime.extenders.extender_context import ExtenderContext, ExtenderLimits
from moorage.runtime.extenders.extender_dispatcher import ClusterView, ExtendedWriter, ExtenderDispatcher
from moorage.runtime.inbox import Inbox
from moorage.runtime.informers.informer import Informer
from moorage.runtime.informers.list_watch import ListWatch
from moorage.runtime.latest_objects import LatestObjects
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.outcome_router import Carriers, OutcomeRouter
from moorage.runtime.pod_status_writer import PodStatusWriter
from moorage.runtime.preemption.evictor import Evictor
from moorage.runtime.reporter import Reporter
from moorage.runtime.scheduling_loop import SchedulingLoop
from moorage.runtime.tally import Tally
from moorage.runtime.volumes.selected_node_repair import SelectedNodeRepair
from moorage.runtime.volumes.volume_binder import Handover, VolumeBinder
from moorage.runtime.volumes.volume_stores import VolumeStores
from moorage.runtime.volumes.volume_writer import VolumeWriter
from moorage.runtime.watchdog import Watchdog
from moorage.settings import Settings

logger = logging.getLogger(__name__)

SEED_BITS = 32
KEPT_RAW = frozenset({"Pod", "Node"})
"""Kinds whose bytes extenders may ask for."""


@dataclass(slots=True, kw_only=True)
class World:
    """What the parts share: the way to the API server, time, chance, numbers, and whether this replica leads."""

    client: KubeClient
    extender_ports: ExtenderContext
    clock: Clock
    random: Random
    metrics: ProcessMetrics
    may_write: Callable[[], bool]


@dataclass(slots=True)
class Parts:
    """The parts of one process."""

    configuration: ProcessConfiguration
    world: World
    inbox: Inbox[Message] = field(init=False)
    scheduler: Scheduler = field(init=False)
    informers: dict[str, Informer] = field(init=False)
    recorder: EventRecorder = field(init=False)
    pod_statuses: PodStatusWriter = field(init=False)
    policy_statuses: PolicyStatusWriter = field(init=False)
    extenders: ExtenderDispatcher = field(init=False)
    binder: Binder = field(init=False)
    volume_binder: VolumeBinder = field(init=False)
    claim_repair: SelectedNodeRepair = field(init=False)
    evictor: Evictor = field(init=False)
    keeper: PolicyKeeper = field(init=False)
    status_reporter: StatusReporter = field(init=False)
    facts: Callable[[], PolicyFacts] = field(init=False)
    loop: SchedulingLoop = field(init=False)
    watchdog: Watchdog = field(init=False)
    _last_look: LatestObjects = field(init=False)
    _tally: Tally = field(init=False)
    _reporter: Reporter = field(init=False)

    def __post_init__(self) -> None:
        """Build, from those who are told to those who tell: every step needs those before it."""
        self._build_engine()
        self._build_reporters()
        self.extenders = self._extender_desk()
        self._build_binders()
        self.evictor = self._evictor()
        self._build_policies()
        self.facts = partial(PolicyFacts, self.scheduler, self._tally, self.extenders.degradations)
        self.loop = self._loop()
        self.watchdog = Watchdog(self.scheduler, self.may_schedule, self.world.clock)
        self._register_gauges()

    def may_schedule(self) -> bool:
        """Whether a pod may be tried: this replica leads, and all that decisions need is known."""
        return self.keeper.has_synced and self.world.may_write() and self.informers_have_synced

    @property
    def informers_have_synced(self) -> bool:
        """Whether every informer has told all there is."""
        return all(informer.has_synced for informer in self.informers.values())

    def stop_deciding(self) -> None:
        """Leave what was decided, but not begun, to the next leader; volumes that are waited for are, too."""
        self.binder.drop_queued()

    @property
    def unfinished(self) -> int:
        """How many pods are being bound."""
        return len(self.binder)

    @property
    def untold(self) -> int:
        """How much of what was done is still to be told."""
        return len(self.pod_statuses) + len(self.recorder)

    def background(self) -> Mapping[str, Callable[[], Any]]:
        """Return what runs until it is cancelled, by name."""
        informers = {f"informer-{kind}": informer.run for kind, informer in self.informers.items()}
        return {
            **informers,
            "event-recorder": self.recorder.run,
            "pod-statuses": self.pod_statuses.run,
            "policy-statuses": self.policy_statuses.run,
            "policy-reports": partial(self.status_reporter.keep_reporting, self.facts),
            "watchdog": self.watchdog.run,
            "preemption": self.evictor.run,
            "extenders": self.extenders.run,
            "claim-repair": self.claim_repair.run,
            "volume-binder": self.volume_binder.run,
            "binder": self.binder.run,
        }

    def _build_engine(self) -> None:
        """Build the engine, and what it hears of the cluster."""
        self.inbox = Inbox()
        self.scheduler = Scheduler(self._seed(), self.configuration.profiles)
        self.informers = self._informers()
        self._last_look = LatestObjects(self.informers["Pod"].objects, self.informers["Node"].objects)

    def _seed(self) -> int:
        seed = self.configuration.settings.seed
        if seed is None:
            seed = SystemRandom().getrandbits(SEED_BITS)
            logger.info("the choice among equally good nodes is seeded with %d (--seed repeats it)", seed)
        return seed

    def _informers(self) -> dict[str, Informer]:
        decoder, world = Decoder(), self.world
        return {
            resource.kind: Informer(
                ListWatch(world.client, resource, world.random),
                _digest(decoder, resource.kind),
                self.inbox.post_all,
                world.metrics.informers,
                world.clock,
            )
            for resource in INFORMED
        }

    def _build_reporters(self) -> None:
        """Build what tells people and programs."""
        world = self.world
        self.recorder = EventRecorder(world.client, socket.gethostname(), world.clock, world.metrics.recorder)
        self.pod_statuses = PodStatusWriter(world.client, self._last_look, world.clock, world.random)
        self.policy_statuses = PolicyStatusWriter(world.client, world.clock)
        self._tally = Tally()
        self._reporter = Reporter(self.recorder, self.pod_statuses, world.metrics.scheduling, self._tally, world.clock)

    def _extender_desk(self) -> ExtenderDispatcher:
        limits = ExtenderLimits(parallelism=self.configuration.settings.parallelism)
        cluster = ClusterView(self.informers["Node"].objects, self._pods_on)
        return ExtenderDispatcher(self.world.extender_ports, limits, cluster, self.inbox.post)

    def _pods_on(self, node_name: str) -> Iterable[Pod]:
        snapshot = self.scheduler.snapshot
        position = snapshot.position(node_name)
        return () if position is None else tuple(snapshot.pods_on(position))

    def _build_binders(self) -> None:
        """Build what binds volumes first and then pods, and what frees claims whose node is gone."""
        self.binder = self._binder()
        stores = self._volume_stores()
        writer = VolumeWriter(self.world.client, stores)
        handover = Handover(self.binder, self._reporter, self.inbox.post)
        self.volume_binder = VolumeBinder(writer, stores, self.world.clock, handover)
        self.claim_repair = SelectedNodeRepair(writer, stores, self.recorder)

    def _binder(self) -> Binder:
        world, settings = self.world, self.configuration.settings
        bindings = BindingWriter(world.client, world.clock, world.random, _bind_seconds(settings))
        writer = ExtendedWriter(bindings, self.extenders, lambda: self.scheduler.profiles)
        return Binder(writer, self._last_look, self._reporter, self.inbox.post, settings.parallelism)

    def _volume_stores(self) -> VolumeStores:
        return VolumeStores(
            pods=self.informers["Pod"].objects,
            nodes=self.informers["Node"].objects,
            claims=self.informers["PersistentVolumeClaim"].objects,
            volumes=self.informers["PersistentVolume"].objects,
        )

    def _evictor(self) -> Evictor:
        world = self.world
        surroundings = VictimWatch(self._last_look.exists, self.inbox.post)
        return Evictor(world.client, self.recorder, world.metrics.scheduling, world.clock, surroundings)

    def _build_policies(self) -> None:
        """Build the policy store, and the parts that pass its changes on."""
        store = PolicyStore(
            build=partial(build_profile, Registry.discover(), self.configuration.defaults),
            reserved={profile.name for profile in self.configuration.profiles},
        )
        announcer = PolicyAnnouncer(self.recorder.record)
        self.keeper = PolicyKeeper(store, self.inbox.post, announcer, self.world.clock)
        self.status_reporter = StatusReporter(store, self.policy_statuses, self.world.clock)

    def _loop(self) -> SchedulingLoop:
        carriers = Carriers(
            binder=self.volume_binder,
            reporter=self._reporter,
            evictor=self.evictor,
            extenders=self.extenders,
            claim_repair=self.claim_repair,
        )
        router = OutcomeRouter(carriers, self.may_schedule)
        world = self.world
        return SchedulingLoop(self.scheduler, self.inbox, router, world.clock, world.metrics.scheduling)

    def _register_gauges(self) -> None:
        world = self.world
        register_gauges(world.metrics, self.scheduler, self.informers.values(), self.watchdog, world.clock)


def _bind_seconds(settings: Settings) -> float:
    """Return how long a bind may take: one that was sent just before the fence is over before another can lead."""
    election = settings.leader_election
    if not election.enabled:
        return REQUEST_SECONDS
    return election.lease_duration_seconds - election.renew_deadline_seconds


def _digest(decoder: Decoder, kind: str) -> Callable[[bytes], Any]:
    if kind == "Pod":
        return partial(decoder.decode_pod, keep_raw=True)
    if kind == "Node":
        return partial(decoder.decode_node, keep_raw=True)
    return partial(decoder.decode, kind)


@dataclass(frozen=True, slots=True)
class VictimWatch:
    """What preemption knows of other pods, and whom it tells that it came to nothing."""

    is_there: Callable[[Pod], bool]
    post: Callable[[Message], None]

    def retry(self, preemptor: Pod, void_nomination: str = "") -> None:
        """Have a waiting pod tried again; its nomination to the node, if one is named, is void."""
        self.post(TryAgain(preemptor.uid, void_nomination))

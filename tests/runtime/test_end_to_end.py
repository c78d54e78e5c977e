"""The whole runtime around the real engine, against the embedded API server: pods come, are bound or told why not."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import pytest

from builders import node_object, pod_object
from fakes import Cluster, FakeObserver, Part, fixed_random, informer_metrics, running, until
from moorage.app.process import VictimWatch
from moorage.engine.messages import Message, ProfileChanged
from moorage.engine.outcomes import AskAboutVictims, CallExtenders
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import ClusterEvent
from moorage.framework.profile import Profile, ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.decode import Decoder
from moorage.runtime.api_resources import EVENT, INFORMED, NODE, POD
from moorage.runtime.binder import Binder
from moorage.runtime.binding_writer import BindingWriter
from moorage.runtime.clock import SystemClock
from moorage.runtime.events.event_recorder import EventRecorder
from moorage.runtime.inbox import Inbox
from moorage.runtime.informers.informer import Informer
from moorage.runtime.informers.list_watch import ListWatch
from moorage.runtime.latest_objects import LatestObjects
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
from moorage.sandbox.injected_faults import Fail, Reset

PROFILE = "tested"


class NoExtenders:
    def submit(self, outcome: CallExtenders | AskAboutVictims) -> None:
        raise AssertionError(outcome)


class Stack:
    """A scheduler at work."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.inbox: Inbox[Message] = Inbox()
        self.engine = Scheduler(1, [default_profile()])
        self.tally = Tally()
        self.leads = True
        clock, random, client, observer = SystemClock(), fixed_random(), cluster.client, FakeObserver()
        self.observer = observer
        decoder = Decoder()
        self.informers = {
            resource.kind: Informer(
                ListWatch(client, resource, random),
                partial(decoder.decode, resource.kind),
                self._post,
                informer_metrics(),
                clock,
            )
            for resource in INFORMED
        }
        look = LatestObjects(self.informers["Pod"].objects, self.informers["Node"].objects)
        recorder = EventRecorder(client, "host", clock, observer)
        statuses = PodStatusWriter(client, look, clock, random)
        reporter = Reporter(recorder, statuses, observer, self.tally, clock)
        binder = Binder(BindingWriter(client, clock, random), look, reporter, self.inbox.post, 4)
        evictor = Evictor(client, recorder, observer, clock, VictimWatch(look.exists, self.inbox.post))
        stores = self._stores()
        volumes = VolumeWriter(client, stores)
        volume_binder = VolumeBinder(volumes, stores, clock, Handover(binder, reporter, self.inbox.post))
        claim_repair = SelectedNodeRepair(volumes, stores, recorder)
        carriers = Carriers(
            binder=volume_binder,
            reporter=reporter,
            evictor=evictor,
            extenders=NoExtenders(),
            claim_repair=claim_repair,
        )
        router = OutcomeRouter(carriers, self._may_schedule)
        loop = SchedulingLoop(self.engine, self.inbox, router, clock, observer)
        writers: list[Part] = [recorder, statuses, volume_binder, binder, claim_repair, evictor]
        self.parts: list[Part] = [*self.informers.values(), *writers, loop]

    def _stores(self) -> VolumeStores:
        return VolumeStores(
            pods=self.informers["Pod"].objects,
            nodes=self.informers["Node"].objects,
            claims=self.informers["PersistentVolumeClaim"].objects,
            volumes=self.informers["PersistentVolume"].objects,
        )

    def _post(self, events: Iterable[ClusterEvent]) -> None:
        self.inbox.post_all(events)

    def _may_schedule(self) -> bool:
        return self.leads and all(informer.has_synced for informer in self.informers.values())

    async def node_of(self, name: str) -> str:
        pod = await self.cluster.get(POD, name, "default")
        return str(pod["spec"].get("nodeName", ""))

    async def bound(self, *names: str) -> dict[str, str]:
        async with asyncio.timeout(10):
            while True:
                nodes = {name: await self.node_of(name) for name in names}
                if all(nodes.values()):
                    return nodes
                await asyncio.sleep(0.01)

    async def condition(self, name: str, **wanted: str) -> dict[str, Any]:
        async with asyncio.timeout(10):
            while True:
                pod = await self.cluster.get(POD, name, "default")
                for condition in pod["status"].get("conditions", []):
                    if wanted.items() <= condition.items():
                        found: dict[str, Any] = condition
                        return found
                await asyncio.sleep(0.01)

    async def event(self, reason: str, name: str) -> dict[str, Any]:
        async with asyncio.timeout(10):
            while True:
                for event in await self.cluster.list(EVENT):
                    if (event["reason"], event["regarding"]["name"]) == (reason, name):
                        return event
                await asyncio.sleep(0.01)


def default_profile() -> Profile:
    return Registry.discover().build_profile(ProfileSpec(scheduler_name=PROFILE))


def waiting_pod(name: str, **fields: Any) -> dict[str, Any]:
    return pod_object(name, spec={"schedulerName": PROFILE} | fields.pop("spec", {}), **fields)


@asynccontextmanager
async def scheduling(*nodes: dict[str, Any]) -> AsyncIterator[Stack]:
    async with AsyncExitStack() as exits:
        cluster = await exits.enter_async_context(Cluster())
        for node in nodes:
            await cluster.create(NODE, node)
        stack = Stack(cluster)
        await exits.enter_async_context(running(*stack.parts))
        yield stack


async def test_pods_are_bound_and_told_so_in_an_event() -> None:
    async with scheduling(node_object("n1"), node_object("n2")) as stack:
        for number in range(10):
            await stack.cluster.create(POD, waiting_pod(f"p{number}", cpu="500m"))
        nodes = await stack.bound(*(f"p{number}" for number in range(10)))
        event = await stack.event("Scheduled", "p3")
        tally = stack.tally.of(default_profile())
    assert sorted(nodes.values()).count("n1") == 5
    assert event["note"] == f"Successfully assigned default/p3 to {nodes['p3']}"
    assert event["reportingController"] == PROFILE
    assert tally.bound == 10


async def test_a_pod_that_fits_nowhere_says_why_and_is_bound_once_a_node_comes() -> None:
    async with scheduling(node_object("small", cpu="1")) as stack:
        await stack.cluster.create(POD, waiting_pod("big", cpu="2"))
        condition = await stack.condition("big", type="PodScheduled", status="False")
        event = await stack.event("FailedScheduling", "big")
        await stack.cluster.create(NODE, node_object("large", cpu="4"))
        nodes = await stack.bound("big")
    assert condition["reason"] == "Unschedulable"
    assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert event["note"] == condition["message"]
    assert nodes == {"big": "large"}


async def test_pods_of_other_schedulers_are_left_alone() -> None:
    async with scheduling(node_object("n1")) as stack:
        await stack.cluster.create(POD, pod_object("theirs"))
        await stack.cluster.create(POD, waiting_pod("ours"))
        await stack.bound("ours")
        assert not await stack.node_of("theirs")


async def test_a_standby_binds_nothing_and_a_new_leader_at_once() -> None:
    async with scheduling(node_object("n1")) as stack:
        stack.leads = False
        await stack.cluster.create(POD, waiting_pod("p"))
        await until(lambda: stack.engine.statistics.pending_pods()["active"] == 1)
        assert not await stack.node_of("p")
        stack.leads = True
        stack.inbox.wake()
        await stack.bound("p")


async def test_a_bind_whose_answer_is_lost_is_not_repeated_and_not_forgotten() -> None:
    async with scheduling(node_object("n1")) as stack:
        stack.cluster.server.faults.add(Reset(handled=True), verb="create", path="/binding$")
        await stack.cluster.create(POD, waiting_pod("p"))
        await stack.event("Scheduled", "p")
        posts = [request for request in stack.cluster.server.requests if request.path.endswith("/p/binding")]
        assert len(posts) == 1
        assert await stack.node_of("p") == "n1"


async def test_a_refused_bind_is_told_and_tried_again() -> None:
    async with scheduling(node_object("n1")) as stack:
        stack.cluster.server.faults.add(Fail(403, "Forbidden", "no"), verb="create", path="/binding$", times=1)
        await stack.cluster.create(POD, waiting_pod("p"))
        condition = await stack.condition("p", type="PodScheduled", status="False")
        assert condition["reason"] == "SchedulerError"
        await stack.bound("p")


async def test_preemption_makes_room_and_tells_the_victim() -> None:
    async with scheduling(node_object("n1", cpu="1")) as stack:
        await stack.cluster.create(POD, waiting_pod("low", cpu="800m"))
        await stack.bound("low")
        await stack.cluster.create(
            POD, waiting_pod("high", cpu="800m", spec={"priorityClassName": "system-cluster-critical"})
        )
        event = await stack.event("Preempted", "low")
        victim = await stack.cluster.get(POD, "low", "default")
        assert victim["metadata"]["deletionTimestamp"]
        assert "DisruptionTarget" in {condition["type"] for condition in victim["status"]["conditions"]}
        assert event["related"]["name"] == "high"
        preemptor = await stack.cluster.get(POD, "high", "default")
        assert preemptor["status"]["nominatedNodeName"] == "n1"
        await stack.cluster.client.delete(POD.path("low", "default"), b'{"gracePeriodSeconds": 0}')
        await stack.bound("high")


async def test_a_new_profile_is_used_for_pods_that_wait_already(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        async with scheduling(node_object("n1")) as stack:
            await stack.cluster.create(POD, pod_object("p", spec={"schedulerName": "later"}))
            await until(lambda: "later" in stack.engine.statistics.pending_pods_by_profile())
            profile = Registry.discover().build_profile(ProfileSpec(scheduler_name="later"))
            stack.inbox.post(ProfileChanged(profile))
            await stack.bound("p")
    assert not caplog.records

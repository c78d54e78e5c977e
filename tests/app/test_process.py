"""The whole process with the embedded API server: it binds pods, or reports why a pod is not bound."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import pytest

from builders import node_object, pod_object
from extenders.server import FakeExtender
from fakes import Cluster, fixed_random, until
from moorage.api.policy_extender import PolicyExtender
from moorage.app.environment import Environment
from moorage.app.process import Process, build_process
from moorage.configuration.process_configuration import ProcessConfiguration
from moorage.engine.messages import LeadershipStarted, ProfileChanged, ProfileRemoved
from moorage.framework.profile import PolicyReference, Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.runtime.api_resources import EVENT, NODE, POD
from moorage.runtime.clock import Clock
from moorage.runtime.extenders.extender_context import ExtenderContext, open_extender_session
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.pod_reader import read_pod
from moorage.sandbox.injected_faults import Fail, Reset
from moorage.settings import Settings
from scrape import sample, series

PROFILE = "tested"
REGISTRY = Registry.discover()


class Stack:
    """A running process with its cluster."""

    def __init__(self, cluster: Cluster, context: ExtenderContext, metrics: ProcessMetrics) -> None:
        self.cluster = cluster
        self.leads = True
        self.metrics = metrics
        environment = Environment(
            client=cluster.client,
            extender_context=context,
            clock=Clock(),
            random=fixed_random(),
            metrics=self.metrics,
            may_write=lambda: self.leads,
        )
        configuration = ProcessConfiguration(
            settings=Settings(seed=1), registry=REGISTRY, profiles=(profile_called(PROFILE),)
        )
        self.process: Process = build_process(configuration, environment)
        self.process.policy_controller.has_synced = True  # no policies

    async def node_of(self, name: str) -> str:
        pod = await self.cluster.get(POD, name, "default")
        return str(pod["spec"].get("nodeName", ""))

    async def bound(self, *names: str) -> dict[str, str]:
        async with asyncio.timeout(60):
            while True:
                nodes = {name: await self.node_of(name) for name in names}
                if all(nodes.values()):
                    return nodes
                await asyncio.sleep(0.01)

    async def condition(self, name: str, **wanted: str) -> dict[str, Any]:
        async with asyncio.timeout(60):
            while True:
                pod = await self.cluster.get(POD, name, "default")
                for condition in pod["status"].get("conditions", []):
                    if wanted.items() <= condition.items():
                        found: dict[str, Any] = condition
                        return found
                await asyncio.sleep(0.01)

    async def event(self, reason: str, name: str) -> dict[str, Any]:
        async with asyncio.timeout(60):
            while True:
                for event in await self.cluster.list(EVENT):
                    if (event["reason"], event["regarding"]["name"]) == (reason, name):
                        return event
                await asyncio.sleep(0.01)


def profile_called(name: str) -> Profile:
    return REGISTRY.build_profile(ProfileSpec(scheduler_name=name))


def waiting_pod(name: str, **fields: Any) -> dict[str, Any]:
    return pod_object(name, spec={"schedulerName": PROFILE} | fields.pop("spec", {}), **fields)


@asynccontextmanager
async def scheduling(*nodes: dict[str, Any]) -> AsyncIterator[Stack]:
    async with AsyncExitStack() as exits:
        cluster = await exits.enter_async_context(Cluster())
        for node in nodes:
            await cluster.create(NODE, node)
        metrics = ProcessMetrics("api")
        context = ExtenderContext(
            session=await exits.enter_async_context(open_extender_session()),
            clock=Clock(),
            metrics=metrics.extenders,
            may_write=lambda: True,
            read_pod=partial(read_pod, cluster.client),
        )
        stack = Stack(cluster, context, metrics)
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(run()) for run in (*stack.process.background.values(), stack.process.loop.run)]
            try:
                yield stack
            finally:
                for task in running:
                    task.cancel()


async def test_pods_are_bound_and_get_an_event() -> None:
    async with scheduling(node_object("n1"), node_object("n2")) as stack:
        for number in range(10):
            await stack.cluster.create(POD, waiting_pod(f"p{number}", cpu="500m"))
        nodes = await stack.bound(*(f"p{number}" for number in range(10)))
        event = await stack.event("Scheduled", "p3")
        bound = sample(stack.metrics, "scheduler_pod_scheduling_attempts_count")
    assert sorted(nodes.values()).count("n1") == 5
    assert event["note"] == f"Successfully assigned default/p3 to {nodes['p3']}"
    assert event["reportingController"] == PROFILE
    assert bound == 10


async def test_an_unschedulable_pod_gets_the_reason_and_is_bound_after_a_node_is_added() -> None:
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


async def test_pods_of_other_schedulers_are_not_bound() -> None:
    async with scheduling(node_object("n1")) as stack:
        await stack.cluster.create(POD, pod_object("theirs"))
        await stack.cluster.create(POD, waiting_pod("ours"))
        await stack.bound("ours")
        assert not await stack.node_of("theirs")


async def test_a_standby_binds_nothing_until_it_leads() -> None:
    async with scheduling(node_object("n1")) as stack:
        stack.leads = False
        await stack.cluster.create(POD, waiting_pod("p"))
        await until(lambda: stack.process.scheduler.statistics.pending_pods()["active"] == 1)
        assert not await stack.node_of("p")
        stack.leads = True
        stack.process.inbox.post(LeadershipStarted())
        await stack.bound("p")


async def test_a_binding_whose_answer_is_lost_is_not_repeated() -> None:
    async with scheduling(node_object("n1")) as stack:
        stack.cluster.server.faults.add(Reset(handled=True), verb="create", path="/binding$")
        await stack.cluster.create(POD, waiting_pod("p"))
        await stack.event("Scheduled", "p")
        posts = [request for request in stack.cluster.server.requests if request.path.endswith("/p/binding")]
        assert len(posts) == 1
        assert await stack.node_of("p") == "n1"


async def test_a_refused_binding_is_reported_and_tried_again() -> None:
    async with scheduling(node_object("n1")) as stack:
        stack.cluster.server.faults.add(Fail(403, "Forbidden", "no"), verb="create", path="/binding$", times=1)
        await stack.cluster.create(POD, waiting_pod("p"))
        condition = await stack.condition("p", type="PodScheduled", status="False")
        assert condition["reason"] == "SchedulerError"
        await stack.bound("p")


async def test_preemption_evicts_a_victim_with_a_condition_and_binds_the_preemptor() -> None:
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


async def test_waiting_pods_are_scheduled_with_a_new_profile(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        async with scheduling(node_object("n1")) as stack:
            await stack.cluster.create(POD, pod_object("p", spec={"schedulerName": "later"}))
            await until(lambda: "later" in stack.process.scheduler.statistics.pending_pods_by_profile())
            stack.process.inbox.post(ProfileChanged(profile_called("later")))
            await stack.bound("p")
    assert not caplog.records


async def test_metrics_have_no_series_of_deleted_policies() -> None:
    async with FakeExtender() as extender, scheduling(node_object("n1", cpu="64")) as stack:
        entry = PolicyExtender.model_validate({"urlPrefix": extender.url, "filterVerb": "filter"})
        before = {tuple(labels.items()) for labels in series(stack.metrics)}
        names = [f"short-lived-{number}" for number in range(30)]
        for name in names:
            settings = ProfileSettings(extenders=(entry.model_copy(update={"url_prefix": f"{extender.url}/{name}"}),))
            reference = PolicyReference(name, f"uid-{name}", 1)
            spec = ProfileSpec(scheduler_name=name, settings=settings, policy=reference)
            stack.process.inbox.post(ProfileChanged(REGISTRY.build_profile(spec)))
            await stack.cluster.create(POD, pod_object(name, cpu="100m", spec={"schedulerName": name}))
            await stack.cluster.create(POD, pod_object(f"{name}-big", cpu="100", spec={"schedulerName": name}))
        await stack.bound(*names)
        await stack.event("FailedScheduling", f"{names[-1]}-big")
        during = series(stack.metrics)
        for name in names:
            stack.process.inbox.post(ProfileRemoved(name))
        await until(lambda: set(stack.process.scheduler.profiles) == {PROFILE})
        after = {tuple(labels.items()) for labels in series(stack.metrics)}
    assert len(during) > len(names) * 40
    assert any(names[0] in labels.get("extender", "") for labels in during)
    named = [labels for labels in after if any("short-lived" in value for _, value in labels)]
    assert named == []
    assert {dict(labels).get("profile", PROFILE) for labels in after - before} == {PROFILE}

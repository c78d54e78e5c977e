"""Preemption carried out on a real API server: conditions, deletions, evictions and budgets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from builders import DECODER, pod
from controlplane.launcher import ControlPlane
from controlplane.objects import PODS, api_session, create_objects, pause_pod
from fakes import Client, running
from moorage.engine.cycle.diagnosis import Diagnosis
from moorage.engine.outcomes import Unschedulable
from moorage.framework.profile import Profile, ProfileSettings
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.priority_sort import PrioritySort
from moorage.runtime.client.kube import KubeClient
from runtime_parts import RuntimeParts

pytestmark = pytest.mark.controlplane

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
OURS = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "gpu: preempting to accommodate a higher priority pod",
}


class Scene(RuntimeParts):
    """An evictor whose clock the test moves, with a client of the real API server."""

    def __init__(self, client: KubeClient, control_plane: ControlPlane) -> None:
        super().__init__(client=client)
        self.control_plane = control_plane

    async def preempt(self, *names: str, strict: bool = False) -> None:
        victims: list[Pod] = [DECODER.decode_object("Pod", await self.get(name)) for name in names]
        self.pods.update({victim.key: victim for victim in victims})
        self.submit(pod("high"), victims, strict=strict)

    def submit(self, preemptor: Pod, victims: Sequence[Pod], *, strict: bool) -> None:
        settings = ProfileSettings(strict_preemption=strict)
        outcome = Unschedulable(
            pod=preemptor,
            profile=Profile(name="gpu", queue_sort=PrioritySort(), settings=settings),
            message="no room",
            diagnosis=Diagnosis(total_nodes=1, reasons={}),
            nominated_node_name="n1",
            victims=victims,
            displaced=(),
            attempts=1,
            unchanged=False,
        )
        self.evictor.submit(outcome)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.01)
                await self.clock.advance(0.5)

    def count(self, reason: str) -> int:
        return sum(event.reason == reason for event in self.recorder.events)

    async def get(self, name: str) -> Any:
        async with api_session(self.control_plane) as session, session.get(f"{PODS}/{name}") as response:
            return await response.json()

    async def delete_at_once(self, name: str) -> None:
        params = {"gracePeriodSeconds": "0"}
        async with (
            api_session(self.control_plane) as session,
            session.delete(f"{PODS}/{name}", params=params) as answer,
        ):
            assert answer.status == 200, await answer.text()

    async def patch_status(self, path: str, status: Any) -> None:
        headers = {"Content-Type": "application/merge-patch+json"}
        async with (
            api_session(self.control_plane) as session,
            session.patch(f"{path}/status", data=json.dumps({"status": status}), headers=headers) as response,
        ):
            assert response.status == 200, await response.text()


@asynccontextmanager
async def preempting(control_plane: ControlPlane) -> AsyncIterator[Scene]:
    async with Client(control_plane.server, control_plane.token, control_plane.ca_file) as client:
        scene = Scene(client, control_plane)
        async with running(scene.evictor, scene.evicted_pods):
            yield scene


async def conditions(scene: Scene, name: str) -> list[dict[str, str]]:
    found = (await scene.get(name))["status"].get("conditions", [])
    return [{key: one.get(key) for key in OURS} for one in found if one["type"] == "DisruptionTarget"]


async def test_victims_are_marked_and_deleted_with_their_own_grace_period(empty_control_plane: ControlPlane) -> None:
    slow = pause_pod("slow", nodeName="n1", terminationGracePeriodSeconds=77)
    await create_objects(empty_control_plane, PODS, [slow, pause_pod("quick", nodeName="n1")])
    async with preempting(empty_control_plane) as scene:
        await scene.preempt("slow", "quick")
        await scene.until(lambda: scene.count("Preempted") == 2)

        victim = await scene.get("slow")
        assert victim["metadata"]["deletionGracePeriodSeconds"] == 77
        assert await conditions(scene, "slow") == [OURS]
        assert await conditions(scene, "quick") == [OURS]
        # No kubelet terminates them, so they exceed their grace periods.
        await scene.until(lambda: scene.count("PreemptionFailed") == 2)
        stays = [event.note for event in scene.recorder.events if event.reason == "PreemptionFailed"]
        assert "default/quick was evicted from node n1 6" in stays[0]
        assert "default/slow was evicted from node n1 1" in stays[1]


async def test_a_pod_created_again_is_not_evicted(empty_control_plane: ControlPlane) -> None:
    await create_objects(empty_control_plane, PODS, [pause_pod("low", nodeName="n1")])
    async with preempting(empty_control_plane) as scene:
        old = await scene.get("low")
        await scene.delete_at_once("low")
        await create_objects(empty_control_plane, PODS, [pause_pod("low", nodeName="n1")])
        new = await scene.get("low")
        assert old["metadata"]["uid"] != new["metadata"]["uid"]
        stale = DECODER.decode_object("Pod", old)
        # The policy is not Strict, because the eviction subresource would retry for ten seconds before the same answer.
        scene.submit(pod("high"), [stale], strict=False)
        await scene.until(lambda: not scene.evictor._preemptors)

        assert await scene.get("low") == new
        assert scene.posted == []


async def test_a_strict_policy_keeps_disruption_budgets(empty_control_plane: ControlPlane) -> None:
    body = pause_pod("guarded", nodeName="n1")
    body["metadata"] = {"name": "guarded", "labels": {"app": "db"}}
    budget = {"metadata": {"name": "db"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}}}
    await create_objects(empty_control_plane, PODS, [body])
    empty_control_plane.kubectl("delete", "pdb", "db", "--ignore-not-found")
    await create_objects(empty_control_plane, BUDGETS, [budget])
    numbers = {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    async with preempting(empty_control_plane) as scene:
        ready = {"type": "Ready", "status": "True"}
        await scene.patch_status(f"{PODS}/guarded", {"phase": "Running", "conditions": [ready]})
        await scene.patch_status(f"{BUDGETS}/db", {**numbers, "disruptionsAllowed": 0})

        await scene.preempt("guarded", strict=True)
        await scene.until(lambda: scene.posted != [])
        refused = await scene.get("guarded")
        assert "deletionTimestamp" not in refused["metadata"]
        assert await conditions(scene, "guarded") == []
        assert "violate the pod's disruption budget" in scene.recorder.notes[0]

        await scene.patch_status(f"{BUDGETS}/db", {**numbers, "disruptionsAllowed": 1})
        await scene.preempt("guarded", strict=True)
        await scene.until(lambda: scene.count("Preempted") == 1)
        assert "deletionTimestamp" in (await scene.get("guarded"))["metadata"]
        assert await conditions(scene, "guarded") == [OURS]

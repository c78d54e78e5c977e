"""Volumes are bound before their pod, by a real API server with its volume controller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from builders import DECODER
from controlplane.launcher import ControlPlane
from controlplane.objects import NODES, PODS, api_session, create_objects, pause_pod, simulated_node
from fakes import Client, fixed_random, informer_metrics, running, until
from moorage.cluster.intents import BindVolume, Intent, SelectNode
from moorage.engine.messages import BindingFinished
from moorage.runtime.api_resources import NODE, PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, Resource
from moorage.runtime.client.kube import KubeClient
from moorage.runtime.clock import Clock
from moorage.runtime.informers.informer import Informer
from moorage.runtime.informers.list_watch import ListWatch
from moorage.runtime.volumes.selected_node_repair import SelectedNodeRepair
from moorage.runtime.volumes.volume_binder import VolumeBinder
from moorage.runtime.volumes.volume_stores import VolumeStores
from moorage.runtime.volumes.volume_writer import VolumeWriter
from runtime_parts import RuntimeParts, bind_of

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
MODES = ["ReadWriteOnce"]


class Scene:
    """A volume binder and its informers. Decisions that the volume binder passes on stay in the binder's queue."""

    def __init__(self, client: KubeClient, control_plane: ControlPlane) -> None:
        self.control_plane = control_plane
        self.informers = {
            resource.kind: self._informer(client, resource)
            for resource in (POD, NODE, PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM)
        }
        stores = VolumeStores(
            pods=self.informers["Pod"].objects,
            nodes=self.informers["Node"].objects,
            claims=self.informers["PersistentVolumeClaim"].objects,
            volumes=self.informers["PersistentVolume"].objects,
        )
        self.stores, self.parts = stores, RuntimeParts()
        writer = VolumeWriter(client, stores)
        self.binder = VolumeBinder(writer, stores, Clock(), self.parts.binder)
        self.repair = SelectedNodeRepair(writer, stores, self.parts.recorder)

    @staticmethod
    def _informer(client: KubeClient, resource: Resource) -> Informer:
        source = ListWatch(client, resource, fixed_random())
        decode = partial(DECODER.decode, resource.kind)
        return Informer(source, decode, lambda _: None, informer_metrics(), Clock())

    def decide(self, *intents: Intent) -> None:
        assumed = replace(self.stores.pods["default/web"], node_name="node-a")
        self.binder.submit(bind_of(assumed, intents=intents), 0.0)

    @property
    def passed_on(self) -> int:
        return len(self.parts.binder)

    @property
    def errors(self) -> list[str | None]:
        return [message.error for message in self.parts.posted if isinstance(message, BindingFinished)]

    async def get(self, path: str) -> Any:
        async with api_session(self.control_plane) as session, session.get(path) as response:
            return await response.json()


def volume_body(name: str, **spec: Any) -> dict[str, object]:
    expressions = [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-a"]}]
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    own = {"capacity": {"storage": "1Gi"}, "accessModes": MODES, "storageClassName": "late", "nodeAffinity": affinity}
    return {"metadata": {"name": name}, "spec": {**own, "local": {"path": "/data"}, **spec}}


def claim_body(name: str, **metadata: Any) -> dict[str, object]:
    spec = {"accessModes": MODES, "storageClassName": "late", "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": name, **metadata}, "spec": spec}


@asynccontextmanager
async def opened(control_plane: ControlPlane) -> AsyncIterator[KubeClient]:
    async with Client(control_plane.server, control_plane.token, control_plane.ca_file) as client:
        yield client


@pytest.fixture
async def scene(empty_control_plane: ControlPlane) -> AsyncIterator[Scene]:
    control_plane = empty_control_plane
    control_plane.kubectl("delete", "storageclass", "late", "--ignore-not-found")
    late = {
        "metadata": {"name": "late"},
        "provisioner": "example.com/slow",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    await create_objects(control_plane, CLASSES, [late])
    node = simulated_node("node-a", labels={"kubernetes.io/hostname": "node-a"})
    await create_objects(control_plane, NODES, [node])
    sources = [{"name": "stale", "persistentVolumeClaim": {"claimName": "stale"}}]
    await create_objects(control_plane, PODS, [pause_pod("web", volumes=sources)])
    async with opened(control_plane) as client:
        made = Scene(client, control_plane)
        async with running(*made.informers.values(), made.binder, made.repair):
            await until(lambda: all(informer.has_synced for informer in made.informers.values()))
            yield made


async def test_claims_are_bound_to_existing_and_to_provisioned_volumes(scene: Scene) -> None:
    control_plane = scene.control_plane
    await create_objects(control_plane, VOLUMES, [volume_body("pv-there")])
    await create_objects(control_plane, CLAIMS, [claim_body("static"), claim_body("dynamic")])
    await until(lambda: {"default/static", "default/dynamic"} <= scene.stores.claims.keys() and scene.stores.volumes)
    static, dynamic = scene.stores.claims["default/static"], scene.stores.claims["default/dynamic"]
    controllers = ["persistentvolume-binder-controller"]
    with await asyncio.to_thread(control_plane.start_controller_manager, controllers):
        scene.decide(
            BindVolume(
                volume_name="pv-there",
                volume_resource_version=scene.stores.volumes["pv-there"].resource_version,
                claim_namespace="default",
                claim_name="static",
                claim_uid=static.uid,
            ),
            SelectNode(
                claim_namespace="default",
                claim_name="dynamic",
                claim_resource_version=dynamic.resource_version,
                node_name="node-a",
            ),
        )
        await until(lambda: scene.stores.claims["default/dynamic"].selected_node == "node-a")
        assert scene.passed_on == 0
        # This is the provisioner's part: it creates a volume for the claim.
        reference = {"namespace": "default", "name": "dynamic", "uid": dynamic.uid}
        await create_objects(control_plane, VOLUMES, [volume_body("pv-made", claimRef=reference)])
        await until(lambda: scene.passed_on or scene.errors, seconds=30)

    assert scene.errors == []
    assert scene.stores.claims["default/static"].volume_name == "pv-there"
    assert scene.stores.claims["default/dynamic"].volume_name == "pv-made"
    annotations = (await scene.get(f"{VOLUMES}/pv-there"))["metadata"]["annotations"]
    assert annotations["pv.kubernetes.io/bound-by-controller"] == "yes"


async def test_a_volume_that_changed_after_the_decision_fails_the_attempt(scene: Scene) -> None:
    control_plane = scene.control_plane
    await create_objects(control_plane, VOLUMES, [volume_body("pv-changed")])
    await create_objects(control_plane, CLAIMS, [claim_body("unlucky")])
    await until(lambda: "default/unlucky" in scene.stores.claims and "pv-changed" in scene.stores.volumes)
    seen = scene.stores.volumes["pv-changed"].resource_version
    control_plane.kubectl("label", "pv", "pv-changed", "changed=yes")
    scene.decide(
        BindVolume(
            volume_name="pv-changed",
            volume_resource_version=seen,
            claim_namespace="default",
            claim_name="unlucky",
            claim_uid=scene.stores.claims["default/unlucky"].uid,
        )
    )
    await until(lambda: scene.errors)

    assert scene.passed_on == 0
    assert "the object has been modified" in (scene.errors[0] or "")
    assert "claimRef" not in (await scene.get(f"{VOLUMES}/pv-changed"))["spec"]


async def test_a_selected_node_that_does_not_exist_is_cleared(scene: Scene) -> None:
    annotations = {"volume.kubernetes.io/selected-node": "node-gone"}
    await create_objects(scene.control_plane, CLAIMS, [claim_body("stale", annotations=annotations)])
    await until(lambda: "default/stale" in scene.stores.claims)

    scene.repair.submit(scene.stores.pods["default/web"])
    await until(lambda: scene.stores.claims["default/stale"].selected_node is None)

    assert json.dumps(annotations) not in json.dumps(await scene.get(f"{CLAIMS}/stale"))
    assert scene.parts.recorder.events[0].reason == "SelectedNodeGone"

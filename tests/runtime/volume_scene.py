"""A running volume binder with decisions about two claims. The test changes the objects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from builders import make, node, pod
from fakes import Sent, running, settle
from moorage.cluster.intents import BindVolume, Intent, SelectNode
from moorage.engine.messages import BindingFinished
from moorage.framework.profile import Profile
from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim
from moorage.plugins.upstream.priority_sort import PrioritySort
from moorage.plugins.upstream.volume_binding import VolumeBinding
from runtime_parts import RuntimeParts, bind_of

TIMEOUT_SECONDS = 60
SELECTED_NODE = "volume.kubernetes.io/selected-node"
POD = pod("web", node="n1")
PROFILE = Profile(name="gpu", queue_sort=PrioritySort(), reserve=(VolumeBinding(bind_timeout_seconds=TIMEOUT_SECONDS),))
BIND_VOLUME = BindVolume(
    volume_name="pv",
    volume_resource_version="10",
    claim_namespace="default",
    claim_name="data",
    claim_uid="uid-data",
)
SELECT_NODE = SelectNode(claim_namespace="default", claim_name="cache", claim_resource_version="20", node_name="n1")
PATCH_VOLUME = "PATCH /api/v1/persistentvolumes/pv"
PATCH_CLAIM = "PATCH /api/v1/namespaces/default/persistentvolumeclaims/cache"


class VolumeScene(RuntimeParts):
    """Parts with a volume binder that runs. Decisions that the volume binder passes on stay in the binder's queue."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.see(POD, node("n1", labels={"zone": "a"}), claim("data", "9"), claim("cache", "20"), volume("pv", "10"))
        self.answers: dict[str, Any] = {
            PATCH_VOLUME: volume_object("pv", "11", claim="data"),
            PATCH_CLAIM: claim_object("cache", "21", node_name="n1"),
        }

    def _answer(self, sent: Sent) -> Any:
        answer = self.answers[f"{sent.method} {sent.path}"]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def decide(self, *intents: Intent) -> None:
        """Submit the decision to bind the pod after these writes."""
        self.volume_binder.submit(bind_of(POD, profile=PROFILE, intents=intents), self.clock.now)

    async def wait(self, seconds: float = 1) -> None:
        """Let all tasks run, and then move the clock."""
        await settle()
        await self.clock.advance(seconds)

    def see(self, *objects: Any) -> None:
        """Put objects into the informers' stores."""
        stores: dict[str, dict[str, Any]] = {
            "Pod": self.pods,
            "Node": self.nodes,
            "PersistentVolume": self.volumes,
            "PersistentVolumeClaim": self.claims,
        }
        for one in objects:
            key = one.key if hasattr(one, "key") else one.name
            stores[type(one).__name__][key] = one

    @property
    def passed_on(self) -> int:
        """Number of decisions that reached the binder."""
        return len(self.binder)

    @property
    def failures(self) -> list[str | None]:
        """The errors in the messages to the engine."""
        return [message.error for message in self.posted if isinstance(message, BindingFinished)]


@asynccontextmanager
async def binding_volumes() -> AsyncIterator[VolumeScene]:
    """Yield a scene whose volume binder runs."""
    made = VolumeScene()
    async with running(made.volume_binder):
        yield made


def claim_object(name: str, version: str, *, volume: str = "", node_name: str = "", bound: bool = False) -> Any:
    """Make a claim as a dict."""
    annotations = {
        **({"pv.kubernetes.io/bind-completed": "yes"} if bound else {}),
        **({SELECTED_NODE: node_name} if node_name else {}),
    }
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": version}
    return {
        "metadata": {**metadata, "annotations": annotations},
        "spec": {"storageClassName": "fast", "volumeName": volume, "resources": {"requests": {"storage": "1Gi"}}},
    }


def volume_object(name: str, version: str, *, claim: str = "", uid: str | None = None, zone: str = "") -> Any:
    """Make a volume as a dict."""
    reference = {"namespace": "default", "name": claim, "uid": f"uid-{claim}" if uid is None else uid}
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]
    return {
        "metadata": {"name": name, "resourceVersion": version},
        "spec": {
            "capacity": {"storage": "1Gi"},
            **({"claimRef": reference} if claim else {}),
            **({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if zone else {}),
        },
    }


def claim(name: str, version: str, **fields: Any) -> PersistentVolumeClaim:
    """Make a claim as the engine reads it. The parameters are those of `claim_object`."""
    made: PersistentVolumeClaim = make("PersistentVolumeClaim", claim_object(name, version, **fields))
    return made


def volume(name: str, version: str, **fields: Any) -> PersistentVolume:
    """Make a volume as the engine reads it. The parameters are those of `volume_object`."""
    made: PersistentVolume = make("PersistentVolume", volume_object(name, version, **fields))
    return made

"""The real parts that carry out outcomes, with a fake API server and stores that the test fills.

    parts = RuntimeParts()
    parts.pods["default/p"], parts.nodes["n1"] = pod("p"), node("n1")
    parts.binder.submit(bind_of(pod("p", node="n1")), 0.0)
    async with running(parts.binder):
        await settle()

Then `parts.api.sent` has the requests to the API server, and `parts.posted` the messages to the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakes import FakeApi, FakeClock, FakeDispatcher, FakeRecorder, FakeStatuses, Sent, fixed_random
from moorage.engine.messages import Message
from moorage.engine.outcomes import Bind
from moorage.framework.profile import Profile
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim
from moorage.plugins.upstream.priority_sort import PrioritySort
from moorage.runtime.binder import Binder
from moorage.runtime.binding_writer import BindingWriter
from moorage.runtime.client.kube import KubeClient
from moorage.runtime.kubelet_refusals import KubeletRefusals
from moorage.runtime.latest_objects import LatestObjects
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.outcome_router import OutcomeRouter
from moorage.runtime.preemption.evicted_pods import EvictedPods
from moorage.runtime.preemption.evictor import Evictor
from moorage.runtime.preemption.victim_writer import VictimWriter
from moorage.runtime.reporter import Reporter
from moorage.runtime.tally import Tally
from moorage.runtime.volumes.selected_node_repair import SelectedNodeRepair
from moorage.runtime.volumes.volume_binder import VolumeBinder
from moorage.runtime.volumes.volume_stores import VolumeStores
from moorage.runtime.volumes.volume_writer import VolumeWriter

GOLD = Profile(name="gold", queue_sort=PrioritySort())


def accept(sent: Sent) -> Any:
    """Answer every request as the API server answers a binding."""
    del sent
    return {"kind": "Status"}


class RuntimeParts:
    """The parts around the scheduling loop. Only the test moves their clock."""

    def __init__(
        self, answer: Callable[[Sent], Any] = accept, *, parallelism: int = 2, client: KubeClient | None = None
    ) -> None:
        """Use `client`. If it is None, use a client of the fake API server."""
        self.clock, self.api, self.metrics = FakeClock(), FakeApi(answer), ProcessMetrics("api")
        self.recorder, self.statuses, self.tally = FakeRecorder(), FakeStatuses(), Tally()
        self.extenders = FakeDispatcher()
        self.leads = True
        self.posted: list[Message] = []
        self.pods: dict[str, Pod] = {}
        self.nodes: dict[str, Node] = {}
        self.claims: dict[str, PersistentVolumeClaim] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        client = client or self.api.client()
        latest = LatestObjects(self.pods, self.nodes)
        stores = VolumeStores(pods=self.pods, nodes=self.nodes, claims=self.claims, volumes=self.volumes)
        volume_writer = VolumeWriter(client, stores)
        self.reporter = Reporter(self.recorder, self.statuses, self.metrics.scheduling, self.tally, self.clock)
        self.lost_room: dict[str, str] = {}
        """The reason why a pod does not fit on its node any more, by the pod's uid."""
        self.kubelet_refusals = KubeletRefusals(client, self.recorder, self.metrics.binding, self.posted.append)
        self.binder = Binder(
            writer=BindingWriter(client, self.api.clock, fixed_random()),
            extenders=self.extenders,
            latest=latest,
            lost_room=lambda bind: self.lost_room.get(bind.pod.uid, ""),
            refusals=self.kubelet_refusals,
            metrics=self.metrics.binding,
            recorder=self.metrics.framework,
            reporter=self.reporter,
            post=self.posted.append,
            parallelism=parallelism,
        )
        self.volume_binder = VolumeBinder(volume_writer, stores, self.clock, self.binder)
        self.claim_repair = SelectedNodeRepair(volume_writer, stores, self.recorder)
        self.evicted_pods = EvictedPods(latest, self.recorder, self.posted.append, self.clock)
        self.evictor = Evictor(
            writer=VictimWriter(client, self.clock),
            evicted=self.evicted_pods,
            recorder=self.recorder,
            metrics=self.metrics.scheduling,
            clock=self.clock,
            post=self.posted.append,
        )
        self.router = OutcomeRouter(
            may_schedule=lambda: self.leads,
            volume_binder=self.volume_binder,
            reporter=self.reporter,
            evictor=self.evictor,
            extenders=self.extenders,
            claim_repair=self.claim_repair,
        )

    @property
    def sent(self) -> list[str]:
        """The requests to the API server, as `PATCH low/status`."""
        return [f"{sent.method} {_short(sent.path)}" for sent in self.api.sent]


def bind_of(assumed: Pod, *, profile: Profile = GOLD, intents: Sequence[object] = (), attempts: int = 1) -> Bind:
    """Return the decision to bind a pod to its `node_name`."""
    return Bind(
        pod=assumed,
        node_name=assumed.node_name,
        profile=profile,
        intents=intents,
        attempts=attempts,
        first_attempt_at=FakeClock().now - 5,
    )


def _short(path: str) -> str:
    """Return the part of a path after the resource."""
    for resource in ("/pods/", "/persistentvolumes/", "/persistentvolumeclaims/"):
        _, found, rest = path.rpartition(resource)
        if found:
            return rest
    return path

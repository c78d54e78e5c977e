"""Finds pods that a kubelet refused after the binding because its node is full (OutOfcpu, OutOfmemory, OutOfpods).

A refused pod has the phase Failed. The informer of pods leaves out finished pods, so it reports a refused pod as
deleted. This module reads each pod that disappears before it starts. If the kubelet refused the pod, the engine prefers
other nodes for a while.
Upstream: pkg/kubelet/lifecycle/predicate.go (the reasons).
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

from moorage.engine.messages import NodeRefused
from moorage.errors import ApiError, ApiUnreachable
from moorage.framework.cluster_events import Action
from moorage.nested_json import decode_nested
from moorage.runtime.api_resources import POD
from moorage.runtime.events.event import Event, pod_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moorage.engine.outcomes import Bind
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.events.event_recorder import EventRecorder
    from moorage.runtime.metrics.binding_metrics import BindingMetrics

logger = logging.getLogger(__name__)

MAX_WATCHED = 10_000
"""The number of recently bound pods that are remembered. A kubelet refuses a pod within seconds after the binding, so
older pods are not needed."""
MAX_QUEUED = 1000
"""The number of pods that may wait to be read. Further pods are not read."""
OUT_OF = "OutOf"
REASONS = ("OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage")
"""The reasons that the metric counts under their own names. All other reasons name extended resources. The metric
counts them as `OutOfother`, because users choose the names of extended resources."""


class _Metadata(msgspec.Struct):
    uid: str = ""


class _Status(msgspec.Struct):
    phase: str = ""
    reason: str = ""


class _FinishedPod(msgspec.Struct):
    metadata: _Metadata
    status: _Status = msgspec.field(default_factory=_Status)


class KubeletRefusals:
    """The pods that were bound last, and the pods among them that disappeared before they started."""

    def __init__(
        self,
        client: KubeClient,
        recorder: EventRecorder,
        metrics: BindingMetrics,
        post: Callable[[NodeRefused], None],
    ) -> None:
        """Read pods through `client`. Report refused pods to `recorder`, `metrics` and `post`."""
        self._client = client
        self._recorder = recorder
        self._metrics = metrics
        self._post = post
        self._bound: OrderedDict[str, Bind] = OrderedDict()
        self._queue: asyncio.Queue[Bind] = asyncio.Queue(MAX_QUEUED)
        self._decoder = msgspec.json.Decoder(_FinishedPod)

    def add(self, bind: Bind) -> None:
        """Remember a pod that is about to be bound."""
        self._bound[bind.pod.uid] = bind
        if len(self._bound) > MAX_WATCHED:
            self._bound.popitem(last=False)

    def observe(self, events: Iterable[ClusterEvent]) -> None:
        """Queue the bound pods that were deleted before they started.

        A kubelet does not refuse a pod that has started.
        """
        for event in events:
            if event.action is not Action.DELETE:
                continue
            bind = self._bound.pop(event.old.uid, None)
            if bind is not None and event.old.start_time is None and not self._queue.full():
                self._queue.put_nowait(bind)

    async def run(self) -> None:
        """Read queued pods until cancelled."""
        while True:
            bind = await self._queue.get()
            reason = await self._refusal_of(bind)
            if reason:
                self._report(bind, reason)

    async def _refusal_of(self, bind: Bind) -> str:
        """Return the reason if the kubelet refused the pod because the node is full; otherwise return an empty text."""
        try:
            path = POD.path(bind.pod.name, bind.pod.namespace)
            pod = decode_nested(self._decoder.decode, await self._client.get(path))
        except (ApiError, ApiUnreachable, msgspec.DecodeError) as error:
            logger.debug("Pod %s is gone and cannot be read: %s", bind.pod.key, error)
            return ""
        is_refused = pod.metadata.uid == bind.pod.uid and pod.status.phase == "Failed"
        return pod.status.reason if is_refused and pod.status.reason.startswith(OUT_OF) else ""

    def _report(self, bind: Bind, reason: str) -> None:
        logger.warning(
            "The kubelet of node %s refused pod %s with %s, although the node has room by the API server's objects. "
            "moorage prefers other nodes for a while. Look for pods that were deleted by force, and for other "
            "schedulers",
            bind.node_name, bind.pod.key, reason,
        )  # fmt: skip
        self._metrics.observe_kubelet_refusal(reason if reason in REASONS else f"{OUT_OF}other")
        note = f"The kubelet of node {bind.node_name} refused the pod ({reason}); other nodes are preferred for a while"
        self._recorder.record(
            Event(
                regarding=pod_reference(bind.pod),
                reason="KubeletRefused",
                action="Binding",
                note=note,
                reporter=bind.profile.name,
                warning=True,
            )
        )
        self._post(NodeRefused(bind.pod, bind.node_name, bind.profile))

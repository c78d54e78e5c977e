"""Writes the PodScheduled condition and `nominatedNodeName` of pods that are not scheduled.

cluster-autoscaler and Karpenter add nodes for pods with the reason Unschedulable. So only pods that fit on no node get
this reason, with kube-scheduler's message. The condition is written only when it changes. If several changes wait for
one pod, only the last is written.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.errors import ApiError, ApiUnreachable, Conflict, NotFound, NotLeader
from moorage.outside_text import one_line
from moorage.runtime.api_resources import POD
from moorage.runtime.backoff import ExponentialBackoff
from moorage.runtime.client.kube import STRATEGIC_MERGE_PATCH
from moorage.runtime.client.reachability import level_of
from moorage.runtime.timestamps import whole_time

if TYPE_CHECKING:
    from random import Random

    from moorage.model.pods.pod import Pod
    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.clock import Clock
    from moorage.runtime.latest_objects import LatestObjects

logger = logging.getLogger(__name__)

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
FALSE = "False"
MESSAGE_CHARACTERS = 32_768
"""The longest message: the limit of `metav1.Condition`. Kubernetes sets no limit for the condition of a pod."""
PARALLEL_WRITES = 8
RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class PodScheduled:
    """The reason why a pod is not scheduled, and the node that it is nominated to."""

    reason: str
    message: str
    nominated_node_name: str | None = None
    """An empty name clears `status.nominatedNodeName`. None leaves it unchanged."""

    def __post_init__(self) -> None:
        """Cut the message. Its length grows with the number of nodes, and the API server limits the size of objects."""
        object.__setattr__(self, "message", one_line(self.message, MESSAGE_CHARACTERS))

    def differs_from(self, pod: Pod) -> bool:
        """Return whether the pod's last known status differs from this one."""
        if pod.scheduled_condition != (FALSE, self.reason, self.message):
            return True
        return self.nominated_node_name is not None and self.nominated_node_name != pod.nominated_node_name

    def patch(self, pod: Pod, now: float) -> bytes:
        """Return a strategic merge patch. Its uid prevents a change to another pod of the same name."""
        condition: dict[str, Any] = {
            "type": "PodScheduled",
            "status": FALSE,
            "reason": self.reason,
            "message": self.message,
        }
        if pod.generation:
            condition["observedGeneration"] = pod.generation
        if pod.scheduled_condition is None or pod.scheduled_condition[0] != FALSE:
            condition["lastTransitionTime"] = whole_time(now)
        status: dict[str, Any] = {"conditions": [condition]}
        if self.nominated_node_name is not None:
            status["nominatedNodeName"] = self.nominated_node_name or None
        return msgspec.json.encode({"metadata": {"uid": pod.uid}, "status": status})


class PodStatusWriter:
    """The writer of pods' statuses. It writes the statuses of one pod one after the other."""

    def __init__(self, client: KubeClient, latest: LatestObjects, clock: Clock, random: Random) -> None:
        """Write through `client`, but only while `latest` shows that the pod is pending."""
        self._client = client
        self._latest = latest
        self._clock = clock
        self._random = random
        self._wanted: dict[str, tuple[Pod, PodScheduled]] = {}
        self._queue: asyncio.Queue[str] = asyncio.Queue()

    def __len__(self) -> int:
        """Return the number of pods with a status that is not written yet."""
        return len(self._wanted)

    def submit(self, pod: Pod, wanted: PodScheduled) -> None:
        """Queue a status if the pod does not have it already."""
        if pod.uid in self._wanted:
            self._wanted[pod.uid] = (pod, wanted)
        elif wanted.differs_from(pod):
            self._wanted[pod.uid] = (pod, wanted)
            self._queue.put_nowait(pod.uid)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(PARALLEL_WRITES):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            uid = await self._queue.get()
            while True:
                pod, wanted = entry = self._wanted[uid]
                await self._write(pod, wanted)
                if self._wanted[uid] is entry:
                    del self._wanted[uid]
                    break

    async def _write(self, pod: Pod, wanted: PodScheduled) -> None:
        """Write the status. Retry until it is written, a newer status replaces it, or the pod is no longer pending."""
        backoff = ExponentialBackoff(RETRY_SECONDS, MAX_RETRY_SECONDS, self._random)
        path = f"{POD.path(pod.name, pod.namespace)}/status"
        while self._latest.is_pending(pod) and self._wanted[pod.uid][1] is wanted:
            try:
                await self._client.patch(path, wanted.patch(pod, self._clock.time()), STRATEGIC_MERGE_PATCH)
            except (NotFound, Conflict, NotLeader):
                return  # the pod was deleted or created again, or the next leader writes its status
            except (ApiError, ApiUnreachable) as error:
                if backoff.failures == 0:
                    message = "The status of pod %s cannot be written, trying again: %s"
                    logger.log(level_of(error), message, pod.key, error)
                await self._clock.sleep(backoff.next_seconds())
            else:
                return

"""Measures the highest rate: a loop binds each waiting pod to the next node and writes its event. It decides nothing.

It uses moorage's own client, connections, writer and recorder. Therefore, the difference to moorage is the cost of
watches, cache, queue and decisions. It prints its CPU time and peak memory as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from random import Random

import msgspec
from prometheus_client import CollectorRegistry

from moorage.model.decode import Decoder
from moorage.model.pods.pod import Pod
from moorage.runtime.api_resources import NODE, POD, Resource
from moorage.runtime.binding_writer import BindingWriter
from moorage.runtime.client.credentials import load_credentials
from moorage.runtime.client.kube import KubeClient
from moorage.runtime.client.pooled_transport import open_transport
from moorage.runtime.client.rate_limiter import RateLimiter
from moorage.runtime.client.server_access import ServerAccess
from moorage.runtime.clock import Clock
from moorage.runtime.events.event import scheduled
from moorage.runtime.events.event_recorder import EventRecorder
from moorage.runtime.informers.list_watch import ListWatch
from moorage.runtime.metrics.client_metrics import ClientMetrics
from moorage.runtime.metrics.recorder_metrics import RecorderMetrics
from moorage.settings import Settings

PARALLELISM = Settings().parallelism
CONNECTIONS = 64
DRAIN_POLL_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class BindLoop:
    """A loop that writes bindings and events."""

    writer: BindingWriter
    recorder: EventRecorder

    async def run(self, waiting: Iterator[tuple[Pod, str]]) -> None:
        """Bind each pod to its node, with moorage's parallelism, and wait until all events are written."""
        recording = asyncio.create_task(self.recorder.run())
        async with asyncio.TaskGroup() as tasks:
            for _ in range(PARALLELISM):
                tasks.create_task(self._bind_waiting(waiting))
        while len(self.recorder):  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(DRAIN_POLL_SECONDS)
        recording.cancel()

    async def _bind_waiting(self, waiting: Iterator[tuple[Pod, str]]) -> None:
        for pod, node_name in waiting:
            await self.writer.bind(pod, node_name)
            self.recorder.record(scheduled(pod, node_name, pod.scheduler_name))


async def main(kubeconfig: Path) -> None:
    """Bind all waiting pods, and print the cost."""
    clock, random = Clock(), Random()
    credentials = await load_credentials(str(kubeconfig), clock)
    registry = CollectorRegistry()
    async with open_transport(ServerAccess(credentials, clock), CONNECTIONS) as transport:
        client = KubeClient(transport, clock, RateLimiter(0, 0, clock), ClientMetrics(registry, credentials.server))
        decoder = Decoder()
        nodes = [decoder.decode_node(bytes(raw)).name for raw in await _list(client, NODE)]
        pods = [decoder.decode_pod(bytes(raw)) for raw in await _list(client, POD)]
        recorder = EventRecorder(client, "bind-loop", clock, RecorderMetrics(registry))
        loop = BindLoop(BindingWriter(client, clock, random), recorder)
        started = time.process_time()
        await loop.run(zip((pod for pod in pods if not pod.node_name), cycle(nodes), strict=False))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpuSeconds": time.process_time() - started, "peakMegabytes": peak}))


async def _list(client: KubeClient, kind: Resource) -> list[msgspec.Raw]:
    return [raw async for page in ListWatch(client, kind, Random()).pages() for raw in page]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    asyncio.run(main(parser.parse_args().kubeconfig))

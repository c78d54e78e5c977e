"""Calls extenders in tests: the extenders of a profile with a fake clock, and pods and nodes with their whole JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from builders import DECODER, node_object, pod_object
from extenders.server import FakeExtender
from fakes import FakeClock
from moorage.api.extender import Extender
from moorage.engine.messages import ExtendersAnswered
from moorage.errors import NotFound
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.runtime.extenders.extender_context import ExtenderContext, ExtenderLimits, open_extender_session
from moorage.runtime.extenders.profile_extenders import ProfileExtenders
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.tls.tls_contexts import ClientTls

GPU = "example.com/gpu"


@dataclass
class FakeCluster:
    """The cluster functions that an ExtenderContext needs: whether this replica leads, and the JSON of pods."""

    objects: dict[str, bytes] = field(default_factory=dict)
    """The pods' JSON by uid."""
    leads: bool = True
    reads: int = 0

    def may_write(self) -> bool:
        return self.leads

    async def read_pod(self, pod: Pod) -> bytes:
        self.reads += 1
        await asyncio.sleep(0)
        if pod.uid not in self.objects:
            raise NotFound(404, "NotFound", f'pods "{pod.name}" not found')
        return self.objects[pod.uid]


@dataclass
class Caller:
    """The extenders of a profile, and the dependencies that a test can change."""

    extenders: ProfileExtenders
    context: ExtenderContext
    clock: FakeClock
    metrics: ProcessMetrics
    cluster: FakeCluster

    async def ask(self, *node_names: str) -> ExtendersAnswered:
        """Filter and score these nodes for a pod."""
        return await self.extenders.filter_and_prioritize(whole_pod(), whole_nodes(*node_names))


@asynccontextmanager
async def calling(
    *configurations: Mapping[str, Any],
    kind: type[Extender] = Extender,
    policy_files: Path | None = None,
    tls_strict: bool = False,
    **limits: Any,
) -> AsyncIterator[Caller]:
    """Build the extenders of a profile from dicts. `kind` is Extender (configuration file) or PolicyExtender."""
    clock, metrics, cluster = FakeClock(), ProcessMetrics("api"), FakeCluster()
    async with open_extender_session(ClientTls().context(strict=tls_strict)) as session:
        context = ExtenderContext(
            session=session,
            clock=clock,
            metrics=metrics.extenders,
            may_write=cluster.may_write,
            read_pod=cluster.read_pod,
            policy_files=policy_files,
            tls_strict=tls_strict,
        )
        configured = [kind.model_validate(configuration) for configuration in configurations]
        extenders = ProfileExtenders(configured, context, ExtenderLimits(**limits))
        yield Caller(extenders, context, clock, metrics, cluster)


def configured(extender: FakeExtender, **fields: Any) -> dict[str, Any]:
    """Return the configuration of an extender that filters and prioritizes. `fields` add or replace fields."""
    verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 2, "nodeCacheCapable": True}
    return {"urlPrefix": extender.url, **verbs, **fields}


def whole_pod(name: str = "p", **fields: Any) -> Pod:
    """Return a pending pod that keeps its whole JSON; for `fields` see `pod_object`."""
    raw = json.dumps(pod_object(name, **fields)).encode()
    return replace(DECODER.decode_pod(raw), raw=raw)


def whole_nodes(*names: str, **fields: Any) -> dict[str, Node]:
    """Return nodes that keep their whole JSON; for `fields` see `node_object`."""
    return {
        name: DECODER.decode_node(json.dumps(node_object(name, **fields)).encode(), keep_raw=True) for name in names
    }

"""Shared by tests of extenders: a caller with all its dependencies, and objects that keep their full JSON."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from builders import DECODER, node_object, pod_object
from fakes import FakeClock, FakeObserver
from moorage.api.extender import Extender
from moorage.errors import NotFound
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.runtime.extenders.extender_context import ExtenderContext, ExtenderLimits, open_extender_session
from moorage.runtime.extenders.profile_extenders import ProfileExtenders


@dataclass
class Caller:
    """The extenders of a profile, with the dependencies that a test can change."""

    clock: FakeClock
    observer: FakeObserver
    objects: dict[str, bytes] = field(default_factory=dict)
    leads: bool = True
    ports: ExtenderContext = field(init=False)
    extenders: ProfileExtenders = field(init=False)

    async def read_pod(self, pod: Pod) -> bytes:
        if pod.uid not in self.objects:
            raise NotFound(404, "NotFound", f'pods "{pod.name}" not found')
        return self.objects[pod.uid]


@asynccontextmanager
async def calling(*configurations: Mapping[str, Any], **limits: Any) -> AsyncIterator[Caller]:
    """Yield a caller of extenders; `configurations` are dicts as in a policy."""
    caller = Caller(FakeClock(), FakeObserver())
    async with open_extender_session() as session:
        caller.ports = ExtenderContext(
            session=session,
            clock=caller.clock,
            observer=caller.observer,
            may_write=lambda: caller.leads,
            read_pod=caller.read_pod,
        )
        extenders = [Extender.model_validate(configuration) for configuration in configurations]
        caller.extenders = ProfileExtenders(extenders, caller.ports, ExtenderLimits(**limits))
        yield caller


def whole_pod(name: str = "p", **fields: Any) -> Pod:
    """Return a waiting pod that keeps its full JSON; for `fields` see `pod_object`."""
    return DECODER.decode_pod(json.dumps(pod_object(name, **fields)).encode(), keep_raw=True)


def whole_nodes(*names: str, **fields: Any) -> dict[str, Node]:
    """Return nodes that keep their full JSON; for `fields` see `node_object`."""
    return {
        name: DECODER.decode_node(json.dumps(node_object(name, **fields)).encode(), keep_raw=True) for name in names
    }

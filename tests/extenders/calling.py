"""What tests of extenders have in common: a caller with everything it needs, and objects that are known in full."""

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
    """A caller, and what it was built from."""

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
    """Build a caller of these extenders: dicts as in a policy."""
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
    """Make a pod that waits, known in full."""
    return DECODER.pod(json.dumps(pod_object(name, **fields)).encode(), keep_raw=True)


def whole_nodes(*names: str, **fields: Any) -> dict[str, Node]:
    """Make nodes that are known in full; `fields` as for `node_object`."""
    return {name: DECODER.node(json.dumps(node_object(name, **fields)).encode(), keep_raw=True) for name in names}

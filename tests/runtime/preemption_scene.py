"""A running evictor, a preemptor and victims."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from builders import pod
from fakes import Sent, running, settle
from moorage.engine.cycle.diagnosis import Diagnosis
from moorage.engine.outcomes import Unschedulable
from moorage.framework.profile import Profile, ProfileSettings
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.priority_sort import PrioritySort
from runtime_parts import RuntimeParts

PREEMPTOR = pod("high", priority=100, metadata={"uid": "uid-of-high"}, status={"nominatedNodeName": "n1"})


class PreemptionScene(RuntimeParts):
    """Parts with an evictor that runs."""

    def submit(self, victims: Iterable[Pod], *, displaced: Iterable[Pod] = (), strict: bool = False) -> None:
        """Submit an outcome whose victims are these pods."""
        settings = ProfileSettings(strict_preemption=strict)
        self.evictor.submit(
            Unschedulable(
                pod=PREEMPTOR,
                profile=Profile(name="gpu", queue_sort=PrioritySort(), settings=settings),
                message="no room",
                diagnosis=Diagnosis(total_nodes=1, reasons={}),
                nominated_node_name="n1",
                victims=tuple(victims),
                displaced=tuple(displaced),
                attempts=1,
                unchanged=False,
            )
        )

    async def wait(self, seconds: float = 0) -> None:
        """Let all tasks run, and then move the clock."""
        for _ in range(10):
            await settle()
        await self.clock.advance(seconds)

    def events(self) -> list[tuple[str, str]]:
        """The reason of each event, and the name of its pod."""
        return [(event.reason, event.regarding.name) for event in self.recorder.events]


@asynccontextmanager
async def preempting(answer: Callable[[Sent], Any] = lambda _: {}) -> AsyncIterator[PreemptionScene]:
    """Yield a scene in which the evictor and the check of evicted pods run."""
    made = PreemptionScene(answer)
    async with running(made.evictor, made.evicted_pods):
        yield made


def victims(*names: str) -> list[Pod]:
    """Return pods on node n1."""
    return [pod(name, node="n1") for name in names]

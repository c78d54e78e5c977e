"""PreBind for volumes: carries out what Reserve decided about them, waits until it is so, and lets the pod be bound.

    submit -> nothing to do ----------------------------------------------> binder
       '----> write volumes, then claims -> wait: all bound --------------> binder
                      |                      |-> will not be any more, or
                      |                      '-> not within bindTimeoutSeconds -> failed: the pod is tried again
                      '-> refused -> failed

Waiting may take minutes, so it costs a sleeping task, and none of the binder's. What was written stays when the pod
fails: its next attempt finds it. Upstream: BindPodVolumes in pkg/scheduler/framework/plugins/volumebinding/binder.go.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from moorage.cluster.intents import BindVolume, SelectNode
from moorage.engine.messages import BindingFinished
from moorage.errors import MoorageError
from moorage.runtime.volumes.binding_progress import VolumesNotBound, Written, outstanding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moorage.cluster.intents import Intent
    from moorage.engine.outcomes import Bind
    from moorage.runtime.clock import Clock
    from moorage.runtime.volumes.volume_stores import VolumeStores
    from moorage.runtime.volumes.volume_writer import VolumeWriter

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Upstream's interval."""
PARALLEL_WRITES = 16


class Binder(Protocol):
    """Binds pods."""

    @property
    def is_full(self) -> bool:
        """Whether no more decisions should be made for now."""

    def submit(self, bind: Bind, started_at: float) -> None:
        """Queue a decision."""


class FailureReporter(Protocol):
    """Tells the world that a pod is not bound."""

    def bind_failed(self, bind: Bind, message: str, started_at: float) -> None:
        """Say so."""


@dataclass(frozen=True, slots=True)
class Handover:
    """Where a decision goes from here."""

    binder: Binder
    reporter: FailureReporter
    post: Callable[[BindingFinished], None]


class VolumeBinder:
    """Stands before the binder."""

    def __init__(self, writer: VolumeWriter, stores: VolumeStores, clock: Clock, handover: Handover) -> None:
        """Hand over to `handover` what is done, or cannot be."""
        self._writer = writer
        self._stores = stores
        self._clock = clock
        self._handover = handover
        self._queue: asyncio.Queue[tuple[Bind, float]] = asyncio.Queue()
        self._writing = asyncio.Semaphore(PARALLEL_WRITES)
        self._pending = 0

    def __len__(self) -> int:
        """How many pods wait for their volumes."""
        return self._pending

    @property
    def is_full(self) -> bool:
        """Whether no more decisions should be made for now: it is the binder that is full."""
        return self._handover.binder.is_full

    def submit(self, bind: Bind, started_at: float) -> None:
        """Take a decision; its attempt began at `started_at`, on the monotonic clock."""
        if bind.intents:
            self._pending += 1
            self._queue.put_nowait((bind, started_at))
        else:
            self._handover.binder.submit(bind, started_at)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(self._work(*await self._queue.get()))

    async def _work(self, bind: Bind, started_at: float) -> None:
        try:
            await self._bind_volumes(bind)
        except MoorageError as error:
            self._fail(bind, str(error), started_at)
        except Exception as error:  # the border of the task: a fault must not cost other pods
            logger.exception("Binding the volumes of pod %s failed in an unforeseen way", bind.pod.key)
            self._fail(bind, f"{type(error).__name__}: {error}", started_at)
        else:
            self._handover.binder.submit(bind, started_at)
        finally:
            self._pending -= 1

    def _fail(self, bind: Bind, error: str, started_at: float) -> None:
        message = f"binding volumes: {error}"
        logger.info("Pod %s: %s", bind.pod.key, message)
        self._handover.post(BindingFinished(bind.pod, bind.node_name, message))
        self._handover.reporter.bind_failed(bind, message, started_at)

    async def _bind_volumes(self, bind: Bind) -> None:
        written = [Written(intent, await self._write(intent)) for intent in _in_order(bind.intents)]
        await self._wait(bind, written, bind.profile.pre_bind_timeout_seconds)

    async def _write(self, intent: Intent) -> str:
        async with self._writing:
            return await self._writer.carry_out(intent)

    async def _wait(self, bind: Bind, written: list[Written], timeout_seconds: float) -> None:
        deadline = self._clock.monotonic() + timeout_seconds
        while waits := outstanding(bind.pod, bind.node_name, written, self._stores):
            if self._clock.monotonic() >= deadline:
                raise VolumesNotBound(f"not all are bound after {timeout_seconds:g} s: {', '.join(waits)}")
            await self._clock.sleep(POLL_SECONDS)


def _in_order(intents: Iterable[object]) -> list[Intent]:
    """Put volumes first, as upstream: a claim that got its volume needs no provisioner."""
    volumes: list[Intent] = []
    claims: list[Intent] = []
    for intent in intents:
        match intent:
            case BindVolume():
                volumes.append(intent)
            case SelectNode():
                claims.append(intent)
            case _:
                raise TypeError(f"nobody carries out a plugin's intent of type {type(intent).__name__}")
    return volumes + claims

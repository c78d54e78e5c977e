"""PreBind for volumes: carries out the intents of Reserve, waits until the volumes are bound, and passes the pod on.

    submit -> nothing to write -------------------------------------------> binder
       '----> write volumes, then claims -> wait -> all bound ------------> binder
                      |                      |-> binding has become impossible, or
                      |                      '-> timeout (bindTimeoutSeconds) -> failed: the pod is tried again
                      '-> refused -> failed

Binding volumes may take minutes. Each pod has its own task that waits for its volumes, so that the tasks of the binder
do not wait. If binding fails, the written objects stay as they are, and the pod's next attempt uses them.
Upstream: BindPodVolumes in pkg/scheduler/framework/plugins/volumebinding/binder.go.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from moorage.cluster.intents import BindVolume, SelectNode
from moorage.engine.recorder import PERMIT, PRE_BIND
from moorage.errors import MoorageError
from moorage.framework.status import Code
from moorage.runtime.volumes.binding_progress import VolumesNotBound, WrittenIntent, find_pending_bindings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.cluster.intents import Intent
    from moorage.engine.outcomes import Bind
    from moorage.runtime.binder import Binder
    from moorage.runtime.clock import Clock
    from moorage.runtime.volumes.volume_stores import VolumeStores
    from moorage.runtime.volumes.volume_writer import VolumeWriter

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""The interval at which the volumes are checked; upstream's value."""
PARALLEL_WRITES = 16


class VolumeBinder:
    """The stage before the binder. It binds the volumes of a pod."""

    def __init__(self, writer: VolumeWriter, stores: VolumeStores, clock: Clock, binder: Binder) -> None:
        """Write through `writer`, read the result in `stores`, and pass pods on to `binder`."""
        self._writer = writer
        self._stores = stores
        self._clock = clock
        self._binder = binder
        self._queue: asyncio.Queue[tuple[Bind, float]] = asyncio.Queue()
        self._writes = asyncio.Semaphore(PARALLEL_WRITES)
        self._pending = 0

    def __len__(self) -> int:
        """Return the number of pods that wait for their volumes."""
        return self._pending

    @property
    def is_full(self) -> bool:
        """Whether the binder's queue is full, so that the engine must not make more decisions."""
        return self._binder.is_full

    def submit(self, bind: Bind, started_at: float) -> None:
        """Queue a decision; `started_at` is the start of its attempt, on the monotonic clock."""
        recorder, profile = self._binder.recorder, bind.profile.name
        started = recorder.observe_point(PERMIT, Code.SUCCESS, profile, recorder.now())
        if bind.intents:
            self._pending += 1
            self._queue.put_nowait((bind, started_at))
        else:
            recorder.observe_point(PRE_BIND, Code.SUCCESS, profile, started)
            self._binder.submit(bind, started_at)

    async def run(self) -> None:
        """Bind volumes until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(self._work(*await self._queue.get()))

    async def _work(self, bind: Bind, started_at: float) -> None:
        recorder, code = self._binder.recorder, Code.ERROR
        started = recorder.now()
        try:
            await self._bind_volumes(bind)
            code = Code.SUCCESS
        except MoorageError as error:
            self._binder.fail(bind, f"binding volumes: {error}", started_at)
        except Exception as error:  # a bug must not stop other pods
            logger.exception("Binding the volumes of pod %s failed with a bug; please report it", bind.pod.key)
            self._binder.fail(bind, f"binding volumes: {type(error).__name__}: {error}", started_at)
        else:
            self._binder.submit(bind, started_at)
        finally:
            self._pending -= 1
            recorder.observe_point(PRE_BIND, code, bind.profile.name, started)

    async def _bind_volumes(self, bind: Bind) -> None:
        written = [WrittenIntent(intent, await self._write(intent)) for intent in _in_order(bind.intents)]
        await self._wait(bind, written, bind.profile.pre_bind_timeout_seconds)

    async def _write(self, intent: Intent) -> str:
        async with self._writes:
            return await self._writer.write(intent)

    async def _wait(self, bind: Bind, written: list[WrittenIntent], timeout_seconds: float) -> None:
        """Wait until all volumes are bound. Raises VolumesNotBound."""
        deadline = self._clock.monotonic() + timeout_seconds
        while pending := find_pending_bindings(bind.pod, bind.node_name, written, self._stores):
            if self._clock.monotonic() >= deadline:
                raise VolumesNotBound(f"not all are bound after {timeout_seconds:g} s: {', '.join(pending)}")
            await self._clock.sleep(POLL_SECONDS)


def _in_order(intents: Iterable[object]) -> list[Intent]:
    """Return the intents in upstream's order: first for volumes, then for claims."""
    volumes: list[Intent] = []
    claims: list[Intent] = []
    for intent in intents:
        match intent:
            case BindVolume():
                volumes.append(intent)
            case SelectNode():
                claims.append(intent)
            case _:
                raise TypeError(f"an intent of type {type(intent).__name__} cannot be carried out")
    return volumes + claims

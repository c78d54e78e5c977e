"""Binds pods to the nodes that the engine chose for them.

Decisions wait in a queue. A fixed number of tasks take them from the queue and bind one pod each at a time. For every
decision the binder posts `BindingFinished`, so that the engine confirms or forgets the assumed pod.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from moorage.engine.messages import BindingFinished
from moorage.errors import MoorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.engine.outcomes import Bind
    from moorage.runtime.binding_writer import BindingWriter
    from moorage.runtime.extenders.extender_dispatcher import ExtenderDispatcher
    from moorage.runtime.latest_objects import LatestObjects
    from moorage.runtime.reporter import Reporter

logger = logging.getLogger(__name__)

BACKLOG_PER_TASK = 16
"""Number of decisions that may wait for each task: enough to keep it busy, and few enough to stay fresh."""


@dataclass(slots=True, kw_only=True)
class Binder:
    """A queue of decisions, and the tasks that bind their pods."""

    writer: BindingWriter
    extenders: ExtenderDispatcher
    latest: LatestObjects
    reporter: Reporter
    post: Callable[[BindingFinished], None]
    parallelism: int
    """Number of pods that are bound at the same time."""
    _queue: deque[tuple[Bind, float]] = field(default_factory=deque, init=False)
    _queued: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0), init=False)
    _in_flight: int = field(default=0, init=False)

    def __len__(self) -> int:
        """Return the number of decisions that are queued or being carried out."""
        return len(self._queue) + self._in_flight

    @property
    def is_full(self) -> bool:
        """Whether the queue is so long that the engine must make no more decisions."""
        return len(self._queue) >= BACKLOG_PER_TASK * self.parallelism

    def submit(self, bind: Bind, started_at: float) -> None:
        """Queue a decision; `started_at` is the start of its attempt, on the monotonic clock."""
        self._queue.append((bind, started_at))
        self._queued.release()

    def drop_queued(self) -> None:
        """Drop the decisions that no task has started; the next leader schedules their pods again."""
        self._queue.clear()

    def fail(self, bind: Bind, error: str, started_at: float) -> None:
        """Report that a pod was not bound, to the engine and to its users."""
        logger.info("Pod %s was not bound to node %s, it is tried again: %s", bind.pod.key, bind.node_name, error)
        self.post(BindingFinished(bind.pod, bind.node_name, error))
        self.reporter.report_bind_failed(bind, error, started_at)

    async def run(self) -> None:
        """Bind pods until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self.parallelism):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            await self._queued.acquire()
            if not self._queue:
                continue  # drop_queued has emptied it
            bind, started_at = self._queue.popleft()
            self._in_flight += 1
            try:
                error = await self._bind(bind)
            finally:
                self._in_flight -= 1
            if error is None:
                self.post(BindingFinished(bind.pod, bind.node_name))
                self.reporter.report_bound(bind, started_at)
            else:
                self.fail(bind, error, started_at)

    async def _bind(self, bind: Bind) -> str | None:
        """Bind a pod; return the error, or None after success."""
        pod, node_name = bind.pod, bind.node_name
        reason = self.latest.check_bind(pod, node_name)
        if reason:
            return reason
        try:
            if not await self.extenders.bind(bind.profile, pod, node_name):
                await self.writer.bind(pod, node_name)
        except MoorageError as error:
            return str(error)
        except Exception as error:  # the border of the binder task: a bug must not stop the pods behind this one
            logger.exception("Binding pod %s to node %s failed with a bug; please report it", pod.key, node_name)
            return f"{type(error).__name__}: {error}"
        return None

"""Carries decisions out: a bounded number of tasks, each binding one pod at a time.

Decisions wait in a queue of their own. Whatever becomes of one, `BindingFinished` is posted for it, so that the engine
forgets the assumed pod or keeps it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Protocol

from moorage.engine.messages import BindingFinished
from moorage.errors import MoorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.engine.outcomes import Bind
    from moorage.model.pods.pod import Pod

logger = logging.getLogger(__name__)

BACKLOG_PER_TASK = 16
"""Decisions that may wait for each task: enough to keep it busy, few enough for them to be fresh."""


class Writer(Protocol):
    """Binds."""

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod, or raise a MoorageError when it was certainly not bound."""


class Objections(Protocol):
    """Has the last word before a bind."""

    def objection(self, pod: Pod, node_name: str) -> str:
        """Say what speaks against it; empty for nothing."""


class BindingReporter(Protocol):
    """Tells the world what became of a bind."""

    def bound(self, bind: Bind, started_at: float) -> None:
        """Say that the pod is bound; the attempt began at `started_at`."""

    def bind_failed(self, bind: Bind, message: str, started_at: float) -> None:
        """Say that it is not."""


class Binder:
    """Binds pods."""

    def __init__(
        self,
        writer: Writer,
        last_look: Objections,
        reporter: BindingReporter,
        post: Callable[[BindingFinished], None],
        parallelism: int,
    ) -> None:
        """Bind `parallelism` pods at once."""
        self._writer = writer
        self._last_look = last_look
        self._reporter = reporter
        self._post = post
        self._parallelism = parallelism
        self._queue: deque[tuple[Bind, float]] = deque()
        self._queued = asyncio.Semaphore(0)
        self._in_flight = 0

    def __len__(self) -> int:
        """How many decisions are queued or being carried out."""
        return len(self._queue) + self._in_flight

    @property
    def is_full(self) -> bool:
        """Whether no more decisions should be made for now."""
        return len(self._queue) >= BACKLOG_PER_TASK * self._parallelism

    def submit(self, bind: Bind, started_at: float) -> None:
        """Queue a decision; its attempt began at `started_at`, on the monotonic clock."""
        self._queue.append((bind, started_at))
        self._queued.release()

    def drop_queued(self) -> None:
        """Leave decisions that nobody has begun to carry out to the next leader; for a clean stop."""
        self._queue.clear()

    async def run(self) -> None:
        """Bind until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._parallelism):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            await self._queued.acquire()
            if not self._queue:
                continue  # what was queued was dropped
            bind, started_at = self._queue.popleft()
            self._in_flight += 1
            try:
                error = await self._bind(bind)
            finally:
                self._in_flight -= 1
            self._finish(bind, error, started_at)

    async def _bind(self, bind: Bind) -> str | None:
        objection = self._last_look.objection(bind.pod, bind.node_name)
        if objection:
            return objection
        try:
            await self._writer.bind(bind.pod, bind.node_name)
        except MoorageError as error:
            return str(error)
        except Exception as error:  # the border of the binder task: a fault must not cost the pods behind this one
            logger.exception("Binding %s to %s failed in an unforeseen way", bind.pod.key, bind.node_name)
            return f"{type(error).__name__}: {error}"
        return None

    def _finish(self, bind: Bind, error: str | None, started_at: float) -> None:
        self._post(BindingFinished(bind.pod, bind.node_name, error))
        if error is None:
            self._reporter.bound(bind, started_at)
        else:
            logger.info("Pod %s was not bound to %s: %s", bind.pod.key, bind.node_name, error)
            self._reporter.bind_failed(bind, error, started_at)

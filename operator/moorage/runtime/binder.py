"""Binds pods to the nodes that the engine chose for them.

Decisions wait in a queue. A fixed number of tasks take decisions from the queue. Each task binds one pod at a time. If
an extender binds the pod, the binder starts a separate task, because an extender may be slow. The number of pods that a
profile's extenders bind at once is limited; the tasks of further pods wait. After each decision the binder posts
`BindingFinished`, so that the engine confirms or forgets the assumed pod.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from moorage.engine.messages import BindingFinished
from moorage.engine.recorder import BIND, POST_BIND, Recorder
from moorage.errors import ExtenderError, MoorageError, StaleDecision
from moorage.framework.status import Code

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.engine.outcomes import Bind
    from moorage.runtime.binding_writer import BindingWriter
    from moorage.runtime.extenders.extender_dispatcher import ExtenderDispatcher
    from moorage.runtime.kubelet_refusals import KubeletRefusals
    from moorage.runtime.latest_objects import LatestObjects
    from moorage.runtime.metrics.binding_metrics import BindingMetrics
    from moorage.runtime.reporter import Reporter

logger = logging.getLogger(__name__)

BACKLOG_PER_TASK = 16
"""The maximum number of waiting decisions per task. A shorter queue would leave tasks idle. A longer queue would make
decisions stale."""


@dataclass(slots=True, kw_only=True)
class Binder:
    """A queue of decisions, and the tasks that bind their pods."""

    writer: BindingWriter
    extenders: ExtenderDispatcher
    latest: LatestObjects
    lost_room: Callable[[Bind], str]
    """Returns why the pod of a decision no longer fits on the chosen node; an empty text if it still fits."""
    refusals: KubeletRefusals
    metrics: BindingMetrics
    recorder: Recorder
    """Records the durations of the extension points Bind and PostBind."""
    reporter: Reporter
    post: Callable[[BindingFinished], None]
    parallelism: int
    """Number of pods that are bound at the same time."""
    _queue: deque[tuple[Bind, float]] = field(default_factory=deque, init=False)
    _queued: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0), init=False)
    _waiting: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    """The tasks that wait until their profile's extenders may bind one more pod."""
    _in_flight: int = field(default=0, init=False)

    def __len__(self) -> int:
        """Return the number of decisions that are queued or being carried out."""
        return len(self._queue) + len(self._waiting) + self._in_flight

    @property
    def is_full(self) -> bool:
        """Whether the queue is full, so that the engine must not make more decisions."""
        return len(self._queue) >= BACKLOG_PER_TASK * self.parallelism

    def submit(self, bind: Bind, started_at: float) -> None:
        """Queue a decision; `started_at` is the start of its attempt, on the monotonic clock."""
        self._queue.append((bind, started_at))
        self._queued.release()

    def drop_queued(self) -> None:
        """Drop the decisions that no task has started; the next leader schedules their pods again."""
        self._queue.clear()
        for task in self._waiting:
            task.cancel()

    def fail(self, bind: Bind, error: str, started_at: float) -> None:
        """Report to the engine and to users that a pod was not bound."""
        logger.info("Pod %s was not bound to node %s and is tried again: %s", bind.pod.key, bind.node_name, error)
        self.post(BindingFinished(bind.pod, bind.node_name, error))
        self.reporter.report_bind_failed(bind, error, started_at)

    async def run(self) -> None:
        """Bind pods until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self.parallelism):
                tasks.create_task(self._work(tasks))

    async def _work(self, tasks: asyncio.TaskGroup) -> None:
        while True:
            await self._queued.acquire()
            if not self._queue:
                continue  # drop_queued has emptied it
            bind, started_at = self._queue.popleft()
            if self.extenders.binds(bind.profile, bind.pod):
                # Start a separate task, because a slow extender must not delay the pods of other profiles.
                task = tasks.create_task(self._carry_out_in_turn(bind, started_at))
                self._waiting.add(task)
                task.add_done_callback(self._waiting.discard)
            else:
                await self._carry_out(bind, started_at)

    async def _carry_out_in_turn(self, bind: Bind, started_at: float) -> None:
        async with self.extenders.binding_turns(bind.profile):
            task = asyncio.current_task()
            if task is not None:
                self._waiting.discard(task)
            await self._carry_out(bind, started_at)

    async def _carry_out(self, bind: Bind, started_at: float) -> None:
        """Bind a pod, and report the result to the engine and to users."""
        self._in_flight += 1
        started = self.recorder.now()
        code = Code.ERROR
        try:
            await self._bind(bind)
            code = Code.SUCCESS
        except StaleDecision as error:
            self._report_stale(bind, error, started_at)
        except MoorageError as error:
            self.fail(bind, str(error), started_at)
        except Exception as error:  # a bug must not stop the binding of other pods
            message = "Binding pod %s to node %s failed with a bug; please report it"
            logger.exception(message, bind.pod.key, bind.node_name)
            self.fail(bind, f"{type(error).__name__}: {error}", started_at)
        else:
            self.post(BindingFinished(bind.pod, bind.node_name))
            self.reporter.report_bound(bind, started_at)
        finally:
            self._in_flight -= 1
            ended = self.recorder.observe_point(BIND, code, bind.profile.name, started)
            if code is Code.SUCCESS:
                self.recorder.observe_point(POST_BIND, code, bind.profile.name, ended)

    async def _bind(self, bind: Bind) -> None:
        """Bind a pod; raise a MoorageError if it is not bound to the chosen node."""
        pod, node_name = bind.pod, bind.node_name
        self._check_again(bind)
        self.refusals.add(bind)
        try:
            is_bound = await self.extenders.bind(bind.profile, pod, node_name)
        except ExtenderError:
            # The extender may have bound the pod before it failed.
            if not await self.writer.is_bound(pod, node_name):
                raise
            return
        if is_bound:
            await self.writer.confirm(pod, node_name)
        else:
            await self.writer.bind(pod, node_name)

    def _check_again(self, bind: Bind) -> None:
        """Raise StaleDecision if the pod or the node has changed, or if the node has no room for the pod any more."""
        self.latest.check_bind(bind.pod, bind.node_name)
        reason = self.lost_room(bind)
        if reason:
            raise StaleDecision("room", f"node {bind.node_name} has no room for the pod any more: {reason}")

    def _report_stale(self, bind: Bind, error: StaleDecision, started_at: float) -> None:
        self.metrics.observe_conflict(error.conflict)
        if error.conflict == "bound":
            # Another decision has bound the pod, so events and conditions must not report that the pod is not
            # scheduled.
            logger.info("Pod %s was not bound to node %s: %s", bind.pod.key, bind.node_name, error)
            self.post(BindingFinished(bind.pod, bind.node_name, str(error)))
        else:
            self.fail(bind, str(error), started_at)

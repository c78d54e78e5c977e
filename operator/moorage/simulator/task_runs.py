"""Runs the tasks of a file on the engine: arrivals that never leave, or a trace with times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import count

from msgspec import Struct

from moorage.engine.outcomes import Bind, SchedulingFailed, Unschedulable
from moorage.model.pods.pod import Pod
from moorage.simulator.file_objects import PodTemplates
from moorage.simulator.run_measures import RunMeasures
from moorage.simulator.task_file import Task
from moorage.simulator.virtual_cluster import VirtualCluster, reason_of

PREEMPTED = "preempted"
LEFT = "left before it was placed"
PROGRESS_TASKS = 200
STAYING = -1
"""The task number of pods that were placed before the run."""
MAX_TRIES = 5
"""The maximum number of tries for an arriving task. After a task has preempted other tasks, it is tried again."""

Report = Callable[[int], None]
"""Receives the number of tasks that have arrived."""


class _Arrived(Struct):
    """A task in the cluster."""

    number: int
    task: Task
    pod: Pod
    node_name: str = ""
    was_placed: bool = False
    reason: str = ""


def run_arrivals(
    pods: Iterable[tuple[Task, Pod]],
    cluster: VirtualCluster,
    measures: RunMeasures,
    report: Report,
    staying: Iterable[tuple[Task, Pod]] = (),
) -> None:
    """Place pods one after the other. A pod that does not fit at its arrival is not placed later.

    `staying` are pods that are placed already. They can be evicted too.
    """
    placed = _stay(staying, measures)
    number, asked = 0, 0.0
    for number, (task, pod) in enumerate(pods, 1):
        now = float(number)
        arrived = _Arrived(number - 1, task, pod)
        _place_once(arrived, cluster, measures, placed, now)
        asked = measures.ask(task)
        measures.mark(asked)
        measures.sample(now, cluster.snapshot, shown=asked)
        if not number % PROGRESS_TASKS:
            report(number)
    measures.sample(float(number), cluster.snapshot, shown=asked, is_last=True)


def _stay(staying: Iterable[tuple[Task, Pod]], measures: RunMeasures) -> dict[str, _Arrived]:
    """Count the pods that were placed before the run; return them by uid."""
    placed = {pod.uid: _Arrived(STAYING, task, pod, pod.node_name, was_placed=True) for task, pod in staying}
    for stays in placed.values():
        measures.keep(stays.node_name, stays.task.template)
    return placed


def _place_once(
    arrived: _Arrived, cluster: VirtualCluster, measures: RunMeasures, placed: dict[str, _Arrived], now: float
) -> None:
    cluster.add(arrived.pod, now)
    outcome = None
    for _ in range(MAX_TRIES):
        outcome = cluster.next_outcome(now)
        if isinstance(outcome, Bind):
            placed[arrived.pod.uid] = arrived
            arrived.node_name = outcome.node_name
            measures.place(arrived.number, outcome.node_name, arrived.task.template, now)
            measures.first_placed(0.0)
            return
        if not isinstance(outcome, Unschedulable) or not outcome.victims:
            break
        for victim in outcome.victims:
            lost = placed.pop(victim.uid)
            measures.leave(lost.node_name, lost.task.template, now)
            if lost.number != STAYING:
                measures.lose(lost.number, PREEMPTED)
            measures.preempt()
    cluster.remove(arrived.pod, now)
    measures.reject(reason_of(outcome))


class TraceRun:
    """A run of a trace: tasks arrive and leave at their times, and wait in the queue if they do not fit."""

    def __init__(
        self,
        cluster: VirtualCluster,
        templates: PodTemplates,
        measures: RunMeasures,
        staying: Iterable[tuple[Task, Pod]] = (),
    ) -> None:
        """Start with the pods of `staying`, which never leave, but can be evicted."""
        self._cluster = cluster
        self._templates = templates
        self._measures = measures
        self._arrived = _stay(staying, measures)
        """The tasks that wait or run, by the uids of their pods."""
        self._departures: list[tuple[float, int, str]] = []
        self._order = count()

    def run(self, tasks: Iterator[Task], report: Report) -> None:
        """Run all tasks, then let all departures happen."""
        number = 0
        now = 0.0
        for number, task in enumerate(tasks, 1):
            if task.created > now:
                self._settle(now)
                self._depart_until(task.created)
                now = task.created
            self._arrive(number - 1, task, now)
            if not number % PROGRESS_TASKS:
                report(number)
        self._settle(now)
        end = self._depart_until(float("inf"), now)
        for arrived in self._arrived.values():
            if not arrived.was_placed:
                self._measures.reject(arrived.reason)
        self._measures.sample(end, self._cluster.snapshot, is_last=True)

    def _arrive(self, number: int, task: Task, now: float) -> None:
        arrived = _Arrived(number, task, self._templates.pod(task.name, task.template))
        self._arrived[arrived.pod.uid] = arrived
        self._cluster.add(arrived.pod, now)
        if task.deleted is not None:
            self._depart_at(task.deleted, arrived)

    def _depart_at(self, time: float, arrived: _Arrived) -> None:
        heappush(self._departures, (time, next(self._order), arrived.pod.uid))

    def _depart_until(self, end: float, now: float = 0.0) -> float:
        """Let tasks leave until the time `end`.

        After each departure, try the waiting tasks. Return the time of the last departure.
        """
        while self._departures and self._departures[0][0] <= end:
            now = self._departures[0][0]
            while self._departures and self._departures[0][0] == now:
                self._depart(heappop(self._departures)[2], now)
            if now < end:
                self._settle(now)
        return now

    def _depart(self, uid: str, now: float) -> None:
        arrived = self._arrived.pop(uid, None)
        if arrived is None:
            return
        if self._cluster.remove(arrived.pod, now):
            self._measures.leave(arrived.node_name, arrived.task.template, now)
        elif not arrived.was_placed:
            self._measures.reject(f"{LEFT}: {arrived.reason}" if arrived.reason else LEFT)

    def _settle(self, now: float) -> None:
        """Try pods until none is ready. Pods that wait are tried again only after an event that may help them."""
        while (outcome := self._cluster.next_outcome(now)) is not None:
            match outcome:
                case Bind():
                    self._bind(outcome, now)
                case Unschedulable() | SchedulingFailed():
                    self._arrived[outcome.pod.uid].reason = reason_of(outcome)
                    if isinstance(outcome, Unschedulable):
                        for victim in outcome.victims:
                            self._return_victim(victim, now)
        self._measures.sample(now, self._cluster.snapshot)

    def _bind(self, outcome: Bind, now: float) -> None:
        arrived = self._arrived[outcome.pod.uid]
        arrived.node_name = outcome.node_name
        task = arrived.task
        self._measures.place(arrived.number, outcome.node_name, task.template, now)
        if not arrived.was_placed:
            arrived.was_placed = True
            self._measures.first_placed(now - task.created)
        if task.duration is not None:
            self._depart_at(now + task.duration, arrived)

    def _return_victim(self, victim: Pod, now: float) -> None:
        """Add the task of a victim to the queue again, as a new pod.

        If the task has a duration, it starts from the beginning.

        A pod that was placed before the run does not come back.
        """
        arrived = self._arrived.pop(victim.uid)
        self._measures.leave(arrived.node_name, arrived.task.template, now)
        self._measures.preempt()
        if arrived.number == STAYING:
            return
        arrived.pod = self._templates.pod(f"{arrived.task.name}/{next(self._order)}", arrived.task.template)
        arrived.node_name = ""
        self._arrived[arrived.pod.uid] = arrived
        self._cluster.add(arrived.pod, now)
        if arrived.task.deleted is not None:
            self._depart_at(arrived.task.deleted, arrived)

"""Measures one run of a simulation. The run calls the methods; `result` returns the figures."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from moorage.cluster.arrays import IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.simulator.file_objects import GPU
from moorage.simulator.node_file import FileNode
from moorage.simulator.run_result import MARKS, Cost, GroupUse, PolicyResult, Series, Waiting
from moorage.simulator.stranded import Amounts, requests_of, stranded_percent
from moorage.simulator.task_file import Task, TaskSummary, Template

RESOURCES = ("cpu", "memory", GPU)
GROUP_FIELDS = ("zone", "instance_type", "lifecycle", "model")
NO_VALUE = "none"
"""The name of the group of nodes without a value."""
MAX_REASONS = 500
"""The limit on the number of different reasons. Errors of plugins may contain the name of each pod."""
OTHER_REASONS = "other reasons"
POINTS = 400
"""The number of points of a series."""


class Measured(Struct, frozen=True):
    """The nodes and tasks of a run, and what to measure."""

    nodes: Sequence[FileNode]
    tasks: TaskSummary
    prices: Sequence[float] = ()
    """The price per hour of each node; empty without prices."""
    keeps_placements: bool = False


class RunMeasures:
    """The measures of one run."""

    def __init__(self, measured: Measured) -> None:
        self.measured = measured
        nodes = measured.nodes
        self._index = {node.name: position for position, node in enumerate(nodes)}
        self._total = {
            "cpu": sum(node.cpu_milli for node in nodes),
            "memory": sum(node.memory_mib << 20 for node in nodes),
            GPU: sum(node.gpu for node in nodes),
        }
        self._main = GPU if self._total[GPU] else "cpu"
        self._used = dict.fromkeys(RESOURCES, 0)
        self._asked = 0
        self._placed = 0
        self._preemptions = 0
        self._reasons: Counter[str] = Counter()
        self._marks: dict[str, dict[str, float]] = {name: {} for name in RESOURCES if self._total[name]}
        self._waits = array("d")
        self._points = array("d")
        self._percent = {name: array("d") for name in self._marks}
        self._next_point = measured.tasks.first
        self._step = max((measured.tasks.last - measured.tasks.first) / POINTS, 1e-9)
        self._placements = array("i", [-1]) * (measured.tasks.count if measured.keeps_placements else 0)
        self._pods_on = [0] * len(nodes)
        self._rate = 0.0
        self._cost = 0.0
        self._cost_until = measured.tasks.first
        self._peak = -1
        self._busiest: tuple[Amounts, IntArray] | None = None

    def place(self, task: int, node_name: str, template: Template, now: float) -> None:
        """Count a task on a node."""
        node = self._index[node_name]
        self._count(template, node, 1, now)
        if self._placements:
            self._placements[task] = node

    def keep(self, node_name: str, template: Template) -> None:
        """Count a pod that was on a node before the run."""
        if node_name in self._index:
            self._count(template, self._index[node_name], 1, self.measured.tasks.first)

    def leave(self, node_name: str, template: Template, now: float) -> None:
        """Count a task that left its node."""
        self._count(template, self._index[node_name], -1, now)

    def first_placed(self, wait: float) -> None:
        """Count a task as placed. `wait` is the time since its arrival."""
        self._placed += 1
        if self.measured.tasks.is_trace:
            self._waits.append(wait)

    def reject(self, reason: str) -> None:
        """Count a task that is not placed."""
        known = reason in self._reasons or len(self._reasons) < MAX_REASONS
        self._reasons[reason if known else OTHER_REASONS] += 1

    def preempt(self) -> None:
        """Count a victim."""
        self._preemptions += 1

    def lose(self, task: int, reason: str) -> None:
        """Count a placed task as not placed, because it was preempted and does not come back."""
        self._placed -= 1
        self.reject(reason)
        if self._placements:
            self._placements[task] = -1

    def ask(self, task: Task) -> float:
        """Count the requests of a task. Return the requests of all tasks so far, in percent of all GPUs.

        If the file has the percentage, return that value. If no node has GPUs, the percentage is of all cpu.
        """
        self._asked += requests_of(task.template)[self._main]
        return 100 * self._asked / self._total[self._main] if task.asked_percent is None else task.asked_percent

    def mark(self, percent: float) -> None:
        """Store the allocated shares for each mark that the requests have reached. `percent` is the result of `ask`."""
        for mark in MARKS:
            key = str(mark)
            if percent >= mark and key not in self._marks[self._main]:
                for name, shares in self._marks.items():
                    shares[key] = self._share(name)

    def sample(self, point: float, snapshot: Snapshot, *, shown: float | None = None, is_last: bool = False) -> None:
        """Add a point to the series if the last point is old enough. Keep the use of the nodes at the busiest moment.

        `shown` is the value of the point in the series, if it differs from `point`.
        """
        if self.measured.tasks.is_trace:
            if self._used[self._main] > self._peak:
                self._peak = self._used[self._main]
                self._keep(snapshot)
        elif is_last:
            self._keep(snapshot)
        if point < self._next_point and not is_last:
            return
        self._points.append(point if shown is None else shown)
        for name, shares in self._percent.items():
            shares.append(self._share(name))
        self._next_point = point + self._step

    def result(self, name: str) -> PolicyResult:
        """Return the figures."""
        assert self._busiest is not None, "a run ends with a last sample"
        used, pods = self._busiest
        tasks, nodes = self.measured.tasks, self.measured.nodes
        allocatable = _allocatable(nodes)
        free = {each: allocatable[each] - used[each] for each in used}
        return PolicyResult(
            name=name,
            placed=self._placed,
            unplaced=tasks.count - self._placed,
            reasons=dict(sorted(self._reasons.items(), key=lambda each: (-each[1], each[0]))),
            allocated=self._marks if self._marks[self._main] else {},
            use={each: _percent(int(used[each].sum()), self._total[each]) for each in self._marks},
            groups=self._groups(used, pods),
            stranded=stranded_percent({each: free[each] for each in self._marks}, self._total, tasks.templates),
            skew=self._skew(used, pods),
            preemptions=self._preemptions,
            waiting=_waiting(self._waits) if tasks.is_trace else None,
            cost=self._cost_result(),
            series=Series(tuple(self._points), {each: tuple(shares) for each, shares in self._percent.items()}),
            node_percent=tuple(self._node_percent(used).round(2).tolist()),
            placements=self._placements.tobytes(),
        )

    def _count(self, template: Template, node: int, sign: int, now: float) -> None:
        for name, amount in requests_of(template).items():
            self._used[name] += sign * amount
        before = self._pods_on[node]
        self._pods_on[node] = before + sign
        if self.measured.prices and bool(before) != bool(before + sign):
            self._cost += self._rate * (now - self._cost_until) / 3600
            self._cost_until = now
            self._rate += sign * self.measured.prices[node]

    def _share(self, name: str) -> float:
        return _percent(self._used[name], self._total[name])

    def _keep(self, snapshot: Snapshot) -> None:
        self._busiest = ({name: snapshot.requested(name).copy() for name in RESOURCES}, snapshot.pod_count.copy())

    def _groups(self, used: Amounts, pods: IntArray) -> dict[str, dict[str, GroupUse]]:
        nodes = self.measured.nodes
        allocatable = _allocatable(nodes)
        groups: dict[str, dict[str, GroupUse]] = {}
        for field in GROUP_FIELDS:
            values, members = np.unique([getattr(node, field) for node in nodes], return_inverse=True)
            if not any(values):
                continue
            counts, pod_sums = np.bincount(members), _sums(pods, members)
            total = {name: _sums(allocatable[name], members) for name in RESOURCES}
            in_use = {name: _sums(used[name], members) for name in RESOURCES}
            groups[field] = {
                value or NO_VALUE: GroupUse(
                    int(counts[row]),
                    pod_sums[row],
                    {name: _percent(in_use[name][row], total[name][row]) for name in RESOURCES if total[name][row]},
                )
                for row, value in enumerate(values.tolist())
            }
        return groups

    def _skew(self, used: Amounts, pods: IntArray) -> dict[str, float]:
        skew = {"nodes_percent": round(float(self._node_percent(used).std()), 2)}
        zones, members = np.unique([node.zone for node in self.measured.nodes], return_inverse=True)
        if any(zones):
            by_zone = _sums(pods, members)
            skew["zones_pods"] = max(by_zone) - min(by_zone)
        return skew

    def _node_percent(self, used: Amounts) -> npt.NDArray[np.float64]:
        allocatable = _allocatable(self.measured.nodes)
        has_gpus = allocatable[GPU] > 0
        amounts = np.where(has_gpus, allocatable[GPU], allocatable["cpu"])
        in_use = np.where(has_gpus, used[GPU], used["cpu"])
        return 100 * in_use / np.maximum(amounts, 1)

    def _cost_result(self) -> Cost | None:
        prices, tasks = self.measured.prices, self.measured.tasks
        if not prices:
            return None
        if not tasks.is_trace:
            return Cost(round(self._rate, 2), round(sum(prices), 2), is_total=False)
        total = self._cost + self._rate * max(tasks.last - self._cost_until, 0.0) / 3600
        hours = (tasks.last - tasks.first) / 3600
        return Cost(round(total, 2), round(sum(prices) * hours, 2), is_total=True)


def _allocatable(nodes: Sequence[FileNode]) -> Amounts:
    return {
        "cpu": np.array([node.cpu_milli for node in nodes], np.int64),
        "memory": np.array([node.memory_mib << 20 for node in nodes], np.int64),
        GPU: np.array([node.gpu for node in nodes], np.int64),
    }


def _sums(amounts: IntArray, members: IntArray) -> list[int]:
    """Return the sum of each group of nodes. `members` contains the index of each node's group."""
    sums = np.zeros(int(members.max()) + 1, np.int64)
    np.add.at(sums, members, amounts)
    return [int(each) for each in sums]


def _percent(amount: int, total: int) -> float:
    return round(100 * amount / total, 2) if total else 0.0


def _waiting(waits: array[float]) -> Waiting:
    if not waits:
        return Waiting(0.0, 0.0, 0.0)
    p50, p95, p99 = np.percentile(np.frombuffer(waits, np.float64), [50, 95, 99]).round(3).tolist()
    return Waiting(p50, p95, p99)

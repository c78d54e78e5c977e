"""Reads tasks from a file, row by row: once to check all tasks, and once for each policy.

A file without times is a list of arrivals: the tasks arrive one after the other and never leave. A file with the column
`created_s` is a trace: each task arrives at this time. It leaves at `deleted_s`, or `duration_s` after its placement.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from moorage.simulator.cells import CellError, amount_of, number_of, text_of
from moorage.simulator.csv_table import open_table
from moorage.simulator.input_faults import InputFaults
from moorage.simulator.row_table import Columns, RowTable

TASK_COLUMNS = Columns(
    ("name", "cpu_milli", "memory_mib"),
    ("gpu", "gpu_models", "priority", "workload", "asked_percent", "created_s", "deleted_s", "duration_s"),
    ("gpu_milli", "qos", "scheduled_s"),
)
WHOLE_GPUS = "; Kubernetes has whole GPUs: write 1 for a shared GPU"
MAX_TEMPLATES = 4096
"""The maximum number of templates whose tasks are counted."""
PROGRESS_ROWS = 5_000
MAX_PRIORITY = 1_000_000_000


class Template(NamedTuple):
    """The fields that are the same for equal tasks."""

    cpu_milli: int
    memory_mib: int
    gpu: int = 0
    gpu_models: str = ""
    """The models that the task accepts, joined by a bar; empty for all."""
    priority: int = 0
    workload: str = ""


class Task(NamedTuple):
    """A row of the file."""

    name: str
    template: Template
    asked_percent: float | None = None
    """The requests of all tasks up to this one, in percent of all GPUs; None if the file does not have the column."""
    created: float = 0.0
    deleted: float | None = None
    duration: float | None = None


class TaskSummary(Struct, frozen=True):
    """The facts about a file that a simulation needs before it reads the tasks."""

    count: int
    is_trace: bool
    first: float
    """The time of the first arrival in seconds; 0 for arrivals."""
    last: float
    """The time of the last arrival or departure in seconds; the number of tasks for arrivals."""
    has_priorities: bool
    templates: tuple[tuple[Template, int], ...]
    """The most common templates, and the number of tasks of each."""


class TaskFile:
    """A file of tasks whose columns have been checked."""

    def __init__(self, file: Path) -> None:
        """Read the header. Raise InvalidInput if it is invalid."""
        self.file = file
        self._table = open_table(file, TASK_COLUMNS)
        index = self._table.index
        self.is_trace = "created_s" in index
        faults = InputFaults(file)
        for name in ("deleted_s", "duration_s"):
            if name in index and not self.is_trace:
                faults.add(1, f"the column {name} needs the column created_s")
        if "deleted_s" in index and "duration_s" in index:
            faults.add(1, "the header has both deleted_s and duration_s; remove one of them")
        faults.raise_any()

    def tasks(self) -> Iterator[Task]:
        """Yield the tasks; raise InvalidInput at the first fault."""
        faults = InputFaults(self.file)
        for line, cells in self._table.rows():
            try:
                task = self._task(cells)
            except CellError as error:
                faults.add(line, str(error))
                faults.raise_any()
            yield task

    def check(self, progress: Callable[[int], None] = lambda _: None) -> TaskSummary:
        """Check all tasks; raise InvalidInput with the first faults. `progress` gets the number of rows so far."""
        return _Check(self).run(self._table, progress)

    def _task(self, cells: list[str]) -> Task:
        index = self._table.index
        if len(cells) != len(self._table.header):
            raise CellError(f"the row has {len(cells)} cells, but the header has {len(self._table.header)}")
        name = cells[index["name"]].strip()
        if not name:
            raise CellError("name is empty")
        created, deleted, duration = self._times(cells) if self.is_trace else (0.0, None, None)
        asked = text_of(cells, index.get("asked_percent"))
        return Task(
            name=name,
            template=self._template(cells),
            asked_percent=number_of("asked_percent", asked) if "asked_percent" in index else None,
            created=created,
            deleted=deleted,
            duration=duration,
        )

    def _template(self, cells: list[str]) -> Template:
        index = self._table.index
        gpu, priority = index.get("gpu"), text_of(cells, index.get("priority"))
        return Template(
            amount_of("cpu_milli", text_of(cells, index["cpu_milli"])),
            amount_of("memory_mib", text_of(cells, index["memory_mib"])),
            0 if gpu is None else amount_of("gpu", cells[gpu].strip(), WHOLE_GPUS),
            text_of(cells, index.get("gpu_models")),
            _priority(priority) if priority else 0,
            text_of(cells, index.get("workload")),
        )

    def _times(self, cells: list[str]) -> tuple[float, float | None, float | None]:
        index = self._table.index
        created = number_of("created_s", text_of(cells, index["created_s"]))
        deleted, duration = text_of(cells, index.get("deleted_s")), text_of(cells, index.get("duration_s"))
        if not deleted:
            return created, None, number_of("duration_s", duration) if duration else None
        until = number_of("deleted_s", deleted)
        if until < created:
            raise CellError(f"deleted_s {deleted} is before created_s {text_of(cells, index['created_s'])}")
        return created, until, None


class _Check:
    """One pass over a file that collects faults and facts."""

    def __init__(self, tasks: TaskFile) -> None:
        self._tasks = tasks
        self._faults = InputFaults(tasks.file)
        self._names = array("q")
        """The hashes of the names. A hash has 8 bytes, so that the hashes of ten million tasks fit into memory."""
        self._last_created = self._last_asked = 0.0
        self._first: float | None = None
        self._end = 0.0
        self._has_priorities = False
        self._templates: Counter[Template] = Counter()

    def run(self, table: RowTable, progress: Callable[[int], None]) -> TaskSummary:
        count = 0
        for line, cells in table.rows():
            count += 1
            if not count % PROGRESS_ROWS:
                progress(count)
            try:
                self._add(self._tasks._task(cells))  # noqa: SLF001 - a part of the same file's reader
            except CellError as error:
                self._faults.add(line, str(error))
        if not count:
            self._faults.add(None, "the file has no tasks")
        self._find_repeated_names(table)
        self._faults.raise_any()
        is_trace = self._tasks.is_trace
        return TaskSummary(
            count=count,
            is_trace=is_trace,
            first=self._first or 0.0 if is_trace else 0.0,
            last=self._end if is_trace else float(count),
            has_priorities=self._has_priorities,
            templates=tuple(self._templates.most_common()),
        )

    def _add(self, task: Task) -> None:
        self._names.append(hash(task.name))
        if self._first is None:
            self._first = task.created
        if task.created < self._last_created:
            raise CellError(f"created_s {task.created:g} is before that of the row above; sort the rows by created_s")
        self._last_created = task.created
        if task.asked_percent is not None:
            if task.asked_percent < self._last_asked:
                raise CellError(f"asked_percent {task.asked_percent:g} is less than that of the row above")
            self._last_asked = task.asked_percent
        self._end = max(self._end, task.created, task.deleted or 0.0, task.created + (task.duration or 0.0))
        self._has_priorities = self._has_priorities or task.template.priority != 0
        if task.template in self._templates or len(self._templates) < MAX_TEMPLATES:
            self._templates[task.template] += 1

    def _find_repeated_names(self, table: RowTable) -> None:
        """Add a fault for each name that occurs twice. The file is read again only if two hashes are equal."""
        hashes = np.sort(np.frombuffer(self._names, np.int64)) if self._names else np.zeros(0, np.int64)
        repeated = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
        if not repeated:
            return
        first_lines: dict[str, int] = {}
        position = table.index["name"]
        for line, cells in table.rows():
            name = cells[position].strip() if position < len(cells) else ""
            if name and hash(name) in repeated:
                if name in first_lines:
                    self._faults.add(line, f"the name {name!r} is repeated; line {first_lines[name]} has it already")
                first_lines.setdefault(name, line)


def _priority(cell: str) -> int:
    try:
        priority = int(cell)
    except ValueError:
        raise CellError(f"priority must be a whole number, not {cell!r}") from None
    if abs(priority) > MAX_PRIORITY:
        raise CellError(f"priority must be from -{MAX_PRIORITY} to {MAX_PRIORITY}, but it is {cell}")
    return priority

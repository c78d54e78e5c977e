"""Makes a variant of a file of tasks, on which a policy is judged that was found with the file itself."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from moorage.simulator.task_file import Task, TaskFile

TEMPLATE_COLUMNS = ("cpu_milli", "memory_mib", "gpu", "gpu_models", "priority", "workload")


def write_variant(source: Path, target: Path, seed: int) -> None:
    """Write as many tasks as the source has, each drawn at random from the source with its lifetime.

    A variant of a trace keeps the times of arrival.
    """
    file = TaskFile(source)
    tasks = list(file.tasks())
    drawn = np.random.default_rng(seed).integers(0, len(tasks), len(tasks)).tolist()
    has_duration = any(task.duration is not None for task in tasks)
    times = ("created_s", "duration_s" if has_duration else "deleted_s") if file.is_trace else ()
    with target.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(("name", *TEMPLATE_COLUMNS, *times))
        for number, (arrival, choice) in enumerate(zip(tasks, drawn, strict=True)):
            task = tasks[choice]
            rows.writerow((f"task-{number}", *task.template, *(_times(task, arrival.created) if times else ())))


def _times(task: Task, created: float) -> tuple[float, float | str]:
    if task.duration is not None:
        return created, task.duration
    return created, "" if task.deleted is None else created + (task.deleted - task.created)

"""Variants of a file of tasks."""

from __future__ import annotations

from pathlib import Path

from moorage.simulator.task_file import Task, TaskFile
from moorage.tuning.task_variant import write_variant
from simulator.sim_files import write

TASKS = "name,cpu_milli,memory_mib,gpu\nt1,1000,1024,1\nt2,1000,1024,2\n"
HEADER = "name,cpu_milli,memory_mib,gpu,gpu_models,priority,workload"


def variant(folder: Path, tasks: str, seed: int = 1) -> list[Task]:
    source, target = write(folder, "tasks.csv", tasks), folder / f"variant-{seed}.csv"
    write_variant(source, target, seed)
    file = TaskFile(target)
    file.check()
    return list(file.tasks())


def test_a_variant_has_as_many_tasks_all_drawn_from_the_file(tmp_path: Path) -> None:
    tasks = HEADER + "\n" + "".join(f"t{n},{n}00,{n},1,T4|G2,{n},w{n}\n" for n in range(1, 30))
    found = variant(tmp_path, tasks)
    originals = {task.template for task in TaskFile(tmp_path / "tasks.csv").tasks()}
    assert len(found) == 29
    assert {task.template for task in found} < originals


def test_equal_seeds_give_equal_variants_and_other_seeds_others(tmp_path: Path) -> None:
    tasks = TASKS + "".join(f"x{n},{n}00,1,0\n" for n in range(20))
    assert variant(tmp_path, tasks, 1) == variant(tmp_path, tasks, 1)
    assert variant(tmp_path, tasks, 1) != variant(tmp_path, tasks, 2)


def test_a_variant_of_a_trace_keeps_arrivals_and_draws_lifetimes(tmp_path: Path) -> None:
    rows = "".join(f"t{n},100,1,{n * 10},{n * 10 + n if n % 5 else ''}\n" for n in range(1, 30))
    found = variant(tmp_path, "name,cpu_milli,memory_mib,created_s,deleted_s\n" + rows)
    assert [task.created for task in found] == [n * 10 for n in range(1, 30)]
    lifetimes = {None if task.deleted is None else task.deleted - task.created for task in found}
    assert lifetimes < {None, *(float(n) for n in range(1, 30) if n % 5)}


def test_a_variant_of_a_trace_keeps_durations(tmp_path: Path) -> None:
    tasks = "name,cpu_milli,memory_mib,created_s,duration_s\nt1,1,1,0,5\nt2,1,1,3,\n"
    assert {task.duration for seed in range(1, 9) for task in variant(tmp_path, tasks, seed)} == {5.0, None}

"""Stranded amounts are free, but no task can use them because the node lacks another resource."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.simulator.stranded import requests_of, stranded_percent
from moorage.simulator.task_file import Template

GPU = "nvidia.com/gpu"
MIB = 1 << 20


def amounts(*nodes: tuple[int, int, int]) -> dict[str, np.ndarray]:
    cpu, memory, gpu = (np.array(column, np.int64) for column in zip(*nodes, strict=True))
    return {"cpu": cpu, "memory": memory * MIB, GPU: gpu}


def test_gpus_of_a_node_without_cpu_are_stranded() -> None:
    free = amounts((0, 100, 4), (1000, 100, 2))
    total = {"cpu": 10_000, "memory": 1000 * MIB, GPU: 10}
    shares = stranded_percent(free, total, [(Template(1000, 10, 1), 1)])
    assert shares[GPU] == 40.0
    assert shares["cpu"] == 0.0
    assert shares["memory"] == 10.0


def test_stranded_percent_is_the_mean_over_the_tasks_that_request_the_resource() -> None:
    free = amounts((1000, 100, 4))
    total = {"cpu": 10_000, "memory": 1000 * MIB, GPU: 10}
    tasks = [(Template(1000, 10, 1), 3), (Template(2000, 10, 1), 1), (Template(500, 10, 0), 96)]
    assert stranded_percent(free, total, tasks)[GPU] == 10.0  # one of four tasks cannot use the 4 GPUs


nodes = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=5)
templates = st.lists(
    st.tuples(st.builds(Template, st.integers(0, 4), st.integers(0, 4), st.integers(0, 2)), st.integers(1, 3)),
    min_size=1,
    max_size=4,
    unique_by=lambda each: each[0],
)


@given(nodes, templates)
def test_stranded_amounts_equal_a_count_of_each_task_on_each_node(
    free_nodes: list[tuple[int, int, int]], tasks: list[tuple[Template, int]]
) -> None:
    free = amounts(*free_nodes)
    total = {name: int(column.sum()) + 1 for name, column in free.items()}
    expected = {}
    for name in free:
        sums, count = 0, 0
        for template, number in tasks:
            wanted = requests_of(template)
            if not wanted[name]:
                continue
            count += number
            for node in range(len(free_nodes)):
                has = {each: int(free[each][node]) for each in free}
                if has[name] >= wanted[name] and any(has[each] < wanted[each] for each in free if each != name):
                    sums += number * has[name]
        expected[name] = round(100 * sums / count / total[name], 2) if count else 0.0
    assert stranded_percent(free, total, tasks) == expected

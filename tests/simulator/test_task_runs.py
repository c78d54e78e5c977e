"""Runs of arrivals and traces. A reader can count the expected figures by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.simulator.run_result import Cost, Waiting
from moorage.simulator.simulation import Request, simulate
from simulator.sim_files import PACK, baseline, results, run, write

EXAMPLE = Path(__file__).parents[2] / "examples" / "11-gpu-simulation"
TRACE = "name,cpu_milli,memory_mib,gpu,created_s,duration_s"
ONE_NODE = "name,cpu_milli,memory_mib,gpu,model\na,4000,4096,2,T4\n"


def test_a_task_that_does_not_fit_at_its_arrival_is_not_placed_later(tmp_path: Path) -> None:
    result = baseline(tmp_path, "name,cpu_milli,memory_mib\nx,3000,1\ny,2000,1\nz,1000,1\n", nodes=ONE_NODE)
    assert (result.placed, result.unplaced) == (2, 1)
    assert result.reasons == {"Insufficient cpu": 1}


def test_tasks_run_only_on_the_models_that_they_accept(tmp_path: Path) -> None:
    tasks = "name,cpu_milli,memory_mib,gpu,gpu_models\nx,1,1,1,G2|H9\ny,1,1,1,H9\n"
    result = baseline(tmp_path, tasks)
    assert result.groups["model"]["G2"].pods == 1
    assert result.reasons == {"node(s) didn't match Pod's node affinity/selector": 1}


def test_shares_are_measured_when_the_requests_of_the_tasks_reach_a_mark(tmp_path: Path) -> None:
    tasks = "name,cpu_milli,memory_mib,gpu,asked_percent\na,1,1,2,50\nb,1,1,1,75\nc,1,1,2,125\nd,1,1,1,130\n"
    result = baseline(tmp_path, tasks)
    assert result.allocated["nvidia.com/gpu"] == {
        "80": 75.0,
        "90": 75.0,
        "100": 75.0,
        "110": 75.0,
        "120": 75.0,
        "130": 100.0,
    }


def test_the_requested_share_of_gpus_is_computed_if_the_file_does_not_have_it(tmp_path: Path) -> None:
    with_gpus = baseline(tmp_path, "name,cpu_milli,memory_mib,gpu\na,1,1,2\nb,1,1,1\nc,1,1,2\n")
    assert with_gpus.allocated["nvidia.com/gpu"] == {"80": 75.0, "90": 75.0, "100": 75.0, "110": 75.0, "120": 75.0}
    nodes = "name,cpu_milli,memory_mib\nn,1000,1000\n"
    without = baseline(tmp_path, "name,cpu_milli,memory_mib\na,700,100\nb,400,100\n", nodes=nodes)
    assert without.allocated["cpu"] == {"80": 70.0, "90": 70.0, "100": 70.0, "110": 70.0}


def test_tasks_of_a_trace_wait_and_leave(tmp_path: Path) -> None:
    result = baseline(tmp_path, f"{TRACE}\nx,1,1,2,0,100\ny,1,1,1,10,50\nz,1,1,1,20,50\n", nodes=ONE_NODE)
    assert (result.placed, result.unplaced) == (3, 0)
    assert result.waiting == Waiting(p50=80.0, p95=89.0, p99=89.8)  # 0, 90 and 80 s
    assert result.use["nvidia.com/gpu"] == 100.0


def test_a_task_that_leaves_before_it_is_placed_is_counted_as_not_placed(tmp_path: Path) -> None:
    tasks = "name,cpu_milli,memory_mib,gpu,created_s,deleted_s\nx,1,1,2,0,100\ny,1,1,1,10,50\nz,1,1,3,20,\n"
    result = baseline(tmp_path, tasks, nodes=ONE_NODE)
    assert result.reasons == {
        "Insufficient nvidia.com/gpu": 1,
        "left before it was placed: Insufficient nvidia.com/gpu": 1,
    }


def test_an_arrival_can_use_the_resources_of_a_task_that_leaves_in_the_same_second(tmp_path: Path) -> None:
    result = baseline(tmp_path, f"{TRACE}\nx,1,1,2,0,10\ny,1,1,2,10,10\n", nodes=ONE_NODE)
    assert result.waiting == Waiting(0.0, 0.0, 0.0)


def test_a_victim_of_an_arrival_is_lost(tmp_path: Path) -> None:
    tasks = "name,cpu_milli,memory_mib,gpu,priority\nlow,1,1,2,0\nhigh,1,1,1,5\n"
    result = baseline(tmp_path, tasks, nodes=ONE_NODE)
    assert (result.placed, result.unplaced, result.preemptions) == (1, 1, 1)
    assert result.reasons == {"preempted": 1}
    assert result.use["nvidia.com/gpu"] == 50.0


def test_a_victim_of_a_trace_waits_again(tmp_path: Path) -> None:
    tasks = f"{TRACE},priority\nlow,1,1,2,0,100,0\nhigh,1,1,2,10,20,5\n"
    result = baseline(tmp_path, tasks, nodes=ONE_NODE, prices=write(tmp_path, "p.csv", "model,price_per_hour\nT4,36\n"))
    assert (result.placed, result.preemptions) == (2, 1)
    assert result.waiting == Waiting(0.0, 0.0, 0.0)
    # `low` runs for 10 s, `high` for 20 s, and `low` again for 100 s. A second costs 0.01.
    assert result.cost == Cost(of_used_nodes=1.3, of_all_nodes=1.0, is_total=True)


def test_cost_includes_only_nodes_that_run_pods(tmp_path: Path) -> None:
    prices = write(tmp_path, "p.csv", "model,price_per_hour\nT4,1\nG2,3\n")
    found = results(tmp_path, "name,cpu_milli,memory_mib,gpu\nx,2000,1,1\ny,2000,1,1\n", policies=PACK, prices=prices)
    assert found["kube-scheduler"].cost == Cost(4.0, 4.0, is_total=False)
    assert found["pack"].cost in (Cost(1.0, 4.0, is_total=False), Cost(3.0, 4.0, is_total=False))


def test_workloads_spread_over_zones(tmp_path: Path) -> None:
    nodes = "name,cpu_milli,memory_mib,zone\na,9000,9000,z1\nb,9000,9000,z1\nc,9000,9000,z2\n"
    spread = PACK.replace("preset: GpuPack", "zones: {spread: Require}")
    tasks = "name,cpu_milli,memory_mib,workload\n" + "".join(f"t{number},10,10,web\n" for number in range(9))
    result = results(tmp_path, tasks, nodes=nodes, policies=spread)["pack"]
    assert result.skew["zones_pods"] == 1
    assert {zone: use.pods for zone, use in result.groups["zone"].items()} in ({"z1": 5, "z2": 4}, {"z1": 4, "z2": 5})


def test_a_seed_decides_between_equal_nodes(tmp_path: Path) -> None:
    nodes = "name,cpu_milli,memory_mib\n" + "".join(f"n{number},9000,9000\n" for number in range(20))
    tasks = "name,cpu_milli,memory_mib\nx,1000,10\ny,2000,10\n"
    placements = {
        seed: run(tmp_path, tasks, nodes=nodes, seed=seed, keeps_placements=True).results[0].placements
        for seed in (1, 1, 2, 3)
    }
    assert len(set(placements.values())) > 1
    again = run(tmp_path, tasks, nodes=nodes, seed=1, keeps_placements=True).results[0]
    assert again.placements == placements[1]


@st.composite
def traces(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Draw tasks of a trace: GPUs, seconds since the previous task, duration and priority."""
    task = st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 40), st.integers(0, 1))
    return draw(st.lists(task, min_size=1, max_size=25))


@settings(max_examples=60)
@given(traces())
def test_a_trace_overcommits_no_node_and_places_each_task_that_can_run(
    tmp_path_factory: pytest.TempPathFactory, tasks: Sequence[tuple[int, int, int, int]]
) -> None:
    created, rows = 0, []
    for number, (gpus, gap, duration, _) in enumerate(tasks):
        created += gap
        rows.append(f"t{number},100,10,{gpus},{created},{duration}")
    folder = tmp_path_factory.getbasetemp()
    result = baseline(folder, "\n".join((TRACE, *rows, "")), nodes=ONE_NODE)
    too_large = sum(gpus > 2 for gpus, *_ in tasks)
    assert result.unplaced == too_large
    assert result.placed + result.unplaced == len(tasks)
    assert all(share <= 100 for shares in result.series.percent.values() for share in shares)
    assert all(shares[-1] == 0 for shares in result.series.percent.values())  # all placed tasks have left


@settings(max_examples=60)
@given(traces())
def test_each_unplaced_task_of_a_run_with_priorities_has_a_reason(
    tmp_path_factory: pytest.TempPathFactory, tasks: Sequence[tuple[int, int, int, int]]
) -> None:
    created, timed, arriving = 0, [f"{TRACE},priority"], ["name,cpu_milli,memory_mib,gpu,priority"]
    for number, (gpus, gap, duration, priority) in enumerate(tasks):
        created += gap
        timed.append(f"t{number},100,10,{gpus},{created},{duration},{priority}")
        arriving.append(f"t{number},100,10,{gpus},{priority}")
    folder = tmp_path_factory.getbasetemp()
    for rows in (timed, arriving):
        result = baseline(folder, "\n".join((*rows, "")), nodes=ONE_NODE)
        assert result.unplaced == sum(result.reasons.values())
        assert all(0 <= share <= 100 for shares in result.series.percent.values() for share in shares)


def test_the_policies_of_the_example_allocate_more_gpus_than_kube_scheduler() -> None:
    files = {name: EXAMPLE / name for name in ("nodes.csv", "arrivals.csv", "policies.yaml")}
    request = Request(nodes=files["nodes.csv"], tasks=files["arrivals.csv"], policies=(files["policies.yaml"],))
    found = {result.name: result.allocated["nvidia.com/gpu"]["100"] for result in simulate(request, jobs=1).results}
    assert found["gpu-models"] > found["gpu-balance"] > found["kube-scheduler"] + 5

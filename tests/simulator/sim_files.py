"""Writes the files of small simulations, and runs them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moorage.simulator.run_result import PolicyResult
from moorage.simulator.simulation import Request, Simulation, simulate

NODE_HEADER = "name,cpu_milli,memory_mib,gpu,model"
ARRIVAL_HEADER = "name,cpu_milli,memory_mib,gpu"
TWO_NODES = f"{NODE_HEADER}\na,8000,16384,2,T4\nb,8000,16384,2,G2\n"
PACK = """\
apiVersion: scheduling.moorage.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: pack}
spec: {preset: GpuPack}
"""


def write(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def run(folder: Path, tasks: str, *, nodes: str = TWO_NODES, policies: str = "", **fields: Any) -> Simulation:
    """Run a simulation in this process."""
    request = Request(
        nodes=write(folder, "nodes.csv", nodes),
        tasks=write(folder, "tasks.csv", tasks),
        policies=(write(folder, "policies.yaml", policies),) if policies else (),
        **fields,
    )
    return simulate(request, jobs=1)


def results(folder: Path, tasks: str, **fields: Any) -> Mapping[str, PolicyResult]:
    """Return the results of a simulation by policy."""
    return {result.name: result for result in run(folder, tasks, **fields).results}


def baseline(folder: Path, tasks: str, **fields: Any) -> PolicyResult:
    """Return the result of kube-scheduler's default profile."""
    return results(folder, tasks, **fields)["kube-scheduler"]

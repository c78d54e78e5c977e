"""The whole path on a real control plane: pods bound a second, beside kube-scheduler of the same version.

The pods are created before the scheduler starts. The rate is taken between the first bound pod and the last, so that
neither's start counts; CPU is the scheduler process's own in that time.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import workloads
from controlplane.component import Component
from controlplane.launcher import ControlPlane
from controlplane.objects import PODS, create_nodes, create_objects
from controlplane.ports import Ports
from moorage.api.crd import render
from processes import moorage

POLL_SECONDS = 0.05
TIMEOUT_SECONDS = 300.0
POLICY = f"""
apiVersion: scheduling.moorage.dev/v1alpha1
kind: SchedulingPolicy
metadata: {{name: {workloads.SCHEDULER_NAME}}}
spec: {{}}
"""
CLIENT_LIMITS: Mapping[str, object] = {"qps": 5000, "burst": 5000}
"""So that neither scheduler waits for itself."""

_SCHEDULED = re.compile(
    r'^scheduler_schedule_attempts_total\{[^}]*result="scheduled"[^}]*\} ([0-9.e+]+)$', re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class EndToEndResult:
    """What one scheduler did with one cluster."""

    scheduler: str
    kind: str
    nodes: int
    pods: int
    pods_a_second: float
    cpu_milliseconds_a_pod: float
    peak_megabytes: float


def measure(kind: str, nodes: int, pods: int) -> tuple[EndToEndResult, EndToEndResult]:
    """Measure moorage and then kube-scheduler, each on a fresh control plane of its own."""
    ours, theirs = (
        EndToEndResult(name, kind, nodes, pods, *_run(kind, nodes, pods, start))
        for name, start in (("moorage", _moorage), ("kube-scheduler", _kube_scheduler))
    )
    return ours, theirs


def _run(
    kind: str, nodes: int, pods: int, start: Callable[[ControlPlane], Iterator[Component]]
) -> tuple[float, float, float]:
    with ControlPlane() as control_plane:
        asyncio.run(create_nodes(control_plane, map(workloads.node, range(nodes))))
        asyncio.run(create_objects(control_plane, PODS, map(workloads.KINDS[kind], range(pods))))
        with contextmanager(start)(control_plane) as scheduler:
            return _observe(scheduler, pods)


def _moorage(control_plane: ControlPlane) -> Iterator[Component]:
    control_plane.kubectl("apply", "-f", "-", input=render())
    control_plane.kubectl("wait", "--for=condition=Established", "crd", "--all")
    control_plane.kubectl("apply", "-f", "-", input=POLICY)
    with (
        closing(Ports()) as ports,
        moorage(control_plane.kubeconfig, control_plane.directory, ports, "--no-leader-elect") as process,
    ):
        yield process


def _kube_scheduler(control_plane: ControlPlane) -> Iterator[Component]:
    profiles = [{"schedulerName": workloads.SCHEDULER_NAME}]
    with control_plane.start_scheduler({"profiles": profiles, "clientConnection": CLIENT_LIMITS}) as process:
        yield process


def _observe(scheduler: Component, pods: int) -> tuple[float, float, float]:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    first: tuple[float, float, float] | None = None
    while True:
        bound, now, cpu = _bound(scheduler), time.monotonic(), _cpu_seconds(scheduler.pid)
        if first is None and bound:
            first = (bound, now, cpu)
        if first and bound >= pods:
            break
        if now > deadline:
            raise TimeoutError(
                f"{bound:.0f} of {pods} pods bound after {TIMEOUT_SECONDS:.0f} s: {scheduler.log_tail()}"
            )
        time.sleep(POLL_SECONDS)
    counted = bound - first[0]
    return counted / (now - first[1]), (cpu - first[2]) / counted * 1000, _peak_megabytes(scheduler.pid)


def _bound(scheduler: Component) -> float:
    return sum(map(float, _SCHEDULED.findall(scheduler.endpoint.read("/metrics"))))


def _cpu_seconds(pid: int) -> float:
    """Return user and system time (fields 14 and 15 of proc(5)'s stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (kilobytes,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(kilobytes) / 1024

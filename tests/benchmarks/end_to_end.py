"""Measures how many pods moorage, kube-scheduler and a bind loop bind in a second, on a real control plane.

The pods exist before a scheduler starts, so that it finds a full queue. The rate is the number of pods divided by
the time between the first and the last `Scheduled` event. So the rate excludes the start of the process, and needs no
frequent polling. The CPU time is the time that the scheduler's process uses in the same period.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import workloads
from controlplane.component import Component
from controlplane.launcher import ControlPlane
from controlplane.objects import PODS, api_session, create_nodes, create_objects
from controlplane.ports import Ports
from moorage.api.crd import render
from processes import moorage

LIMIT = "bind loop"
"""A loop that only binds and writes events."""
OURS = "moorage"
THEIRS = "kube-scheduler"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
POLL_SECONDS = 0.5
"""A long interval, because each answer costs the scheduler time."""
TIMEOUT_SECONDS = 300.0
POLICY = f"""
apiVersion: scheduling.moorage.dev/v1alpha1
kind: SchedulingPolicy
metadata: {{name: {workloads.SCHEDULER_NAME}}}
spec: {{}}
"""
CLIENT_LIMITS: Mapping[str, object] = {"qps": 5000, "burst": 5000}
"""High limits, so that kube-scheduler does not wait for its own client."""

_SCHEDULED = re.compile(
    r'^scheduler_schedule_attempts_total\{[^}]*result="scheduled"[^}]*\} ([0-9.e+]+)$', re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Cost:
    """The resources that a process used to bind pods."""

    cpu_milliseconds_a_pod: float
    peak_megabytes: float


@dataclass(frozen=True, slots=True)
class EndToEndResult:
    """The result of one scheduler for one kind of pod in one cluster."""

    scheduler: str
    kind: str
    nodes: int
    pods: int
    pods_a_second: float
    cpu_milliseconds_a_pod: float
    peak_megabytes: float


def measure(nodes: int, kinds: Iterable[str], pods: int) -> Iterator[tuple[EndToEndResult, ...]]:
    """Yield the results of the limit, moorage and kube-scheduler for each kind of pod, on one control plane."""
    with ControlPlane() as control_plane:
        control_plane.install(render())
        control_plane.kubectl("apply", "-f", "-", input=POLICY)
        asyncio.run(create_nodes(control_plane, map(workloads.node, range(nodes))))
        for kind in kinds:
            yield tuple(
                EndToEndResult(name, kind, nodes, pods, *_measure_one(control_plane, run, kind, pods))
                for name, run in _SCHEDULERS.items()
            )


def _measure_one(
    control_plane: ControlPlane, run: Callable[[ControlPlane, int], Cost], kind: str, pods: int
) -> tuple[float, float, float]:
    asyncio.run(create_objects(control_plane, PODS, map(workloads.KINDS[kind], range(pods))))
    started = time.time()
    cost = run(control_plane, pods)
    times = asyncio.run(_scheduled_since(control_plane, started))
    asyncio.run(_delete_pods(control_plane))
    return (pods - 1) / (max(times) - min(times)), cost.cpu_milliseconds_a_pod, cost.peak_megabytes


def _bind_loop(control_plane: ControlPlane, pods: int) -> Cost:
    program = Path(__file__).with_name("bind_loop.py")
    command = [sys.executable, str(program), f"--kubeconfig={control_plane.kubeconfig}"]
    answer = subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_SECONDS)
    took = json.loads(answer.stdout)
    return Cost(took["cpuSeconds"] / pods * 1000, took["peakMegabytes"])


def _moorage(control_plane: ControlPlane, pods: int) -> Cost:
    with (
        closing(Ports()) as ports,
        moorage(control_plane.kubeconfig, control_plane.directory, ports, "--no-leader-elect") as process,
    ):
        return _observe(process, pods)


def _kube_scheduler(control_plane: ControlPlane, pods: int) -> Cost:
    profiles = [{"schedulerName": workloads.SCHEDULER_NAME}]
    with control_plane.start_scheduler({"profiles": profiles, "clientConnection": CLIENT_LIMITS}) as process:
        return _observe(process, pods)


_SCHEDULERS: Mapping[str, Callable[[ControlPlane, int], Cost]] = {
    LIMIT: _bind_loop,
    OURS: _moorage,
    THEIRS: _kube_scheduler,
}


def _observe(scheduler: Component, pods: int) -> Cost:
    """Wait until all pods are bound, and return the cost. Pods that are bound before the first poll do not count."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    first, cpu_at_first = _bound(scheduler), _cpu_seconds(scheduler.pid)
    while (bound := _bound(scheduler)) < pods:
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{bound:.0f} of {pods} pods bound after {TIMEOUT_SECONDS:.0f} s: {scheduler.log_tail()}"
            )
        if not first:
            first, cpu_at_first = bound, _cpu_seconds(scheduler.pid)
        time.sleep(POLL_SECONDS)
    seconds = _cpu_seconds(scheduler.pid) - cpu_at_first
    return Cost(seconds / (pods - first) * 1000, _peak_megabytes(scheduler.pid))


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


async def _scheduled_since(control_plane: ControlPlane, started: float) -> list[float]:
    """Return the times of the `Scheduled` events since `started`, in seconds since the epoch."""
    async with (
        api_session(control_plane) as session,
        session.get(EVENTS, params={"fieldSelector": "reason=Scheduled"}) as response,
    ):
        events = (await response.json())["items"]
    times = (datetime.fromisoformat(event["eventTime"]).astimezone(UTC).timestamp() for event in events)
    return [each for each in times if each >= started]


async def _delete_pods(control_plane: ControlPlane) -> None:
    async with (
        api_session(control_plane) as session,
        session.delete(PODS, params={"gracePeriodSeconds": "0"}) as response,
    ):
        response.raise_for_status()

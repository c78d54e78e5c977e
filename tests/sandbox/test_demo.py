"""The demo: it checks the examples' placements, and removes its processes and files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from moorage.sandbox.demo.expectations import GPU, failed_expectations
from moorage.sandbox.simulation.node_groups import INSTANCE_TYPE_LABEL, LIFECYCLE_LABEL, ZONE_LABEL

Manifest = dict[str, Any]


def node(name: str, zone: str, lifecycle: str = "SPOT", instance_type: str = "c5.large", gpus: int = 0) -> Manifest:
    labels = {ZONE_LABEL: zone, LIFECYCLE_LABEL: lifecycle, INSTANCE_TYPE_LABEL: instance_type}
    return {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": {GPU: str(gpus)} if gpus else {}}}


NODES = [
    node("spot", "a"),
    node("dear", "b", "ON_DEMAND"),
    node("other", "c", instance_type="m5.large"),
    node("gpus", "a", "ON_DEMAND", "g6.large", gpus=4),
]
EXPECTED = {
    "batch-1": "spot",
    "batch-2": "other",
    "ledger-1": "dear",
    "web-1": "spot",
    "web-2": "other",
    "train-1": "gpus",
    "train-2": "gpus",
    "prepare-1": "spot",
    "packed-1": "spot",
    "packed-2": "spot",
    "api-1": "spot",
    "api-2": "dear",
    "compute-1": "spot",
    "colossus-1": "",
}


def pods(places: dict[str, str]) -> list[Manifest]:
    refused = {"conditions": [{"type": "PodScheduled", "reason": "Unschedulable", "message": "no room"}]}
    return [
        {"metadata": {"name": name}, "spec": {"nodeName": home} if home else {}, "status": {} if home else refused}
        for name, home in places.items()
    ]


def test_expected_placements_give_no_failure() -> None:
    assert failed_expectations(pods(EXPECTED), NODES) == []


@pytest.mark.parametrize(
    ("changed", "failure"),
    [
        ({"batch-2": "dear"}, "batch-* run on spot nodes; batch-1 is on spot, batch-2 is on dear"),
        ({"ledger-1": "spot"}, "ledger-* run on-demand; ledger-1 is on spot"),
        ({"web-2": "spot"}, "web-* are spread evenly over the zones"),
        ({"train-2": "spot"}, "train-* share a node"),
        ({"prepare-1": "gpus"}, "prepare-1 runs on a node without GPUs"),
        ({"packed-2": "other"}, "packed-* share a node"),
        ({"api-2": "spot"}, "each pod api-* has its own node"),
        ({"compute-1": "other"}, "compute-* run on c5 nodes"),
        ({"colossus-1": "gpus"}, "colossus-1 was not refused, but its example says so"),
        ({"api-2": ""}, "api-2 was refused, but its example says that it runs"),
    ],
)
def test_wrong_placement_gives_one_failure_that_names_it(changed: dict[str, str], failure: str) -> None:
    [failed] = failed_expectations(pods(EXPECTED | changed), NODES)
    assert failure in failed


@pytest.mark.slow
def test_sigterm_ends_the_operator_and_removes_the_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "moorage", "demo", "--keep"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        while "Ctrl-C ends the demo" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 130
    assert list(tmp_path.iterdir()) == []

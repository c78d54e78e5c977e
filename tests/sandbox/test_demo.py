"""The demo checks the placements of the examples, and removes its processes and files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moorage.sandbox.demo.demo_pods import DemoPod, Manifest, demo_pods
from moorage.sandbox.demo.demo_report import DemoResult
from moorage.sandbox.demo.expectations import EXPECTATIONS, GPU, failed_expectations
from moorage.sandbox.simulation.node_groups import INSTANCE_TYPE_LABEL, LIFECYCLE_LABEL, ZONE_LABEL


def node(name: str, zone: str, lifecycle: str = "SPOT", instance_type: str = "c5.large", gpus: int = 0) -> Manifest:
    labels = {ZONE_LABEL: zone, LIFECYCLE_LABEL: lifecycle, INSTANCE_TYPE_LABEL: instance_type}
    return {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": {GPU: str(gpus)} if gpus else {}}}


NODES = [
    node("spot", "a"),
    node("costly", "b", "ON_DEMAND"),
    node("other", "c", instance_type="m5.large"),
    node("gpus", "a", "ON_DEMAND", "g6.large", gpus=4),
]
POLICIES = {
    "bat": "spot-first",
    "led": "spot-first",
    "web": "zone-spread",
    "tra": "gpu-pool",
    "pre": "gpu-pool",
    "col": "gpu-pool",
    "pac": "cost-saver",
    "api": "low-latency",
    "com": "by-instance-type",
}
"""The policy for the first three letters of a pod's name."""
EXPECTED = {
    "batch-1": "spot",
    "batch-2": "other",
    "ledger-1": "costly",
    "web-1": "spot",
    "web-2": "other",
    "train-1": "gpus",
    "train-2": "gpus",
    "prepare-1": "spot",
    "packed-1": "spot",
    "packed-2": "spot",
    "api-1": "spot",
    "api-2": "costly",
    "compute-1": "spot",
    "colossus-1": "",
}


def pods(places: dict[str, str]) -> list[DemoPod]:
    refused = {"conditions": [{"type": "PodScheduled", "reason": "Unschedulable", "message": "no room"}]}
    manifests: list[Manifest] = [
        {
            "metadata": {"name": name},
            "spec": {"schedulerName": POLICIES[name[:3]], **({"nodeName": home} if home else {})},
            "status": {} if home else refused,
        }
        for name, home in places.items()
    ]
    return demo_pods(manifests, NODES)


def test_expected_placements_give_no_failure() -> None:
    assert failed_expectations(pods(EXPECTED)) == []


@pytest.mark.parametrize(
    ("changed", "failure"),
    [
        ({"batch-2": "costly"}, "batch-* run on spot nodes; batch-1 is on spot, batch-2 is on costly"),
        ({"ledger-1": "spot"}, "ledger-* run on-demand; ledger-1 is on spot"),
        ({"web-2": "spot"}, "web-* are spread evenly over the zones"),
        ({"train-2": "spot"}, "train-* share a node"),
        ({"prepare-1": "gpus"}, "prepare-1 runs on a node without GPUs"),
        ({"packed-2": "other"}, "packed-* share a node"),
        ({"api-2": "spot"}, "each pod api-* has its own node"),
        ({"compute-1": "other"}, "compute-* run on c5 nodes"),
        ({"colossus-1": "gpus"}, "colossus-1 stays pending; colossus-1 is on gpus"),
        ({"api-2": ""}, "each pod api-* has its own node; api-1 is on spot, api-2 has no node"),
    ],
)
def test_wrong_placement_gives_one_failure_that_names_the_expectation(changed: dict[str, str], failure: str) -> None:
    [failed] = failed_expectations(pods(EXPECTED | changed))
    assert failure in failed


def test_expectation_without_pods_fails() -> None:
    without = {name: home for name, home in EXPECTED.items() if not name.startswith("web")}
    assert failed_expectations(pods(without)) == [
        "02-zone-spread: this is not true: web-* are spread evenly over the zones; there is no such pod"
    ]


RESULT = DemoResult("NAME   READY   AGE\nweb    True    1s\n", pods(EXPECTED), pods(EXPECTED | {"batch-1": "costly"}))


def test_table_of_80_columns_compares_the_policies_with_the_default_profile(
    capsys: pytest.CaptureFixture[str],
) -> None:
    RESULT.show()
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2:4] == ["NAME  READY  AGE", "web   True   1s"]
    assert [line.split() for line in lines if "batch-*" in line] == [
        ["✓", "batch-*", "run", "on", "spot", "nodes", "other", "c", "✗", "costly"]
    ]
    assert [line.split() for line in lines if "train-*" in line] == [
        ["✓", "train-*", "share", "a", "node", "gpus", "x2", "a", "✓", "gpus", "x2"]
    ]
    assert lines[-2:] == ["colossus-1 stays pending:", "  no room".ljust(80)]


def test_json_has_the_expectations_and_both_placements_of_each_pod(capsys: pytest.CaptureFixture[str]) -> None:
    RESULT.print_json()
    printed = json.loads(capsys.readouterr().out)
    assert printed["expectations"][0] == {
        "example": "01-spot-first",
        "policy": "spot-first",
        "text": "batch-* run on spot nodes",
        "holds": True,
        "holdsByDefault": False,
    }
    batch, *_ = printed["pods"]
    place = {"zone": "a", "instanceType": "c5.large", "lifecycle": "SPOT", "refusal": None}
    default = {**place, "node": "costly", "zone": "b", "lifecycle": "ON_DEMAND"}
    assert batch == {"name": "batch-1", "policy": "spot-first", "node": "spot", **place, "byDefault": default}
    assert printed["pods"][-1]["refusal"] == "no room"


@pytest.mark.slow
def test_demo_meets_every_expectation_and_its_last_line_shows_the_keep_flag() -> None:
    done = subprocess.run([sys.executable, "-m", "moorage", "demo"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("To keep the cluster for kubectl: ")
    assert lines[-1].endswith(" demo --keep")
    assert sum(line.strip().startswith("✓") for line in lines) == len(EXPECTATIONS)


@pytest.mark.slow
def test_sigterm_ends_the_operator_and_removes_the_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "moorage", "demo", "--keep"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        while "Ctrl-C ends the demo" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 130
    assert list(tmp_path.iterdir()) == []

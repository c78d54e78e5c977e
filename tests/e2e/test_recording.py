"""`moorage run --record`, pods that kubectl creates, and `moorage replay`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from e2e.audited import Audited
from e2e.case import case_of
from e2e.clusters import Cluster
from e2e.faults import World
from moorage.recording.segment_file import SegmentReader
from processes import moorage

pytestmark = pytest.mark.slow

PODS = 12
SECRETS = ("secret-of-an-annotation", "secret-of-the-environment", "secret-of-the-command", "secret-of-an-argument")


@pytest.fixture(params=["sandbox", pytest.param("kube-apiserver", marks=pytest.mark.controlplane)])
def alone(request: pytest.FixtureRequest) -> Cluster:
    """A cluster without another operator, because a standby decides nothing."""
    if request.param == "sandbox":
        world: World = request.getfixturevalue("world")
        return world.api.cluster
    audited: Audited = request.getfixturevalue("audited")
    return audited.cluster


def replay(directory: Path) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "moorage", "replay", str(directory), "-o", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["runs"]


def recorded_text(directory: Path) -> Iterator[str]:
    for path in directory.glob("*.moorage"):
        with closing(SegmentReader(path)) as reader:
            yield repr(list(reader.values()))


def test_a_replay_repeats_the_decisions_of_an_operator_and_a_recording_has_no_secrets(
    alone: Cluster, tmp_path: Path
) -> None:
    recording = tmp_path / "recording"
    with case_of(alone, "recorded") as case:
        flags = (f"--record={recording}", "--seed=3")
        with moorage(alone.kubeconfig, tmp_path, alone.ports, *flags, name="recording"):
            case.make_live()
            for number in range(PODS):
                pod = case.pod(f"p{number}", requests={"cpu": "600m"}, metadata=None)
                pod["metadata"]["annotations"] = {"example.com/x": SECRETS[0]}
                container = pod["spec"]["containers"][0]
                container["env"] = [{"name": "X", "value": SECRETS[1]}]
                container["command"], container["args"] = [SECRETS[2]], [SECRETS[3]]
                alone.apply(pod)
            alone.apply(case.pod("large", requests={"cpu": "1000"}))
            for number in range(PODS):
                case.wait_until_bound(f"p{number}")
            case.wait_for_event("large", "FailedScheduling")
    (run,) = replay(recording)
    assert run["firstDifference"] is None
    assert run["equal"] == run["decisions"] > PODS
    assert run["seed"] == 3
    text = "".join(recorded_text(recording))
    assert "recorded-p0" in text
    assert not [secret for secret in SECRETS if secret in text]

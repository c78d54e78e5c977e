"""`moorage replay`: its output and its errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command_line import Run
from recording.recorded import RecordedHistory, segments


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    RecordedHistory(tmp_path / "rec").record(300)
    return tmp_path / "rec"


def test_replay_prints_that_all_decisions_are_equal(moorage: Run, recording: Path) -> None:
    ended = moorage("replay", recording)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.endswith(" decisions, all equal\n")


def test_replay_prints_json(moorage: Run, recording: Path) -> None:
    ended = moorage("replay", recording, "-o", "json")
    (run,) = json.loads(ended.out)["runs"]
    assert run["equal"] == run["decisions"] > 0
    assert (run["different"], run["firstDifference"]) == (0, None)


def test_replay_in_another_process_with_other_hashes_is_equal(recording: Path) -> None:
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "moorage", "replay", str(recording)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_replay_says_that_a_recording_is_cut_short(moorage: Run, recording: Path) -> None:
    (path,) = segments(recording)
    path.write_bytes(path.read_bytes()[:-20])
    ended = moorage("replay", recording)
    assert ended.status == 0
    assert f"note: {path} has no end mark, because the operator still runs or was killed" in ended.err


@pytest.mark.parametrize("size", [0, 5, 20, 300, 600])
def test_replay_of_a_file_that_is_cut_off_anywhere_prints_no_traceback(
    moorage: Run, recording: Path, size: int
) -> None:
    (path,) = segments(recording)
    path.write_bytes(path.read_bytes()[:size])
    ended = moorage("replay", recording)
    assert ended.status in {0, 1}
    assert "cut off" in ended.err


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"moorage recording\n\0\0\0\4\0\0\0\0abcd", "is damaged in block 0: its checksum is wrong"),
        (b"something else", "is not a segment of a recording"),
        (b"moorage recording\n", "is cut off before the end of its header"),
    ],
)
def test_replay_of_a_damaged_file_fails(moorage: Run, tmp_path: Path, content: bytes, fault: str) -> None:
    (tmp_path / "0000000000.moorage").write_bytes(content)
    ended = moorage("replay", tmp_path)
    assert (ended.status, ended.out) == (1, "")
    assert fault in ended.err


def test_replay_of_an_edited_file_fails(moorage: Run, recording: Path) -> None:
    (path,) = segments(recording)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    ended = moorage("replay", recording)
    assert ended.status == 1
    assert f"error: {path} is damaged in block" in ended.err


def test_replay_of_a_directory_without_a_recording_names_the_next_step(moorage: Run, tmp_path: Path) -> None:
    assert "`moorage run --record" in moorage("replay", tmp_path).err
    assert "is not a directory" in moorage("replay", tmp_path / "missing").err


@pytest.mark.parametrize("size", ["1Ki", "many", "-5Gi"])
def test_a_record_size_that_is_invalid_or_too_small_is_refused(moorage: Run, tmp_path: Path, size: str) -> None:
    ended = moorage("run", "--record", tmp_path, "--record-size", size)
    assert ended.status == 2
    assert "--record-size" in ended.err


POLICY = """\
apiVersion: scheduling.moorage.dev/v1alpha1
kind: SchedulingPolicy
metadata: {{name: tried}}
spec: {{schedulerName: {name}, filters: {{zones: {{allow: [a]}}}}}}
"""


def test_replay_with_a_policy_lists_the_pods_that_the_policy_treats_differently(
    moorage: Run, recording: Path, tmp_path: Path
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY.format(name="default"))
    ended = moorage("replay", recording, "--policy", file)
    assert (ended.status, ended.err) == (0, "")
    assert "The policies of --policy decided " in ended.out
    assert "  policy:   n" in ended.out
    (first, *_) = json.loads(moorage("replay", recording, "--policy", file, "-o", "json").out)["policies"][
        "differences"
    ]
    assert first["verdict"] in {"otherNode", "fitsNowhere", "fits"}


def test_replay_with_a_policy_for_no_recorded_pod_lists_the_recorded_scheduler_names(
    moorage: Run, recording: Path, tmp_path: Path
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY.format(name="nobody"))
    ended = moorage("replay", recording, "--policy", file)
    assert ended.status == 1
    assert "no recorded pod has the schedulerName of a policy in --policy; the recorded pods have:" in ended.err


def test_replay_in_several_processes_has_the_same_result(moorage: Run, tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        RecordedHistory(tmp_path, seed).record(60)
    results = [json.loads(moorage("replay", tmp_path, "-o", "json", "--jobs", jobs).out) for jobs in (1, 2)]
    assert results[0] == results[1]
    assert len(results[0]["runs"]) == 3

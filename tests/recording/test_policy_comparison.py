from pathlib import Path

import pytest

from moorage.errors import InvalidInput
from moorage.recording.policy_comparison import ComparedPolicies
from moorage.recording.replay_directory import policies_of, read_request, replay_all
from recording.recorded import RecordedHistory

SAME = """\
apiVersion: scheduling.moorage.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: same}
spec: {schedulerName: default, percentageOfNodesToScore: 0, scarcity: {resources: [cpu]}}
"""
ONE_ZONE = """\
apiVersion: scheduling.moorage.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: one-zone}
spec: {schedulerName: default, filters: {zones: {allow: [a]}}}
"""


def compared(directory: Path, policy: str) -> ComparedPolicies:
    RecordedHistory(directory).record(600)
    file = directory / "policy.yaml"
    file.write_text(policy)
    return policies_of(replay_all(read_request(directory, [file]), jobs=1))


def test_the_same_policy_decides_the_same_for_each_pod(tmp_path: Path) -> None:
    found = compared(tmp_path, SAME)
    assert found.decisions > 50
    assert found.verdicts == {"same": found.decisions}
    assert found.differences == []


def test_another_policy_makes_other_decisions(tmp_path: Path) -> None:
    found = compared(tmp_path, ONE_ZONE)
    assert found.verdicts["fitsNowhere"] + found.verdicts["otherNode"] > 5
    assert len({each.uid for each in found.differences}) == len(found.differences) > 0
    assert all(each.recorded != each.other for each in found.differences)


def test_a_comparison_changes_no_recorded_decision(tmp_path: Path) -> None:
    RecordedHistory(tmp_path).record(600)
    file = tmp_path / "policy.yaml"
    file.write_text(ONE_ZONE)
    (alone,) = replay_all(read_request(tmp_path), jobs=1)
    (beside,) = replay_all(read_request(tmp_path, [file]), jobs=1)
    assert beside.difference is None
    assert beside.decisions == alone.decisions


def test_an_invalid_policy_is_refused_before_the_replay(tmp_path: Path) -> None:
    RecordedHistory(tmp_path).record(10)
    file = tmp_path / "policy.yaml"
    file.write_text("kind: Pod\n")
    with pytest.raises(InvalidInput):
        read_request(tmp_path, [file])

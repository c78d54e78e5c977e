from contextlib import closing
from pathlib import Path

import pytest

from moorage.recording.recording_reader import RecordedSegment
from moorage.recording.recording_writer import RecordingLimits
from moorage.recording.replay import Replay
from moorage.recording.segment_file import SegmentReader
from recording.random_history import REGISTRY
from recording.recorded import RecordedHistory, replayed, segments

SMALL = RecordingLimits(segment_bytes=8_000)


@pytest.mark.parametrize("seed", range(4))
def test_a_replay_repeats_every_decision(seed: int, tmp_path: Path) -> None:
    RecordedHistory(tmp_path, seed).record(600)
    (result,) = replayed(tmp_path)
    assert result.difference is None
    assert result.decisions > 50
    assert not result.notes


@pytest.mark.parametrize("seed", range(2))
def test_a_replay_continues_over_all_segments(seed: int, tmp_path: Path) -> None:
    RecordedHistory(tmp_path, seed, SMALL).record(1500)
    assert len(segments(tmp_path)) > 4
    (result,) = replayed(tmp_path)
    assert result.difference is None
    assert result.decisions > 150


@pytest.mark.parametrize("seed", range(2))
def test_a_replay_begins_at_any_segment(seed: int, tmp_path: Path) -> None:
    RecordedHistory(tmp_path, seed, SMALL).record(800)
    found = segments(tmp_path)
    for number, path in enumerate(found[:-1], 1):
        path.unlink()
        if number % 3:
            continue
        (result,) = replayed(tmp_path)
        assert result.difference is None


def test_two_runs_are_replayed_if_a_segment_in_the_middle_is_missing(tmp_path: Path) -> None:
    RecordedHistory(tmp_path, limits=SMALL).record(1500)
    segments(tmp_path)[2].unlink()
    first, second = replayed(tmp_path)
    assert first.difference is second.difference is None


def test_a_recording_may_begin_in_the_middle_of_a_history(tmp_path: Path) -> None:
    recorded = RecordedHistory(tmp_path)
    recorded.history.start()
    recorded.history.run(300)
    recorded.begin()
    recorded.history.run(400)
    recorded.end()
    recorded.history.run(100)
    (result,) = replayed(tmp_path)
    assert result.difference is None
    assert result.decisions > 50


def test_the_first_difference_is_found(tmp_path: Path) -> None:
    RecordedHistory(tmp_path).record(600)
    (path,) = segments(tmp_path)
    with closing(RecordedSegment(path, REGISTRY)) as segment:
        replay = Replay(segment)
        replay.scheduler.seed += 1  # another seed chooses another node among equal scores
        difference = replay.run(lambda *_: None).difference
    assert difference is not None
    assert difference.expected is not None
    assert difference.got is not None
    assert difference.expected[:3] == difference.got[:3]
    assert difference.expected != difference.got


def test_a_recording_has_no_raw_objects_and_no_secrets_of_extenders(tmp_path: Path) -> None:
    RecordedHistory(tmp_path).record(300)
    (path,) = segments(tmp_path)
    with closing(SegmentReader(path)) as reader:
        text = repr(list(reader.values()))
    assert "'keyData'" not in text
    assert "hidden" not in text
    assert "c2VjcmV0" not in text
    assert "priorityClassName" not in text

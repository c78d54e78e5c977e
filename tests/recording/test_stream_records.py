"""States and calls are the same after they were written and read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from moorage.engine.engine_state import capture, restore
from moorage.engine.scheduler import Scheduler
from moorage.recording.object_records import as_plain
from moorage.recording.stream_records import STATE, StreamReader, StreamWriter
from recording.random_history import PROFILES, REGISTRY, RandomHistory

PARTS = {
    "active", "answered", "asked", "assumed_volume", "binding", "counters", "disallowed", "disallowed_message",
    "disallowed_unreported", "errors", "held", "held_unreported", "hold", "in_flight", "in_flight_event", "misnamed",
    "missing", "namespace", "node", "nominated", "object", "placed", "pod", "profile", "queued", "record", "rejected",
    "request_mix", "resting", "shadow", "shadow_unreported", "skipped", "suspect", "unreadable", "unschedulable",
    "with_node", "zones",
}  # fmt: skip
"""The names of the parts of a state."""


def packed(values: Iterator[Any]) -> list[Any]:
    """Write values to a file, and return the values that are read."""
    encoder = msgspec.msgpack.Encoder(enc_hook=as_plain)
    return [msgspec.msgpack.decode(encoder.encode(value)) for value in values]


def state_values(scheduler: Scheduler) -> list[Any]:
    """Return the values of a scheduler's state. Their sets are sorted, because sets have no order."""
    return [sorted_sets(value) for value in packed(StreamWriter().write_state(capture(scheduler.parts)))]


def sorted_sets(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_sets(each) for key, each in value.items()}
    if isinstance(value, list):
        items = [sorted_sets(each) for each in value]
        return sorted(items) if all(isinstance(each, str) for each in items) else items
    return value


@pytest.mark.parametrize("seed", range(4))
def test_a_state_is_the_same_after_it_was_written_and_read(seed: int) -> None:
    scheduler = Scheduler(seed, PROFILES)
    history = RandomHistory(seed, scheduler)
    history.start()
    history.run(200 + 150 * seed)
    values = packed(StreamWriter().write_state(capture(scheduler.parts)))
    restored = Scheduler(seed)
    restore(restored.parts, StreamReader(REGISTRY).read_state(iter(values)))
    assert state_values(restored) == state_values(scheduler)


def test_the_histories_reach_every_part_of_a_state() -> None:
    parts: set[str] = set()
    for seed in range(30):
        scheduler = Scheduler(seed, PROFILES)
        history = RandomHistory(seed, scheduler)
        history.start()
        for _ in range(20):
            history.run(30)
            parts |= {value[1] for value in state_values(scheduler) if value[0] == STATE}
        if parts == PARTS:
            break
    assert parts == PARTS

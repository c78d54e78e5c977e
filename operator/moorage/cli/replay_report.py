"""Prints the results of `moorage replay`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from moorage import __version__
from moorage.outside_text import one_line
from moorage.recording.outcome_records import describe_outcome

if TYPE_CHECKING:
    from moorage.recording.replay import FirstDifference, RunResult


def print_results(results: Sequence[RunResult]) -> None:
    """Print a line for each run, and the first difference of each run that has one."""
    for result in results:
        for note in result.notes:
            print_note(note)
        if result.moorage != __version__:
            print_note(f"moorage {result.moorage} made these decisions, and {__version__} repeats them")
        verdict = "all equal" if result.difference is None else "one differs, and the replay ended there"
        span = f"{_time(result.began)} to {_time(result.ended)}"
        print(f"{span}: {result.decisions:,} decisions, {verdict}")
        if result.difference is not None:
            _print_difference(result.difference)


def print_note(note: str) -> None:
    """Print a remark to stderr."""
    print(f"note: {one_line(note)}", file=sys.stderr)


def results_json(results: Sequence[RunResult]) -> str:
    """Return the results as JSON."""
    return json.dumps({"runs": [_result_json(result) for result in results]}, indent=2)


def _print_difference(difference: FirstDifference) -> None:
    print(f"The first difference is at {_time(difference.time)}, after {difference.decision:,} decisions:")
    for name, value in (("recorded", difference.expected), ("replayed", difference.got)):
        pod = f"pod {value[1]}: " if value and value[1] else ""
        print(f"  {name}: {one_line(pod + describe_outcome(value))}")


def _result_json(result: RunResult) -> dict[str, Any]:
    difference = result.difference
    return {
        "run": result.run,
        "moorage": result.moorage,
        "seed": result.seed,
        "began": _time(result.began),
        "ended": _time(result.ended),
        "decisions": result.decisions,
        "equal": result.equal,
        "different": int(difference is not None),
        "firstDifference": _difference_json(difference) if difference else None,
        "notes": result.notes,
    }


def _difference_json(difference: FirstDifference) -> dict[str, Any]:
    value = difference.expected or difference.got or ["", "", ""]
    return {
        "time": _time(difference.time),
        "decisionsBefore": difference.decision,
        "pod": value[1],
        "uid": value[2],
        "recorded": describe_outcome(difference.expected),
        "replayed": describe_outcome(difference.got),
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

"""Prints the results of `moorage replay`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from moorage import __version__
from moorage.errors import CommandFailed
from moorage.outside_text import one_line
from moorage.recording.outcome_records import describe_outcome
from moorage.recording.replay_directory import policies_of, runs_of

if TYPE_CHECKING:
    from moorage.recording.policy_comparison import ComparedPolicies, OtherDecision
    from moorage.recording.replay import FirstDifference, SegmentResult
    from moorage.recording.replay_directory import ReplayRequest, RunResult

MAX_LISTED = 20
"""The number of differences that the table lists. JSON has all of them."""
VERDICTS = {
    "same": "decided the same",
    "tie": "chosen by chance among nodes with equal scores",
    "otherNode": "on another node",
    "fitsNowhere": "on no node",
    "fits": "on a node, although the recording has no node for the pod",
    "failed": "failed with an error",
}


def print_results(request: ReplayRequest, results: Sequence[SegmentResult]) -> None:
    """Print a line for each run with its first difference, and the comparison with other policies."""
    for note in request.notes:
        _print_note(note)
    for run in runs_of(results):
        for note in run.notes:
            _print_note(note)
        if run.moorage != __version__:
            _print_note(f"moorage {run.moorage} made these decisions, and {__version__} repeats them")
        span = f"{_time(run.began)} to {_time(run.ended)}"
        verdict = "all equal" if run.difference is None else "not all equal"
        print(f"{span}: {run.decisions:,} decisions, {verdict}")
        if run.difference is not None:
            _print_difference(run.difference)
    if request.policies:
        _print_policies(_compared(results))


def results_json(request: ReplayRequest, results: Sequence[SegmentResult]) -> str:
    """Return the results as JSON."""
    found: dict[str, Any] = {"runs": [_run_json(run) for run in runs_of(results)], "notes": list(request.notes)}
    if request.policies:
        compared = _compared(results)
        found["policies"] = {
            "decisions": compared.decisions,
            "verdicts": compared.verdicts,
            "differences": [_other_json(each) for each in compared.differences],
        }
    return json.dumps(found, indent=2)


def _compared(results: Sequence[SegmentResult]) -> ComparedPolicies:
    """Return the comparison; raise CommandFailed if the policies are for none of the recorded pods."""
    compared = policies_of(results)
    if not compared.decisions and compared.scheduler_names:
        names = ", ".join(sorted(compared.scheduler_names))
        raise CommandFailed(
            f"no recorded pod has the schedulerName of a policy in --policy; the recorded pods have: {names}. "
            "Set spec.schedulerName in the file to one of these names"
        )
    return compared


def _print_difference(difference: FirstDifference) -> None:
    print(f"The first difference is at {_time(difference.time)}:")
    for name, value in (("recorded", difference.expected), ("replayed", difference.got)):
        pod = f"pod {value[1]}: " if value and value[1] else ""
        print(f"  {name}: {one_line(pod + describe_outcome(value))}")


def _print_policies(compared: ComparedPolicies) -> None:
    print(f"The policies of --policy decided {compared.decisions:,} times:")
    for verdict, text in VERDICTS.items():
        if count := compared.verdicts.get(verdict):
            print(f"  {count:>9,} {text}")
    for each in compared.differences[:MAX_LISTED]:
        print(f"{_time(each.time)} pod {each.pod}")
        print(f"  recorded: {one_line(each.recorded)}")
        print(f"  policy:   {one_line(each.other)}")
    more = len(compared.differences) - MAX_LISTED
    if more > 0:
        print(f"{more:,} more pods differ; `-o json` lists all of them")


def _print_note(note: str) -> None:
    print(f"note: {one_line(note)}", file=sys.stderr)


def _run_json(run: RunResult) -> dict[str, Any]:
    return {
        "run": run.run,
        "moorage": run.moorage,
        "seed": run.seed,
        "began": _time(run.began),
        "ended": _time(run.ended),
        "segments": run.segments,
        "decisions": run.decisions,
        "equal": run.decisions - run.different,
        "different": run.different,
        "firstDifference": _difference_json(run.difference) if run.difference else None,
        "notes": run.notes,
    }


def _difference_json(difference: FirstDifference) -> dict[str, Any]:
    value = difference.expected or difference.got or ["", "", ""]
    return {
        "time": _time(difference.time),
        "pod": value[1],
        "uid": value[2],
        "recorded": describe_outcome(difference.expected),
        "replayed": describe_outcome(difference.got),
    }


def _other_json(decision: OtherDecision) -> dict[str, Any]:
    return {
        "time": _time(decision.time),
        "pod": decision.pod,
        "uid": decision.uid,
        "schedulerName": decision.scheduler_name,
        "verdict": decision.verdict,
        "recorded": decision.recorded,
        "policy": decision.other,
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

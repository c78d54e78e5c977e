"""`moorage replay`: the command that repeats the decisions of a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moorage.cli.options import Output, OutputOption

if TYPE_CHECKING:
    from moorage.recording.replay import RunResult


def replay(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of `moorage run --record DIR`.")],
    *,
    output: OutputOption = Output.TABLE,
) -> None:
    """Repeat every decision of a recording with the same engine, and compare.

    The exit status is 1 if a decision differs from the recorded one. Then the first such decision is printed, and the
    replay of this run of the operator ends. No cluster is needed, and nothing is written.
    """
    from moorage.app import discover_plugins
    from moorage.cli.replay_bar import ReplayBar
    from moorage.cli.replay_report import print_note, print_results, results_json
    from moorage.recording.recording_reader import read_runs
    from moorage.recording.replay import Replay

    runs = read_runs(directory, discover_plugins(), print_note)
    total = sum(run.size for run in runs)
    results: list[RunResult] = []
    with ReplayBar(total) as bar:
        for run in runs:
            results.append(Replay(run).run(bar.show))
            bar.end_run(run.size, results[-1].decisions)
    if output is Output.JSON:
        print(results_json(results))
    else:
        print_results(results)
    if any(result.difference for result in results):
        raise typer.Exit(1)

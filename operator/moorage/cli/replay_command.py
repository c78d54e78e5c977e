"""`moorage replay`: the command that repeats the decisions of a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moorage.cli.options import Output, OutputOption, cpus


def replay(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of `moorage run --record DIR`.")],
    *,
    policy: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Also decide by the policies of this file, and list the pods that they place on other nodes; can be "
            "repeated.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Replay this many files at a time. Default: one for each CPU.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Repeat every decision of a recording with the same engine, and compare.

    The exit status is 1 if a decision differs from the recorded decision. The first difference is printed. No cluster
    is needed, and nothing is written.

    With --policy, the policies of a file decide for the same pods, each in the recorded cluster. A policy decides for
    the pods that have its schedulerName. docs/record-and-replay.md explains more.
    """
    from moorage.cli.replay_bar import ReplayBar
    from moorage.cli.replay_report import print_results, results_json
    from moorage.recording.replay_directory import read_request, replay_all

    request = read_request(directory, policy or ())
    with ReplayBar() as bar:
        results = replay_all(request, jobs or cpus(), bar.show)
    if output is Output.JSON:
        print(results_json(request, results))
    else:
        print_results(request, results)
    if any(result.difference for result in results):
        raise typer.Exit(1)

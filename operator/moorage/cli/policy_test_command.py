"""`moorage test`: the command that runs tests of policies."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moorage.cli.options import Output, OutputOption
from moorage.outside_text import one_line

if TYPE_CHECKING:
    from moorage.policy_tests.policy_test_runner import PolicyTestResult


LINE_CHARACTERS = 4096
"""The longest line of a failure that is printed."""


def run_policy_tests(
    paths: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Directories, or files of tests.", exists=True)],
    *,
    update: Annotated[bool, typer.Option("--update", help="Write the snapshots instead of comparing them.")] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the results as JUnit XML to this file, too.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run tests of policies on the engine, without a cluster or a server.

    The tests are in files whose names end with .test.yaml: nodes, pods, and expectations about where the pods run. The
    exit status is 1 if a test fails. docs/try-changes.md describes the files.
    """
    from moorage.app import discover_plugins
    from moorage.policy_tests.junit_report import junit_xml
    from moorage.policy_tests.policy_test_reader import find_files
    from moorage.policy_tests.policy_test_runner import PolicyTestRunner

    files = [file for path in paths for file in find_files(path)]
    if not files:
        raise typer.BadParameter(f"there is no file *.test.yaml below {', '.join(map(str, paths))}")
    results = list(PolicyTestRunner(discover_plugins(), update).run_files(files))
    if junit:
        junit.write_bytes(junit_xml(results))
    if output is Output.JSON:
        print(json.dumps([_as_json(result) for result in results], indent=2))
    else:
        _print_table(results)
    raise typer.Exit(0 if all(result.has_passed for result in results) else 1)


def _as_json(result: PolicyTestResult) -> dict[str, Any]:
    return {
        "file": str(result.file),
        "line": result.line,
        "test": result.name,
        "result": "passed" if result.has_passed else "error" if result.errors else "failed",
        "pods": result.pods,
        "messages": list(result.lines()),
    }


def _print_table(results: list[PolicyTestResult]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else sys.maxsize)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("test", "pods", "result"):
        table.add_column(heading, justify="right" if heading == "pods" else "left")
    file = None
    for result in results:
        if result.file != file:
            file = result.file
            table.add_row(f"[dim]{escape(str(file))}[/dim]")
        verdict = "[green]passed[/green]" if result.has_passed else "[red]failed[/red]"
        table.add_row(f"  {escape(one_line(result.name))}", str(result.pods or ""), verdict)
    console.print(table)
    for result in results:
        if not result.has_passed:
            console.print(f"\n[bold]{escape(one_line(result.name))}[/bold]")
            for line in result.lines():
                console.print(escape(one_line(line, LINE_CHARACTERS)), soft_wrap=True)
    failed = sum(not result.has_passed for result in results)
    sys.stdout.flush()
    print(f"{len(results) - failed} passed, {failed} failed", file=sys.stderr)

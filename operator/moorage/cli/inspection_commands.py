"""`moorage crd`, `plugins`, `parity` and `version`: commands that print facts about this version of moorage."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moorage import __version__
from moorage.cli.options import Output, OutputOption

if TYPE_CHECKING:
    from moorage.app import PluginRow

DESCRIPTION_COLUMNS = 150
"""The minimum width of a terminal on which `moorage plugins` prints descriptions."""


def crd(
    *,
    chart: Annotated[bool, typer.Option("--chart", help="Print the CRD as a template of the Helm chart.")] = False,
    adopt_by: Annotated[
        str | None,
        typer.Option(metavar="RELEASE/NAMESPACE", help="Add the metadata that lets this Helm release adopt the CRD."),
    ] = None,
) -> None:
    """Print the CustomResourceDefinition of SchedulingPolicy."""
    from moorage.api import crd as crds

    if chart and adopt_by is not None:
        raise typer.BadParameter("--chart and --adopt-by exclude each other")
    release, slash, namespace = (adopt_by or "").partition("/")
    if adopt_by is not None and not (release and slash and namespace and "/" not in namespace):
        raise typer.BadParameter(f"--adopt-by {adopt_by}: write RELEASE/NAMESPACE, such as moorage/moorage-system")
    print(crds.render_chart_template() if chart else crds.render(release, namespace), end="")


def plugins(*, output: OutputOption = Output.TABLE) -> None:
    """List the plugins, their extension points and default weights."""
    from moorage.app import discover_plugins, list_plugins

    rows = list_plugins(discover_plugins())
    if output is Output.JSON:
        print(json.dumps([row.as_json() for row in rows], indent=2))
        return
    _print_plugins(rows)


def parity(
    files: Annotated[list[Path], typer.Argument(help="Files with cases, .jsonl or .jsonl.gz.", exists=True)],
    *,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare moorage's decisions with recorded decisions of kube-scheduler."""
    from moorage.simulator.parity.parity_report import report_json, report_lines
    from moorage.simulator.parity.parity_run import run_parity

    report = run_parity(files)
    if output is Output.JSON:
        print(json.dumps(report_json(report), indent=2))
    else:
        print("\n".join(report_lines(report)))
    raise typer.Exit(1 if report.mismatches else 0)


def version(*, output: OutputOption = Output.TABLE) -> None:
    """Print the version."""
    print(json.dumps({"version": __version__}) if output is Output.JSON else f"moorage {__version__}")


def _print_plugins(rows: list[PluginRow]) -> None:
    """Print a line for each plugin; a narrow terminal wraps the extension points, but never the names."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else sys.maxsize)
    descriptions = console.width >= DESCRIPTION_COLUMNS
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("plugin", "weight", "default", "extension points", *(["description"] if descriptions else [])):
        table.add_column(heading, no_wrap=heading == "plugin")
    for row in rows:
        cells = [row.name, str(row.weight or ""), "yes" if row.default else "", ", ".join(row.extension_points)]
        table.add_row(*cells, *([row.description] if descriptions else []))
    console.print(table)

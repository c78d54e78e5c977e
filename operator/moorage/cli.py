"""The `moorage` command. Thin: each command says what it takes, and hands over.

Everything heavy is imported inside the commands, so that `--help` and shell completion answer at once. Data goes to
stdout, everything else to stderr; what a user can mend is one line with the next step, not a traceback.
"""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from moorage import __version__
from moorage.errors import FaultsError, MoorageError

app = typer.Typer(
    name="moorage",
    help="A policy-driven scheduler for Kubernetes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
config_app = typer.Typer(name="config", help="Look at a KubeSchedulerConfiguration.", no_args_is_help=True)
app.add_typer(config_app)

INTERRUPTED = 130
"""The exit status of a command that Ctrl-C ended."""


class Output(StrEnum):
    """How data is printed."""

    TABLE = "table"
    JSON = "json"


class ConfigOutput(StrEnum):
    """How objects are printed."""

    YAML = "yaml"
    JSON = "json"


AllowDefaultOption = Annotated[
    bool, typer.Option("--allow-default-scheduler", help="Let a profile take the name default-scheduler.")
]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="Print a table, or JSON for machines.")]
KubeconfigOption = Annotated[
    Path | None, typer.Option(help="The kubeconfig file. Default: $KUBECONFIG, the service account, ~/.kube/config.")
]
ConfigOption = Annotated[Path | None, typer.Option(help="A KubeSchedulerConfiguration (v1).")]


def main() -> None:
    """Run the command line; errors that users can mend end it with one line each and status 1."""
    try:
        app()
    except FaultsError as error:
        for fault in error.faults:
            print(f"error: {fault}", file=sys.stderr)
        sys.exit(1)
    except (MoorageError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


@app.command()
def run(  # noqa: PLR0913 - one parameter a flag
    *,
    kubeconfig: KubeconfigOption = None,
    context: Annotated[str | None, typer.Option(help="The kubeconfig's context.")] = None,
    config: ConfigOption = None,
    bind_address: Annotated[str, typer.Option(help="Where /healthz, /metrics and the like are served.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Their port; 0: a free one, which is printed.")] = 10259,
    serve_plain_http: Annotated[
        bool, typer.Option("--serve-plain-http", help="Serve plain HTTP on an address that is not loopback too.")
    ] = False,
    tls_cert_file: Annotated[Path | None, typer.Option(help="The serving certificate; default: self-signed.")] = None,
    tls_private_key_file: Annotated[Path | None, typer.Option(help="Its key.")] = None,
    allow_default_scheduler: AllowDefaultOption = False,
    leader_elect: Annotated[
        bool, typer.Option(help="Bind only while holding the Lease, so that several replicas can run.")
    ] = True,
    seed: Annotated[int | None, typer.Option(help="Seed of the choice among equally good nodes.")] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    log_format: Annotated[str, typer.Option(help="text or json.")] = "text",
) -> None:
    """Schedule pods by policies, until stopped."""
    from moorage.app import load_process_configuration, run_operator
    from moorage.settings import LeaderElectionSettings, Settings

    flags = Settings(
        kubeconfig=kubeconfig,
        context=context,
        bind_address=bind_address,
        port=port,
        serve_plain_http=serve_plain_http,
        tls_cert_file=tls_cert_file,
        tls_private_key_file=tls_private_key_file,
        allow_default_scheduler=allow_default_scheduler,
        seed=seed,
        leader_election=LeaderElectionSettings(enabled=leader_elect),
    )
    raise typer.Exit(run_operator(load_process_configuration(flags, config), log_level, log_format))


@app.command()
def demo(
    *, keep: Annotated[bool, typer.Option("--keep", help="Leave it running and print its KUBECONFIG line.")] = False
) -> None:
    """Show moorage at work: a simulated cluster, the examples, and where their pods went."""
    from moorage.sandbox.demo import run_demo

    raise typer.Exit(run_demo(keep=keep))


@app.command()
def sandbox(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The API server's port; 0: a free one.")] = 0,
    nodes: Annotated[Path | None, typer.Option(help="A file of node groups. Default: about 40 mixed nodes.")] = None,
    kubeconfig: Annotated[Path, typer.Option(help="Where the kubeconfig is written.")] = Path("sandbox.kubeconfig"),
) -> None:
    """Run the embedded API server with simulated nodes, until stopped."""
    import asyncio

    from moorage.api.crd import crd as policy_crd
    from moorage.sandbox.main import serve

    asyncio.run(serve(port=port, nodes=nodes, kubeconfig=kubeconfig, crds=[policy_crd()]))


@app.command()
def crd(
    *, chart: Annotated[bool, typer.Option("--chart", help="Print it as the Helm chart's template.")] = False
) -> None:
    """Print the CustomResourceDefinition of SchedulingPolicy."""
    from moorage.api import crd as crds

    print(crds.render_chart_template() if chart else crds.render(), end="")


@app.command()
def plugins(*, output: OutputOption = Output.TABLE) -> None:
    """List the scheduling plugins, their extension points and default weights."""
    from moorage.app import list_plugins

    rows = list_plugins()
    if output is Output.JSON:
        print(json.dumps([row._asdict() for row in rows], indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("plugin", "extension points", "weight", "default", box=None, header_style="bold")
    for row in rows:
        points = ", ".join(row.extension_points)
        table.add_row(row.name, points, str(row.weight) if row.weight else "", "yes" if row.default else "")
    Console(highlight=False).print(table)


@config_app.command("view")
def config_view(
    *,
    config: Annotated[Path, typer.Option(help="A KubeSchedulerConfiguration (v1).")],
    allow_default_scheduler: AllowDefaultOption = False,
    output: Annotated[ConfigOutput, typer.Option("--output", "-o", help="yaml or json.")] = ConfigOutput.YAML,
) -> None:
    """Check a configuration file and print what is in force; every fault is named where it is refused."""
    from moorage.app import load_configuration

    loaded = load_configuration(config, allow_default_scheduler=allow_default_scheduler)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    _print_documents([loaded.configuration.model_dump(mode="json", by_alias=True)], output)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A KubeSchedulerConfiguration (v1).")],
    *,
    values: Annotated[bool, typer.Option("--values", help="Print the Helm chart's values instead.")] = False,
    output: Annotated[ConfigOutput, typer.Option("--output", "-o", help="yaml or json.")] = ConfigOutput.YAML,
) -> None:
    """Print a configuration file's profiles as SchedulingPolicy objects, and the rest as the chart's values."""
    from moorage.app import load_configuration
    from moorage.controller.importing import chart_values_of, policies_of

    loaded = load_configuration(file, allow_default_scheduler=True)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    chosen = [chart_values_of(loaded.configuration)] if values else policies_of(loaded.configuration)
    _print_documents(chosen, output)
    if not values:
        print("the chart's values for the rest of the file: moorage import --values", file=sys.stderr)


@app.command()
def parity(
    files: Annotated[list[Path], typer.Argument(help="Vector files, .jsonl or .jsonl.gz.", exists=True)],
    *,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare decisions with those that kube-scheduler took, case by case."""
    from moorage.simulator.parity import run_parity
    from moorage.simulator.parity_report import report_json, report_lines

    report = run_parity(files)
    if output is Output.JSON:
        print(json.dumps(report_json(report), indent=2))
    else:
        print("\n".join(report_lines(report)))
    raise typer.Exit(1 if report.mismatches else 0)


@app.command()
def version(*, output: OutputOption = Output.TABLE) -> None:
    """Print the version."""
    print(json.dumps({"version": __version__}) if output is Output.JSON else f"moorage {__version__}")


def _print_documents(documents: list[dict[str, Any]], output: ConfigOutput) -> None:
    """Print objects: one after the other as YAML, or a list as JSON where there are several."""
    if output is ConfigOutput.JSON:
        print(json.dumps(documents[0] if len(documents) == 1 else documents, indent=2))
        return
    import yaml

    print(yaml.safe_dump_all(documents, sort_keys=False), end="")

"""The `moorage` command: declares each command's arguments and options, and calls the module that does the work.

Commands import heavy modules in their bodies, so that `--help` and shell completion are fast. Data goes to stdout,
everything else to stderr. An error that a user can fix is one line with the next step, not a traceback.
"""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moorage import __version__
from moorage.errors import FaultsError, MoorageError

if TYPE_CHECKING:
    from moorage.app import PluginRow

# rich_markup_mode=None: rich's help tables cut the names of flags on a terminal of 80 columns.
app = typer.Typer(
    name="moorage",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
config_app = typer.Typer(
    name="config", help="Check a KubeSchedulerConfiguration.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(config_app)

INTERRUPTED = 130
"""The exit status after Ctrl-C."""
YAML_WIDTH = 100
DESCRIPTION_COLUMNS = 150
"""The minimal width of a terminal for `moorage plugins` to print descriptions."""


class Output(StrEnum):
    """The output formats of data."""

    TABLE = "table"
    JSON = "json"


class ConfigOutput(StrEnum):
    """The output formats of Kubernetes objects."""

    YAML = "yaml"
    JSON = "json"


DEFAULT_SCHEDULER_WARNING = (
    "the API server will refuse the policy default-scheduler, because this is kube-scheduler's name; "
    "import with --allow-default-scheduler to take over the name, or rename the profile"
)

AllowDefaultOption = Annotated[
    bool, typer.Option("--allow-default-scheduler", help="Let a profile take the name default-scheduler.")
]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="Print a table, or JSON for programs.")]
KubeconfigOption = Annotated[
    Path | None,
    typer.Option(help="Read this kubeconfig file. Default: $KUBECONFIG, the service account, ~/.kube/config."),
]
ConfigOption = Annotated[Path | None, typer.Option(help="Read this KubeSchedulerConfiguration (v1).")]


def main() -> None:
    """Run the command line; print each error that a user can fix as one line, and exit with status 1."""
    try:
        app()
    except FaultsError as error:
        for fault in error.faults:
            print(f"error: {fault}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else error
        print(f"error: {what}", file=sys.stderr)
        sys.exit(1)
    except MoorageError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - click's callback
    if wanted:
        print(f"moorage {__version__}")
        raise typer.Exit


@app.callback()
def moorage(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Schedule pods on Kubernetes by SchedulingPolicy objects."""
    del version


@app.command()
def run(  # noqa: PLR0913 - one parameter a flag
    *,
    kubeconfig: KubeconfigOption = None,
    context: Annotated[str | None, typer.Option(help="Use this context of the kubeconfig.")] = None,
    config: ConfigOption = None,
    bind_address: Annotated[
        str, typer.Option(help="Serve /healthz, /metrics and the other endpoints on this address.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Serve them on this port; 0: a free one, shown in the log.")
    ] = 10259,
    serve_plain_http: Annotated[
        bool, typer.Option("--serve-plain-http", help="Serve plain HTTP even if the address is not loopback.")
    ] = False,
    tls_cert_file: Annotated[
        Path | None, typer.Option(help="Serve with this certificate. Default: a self-signed one.")
    ] = None,
    tls_private_key_file: Annotated[Path | None, typer.Option(help="Read the certificate's key from here.")] = None,
    allow_default_scheduler: AllowDefaultOption = False,
    leader_elect: Annotated[
        bool, typer.Option(help="Bind only while holding the Lease, so that several replicas can run.")
    ] = True,
    seed: Annotated[int | None, typer.Option(help="Seed the random choice among equally good nodes.")] = None,
    log_level: Annotated[str, typer.Option(help="Log from this level: debug, info, warning or error.")] = "info",
    log_format: Annotated[str, typer.Option(help="Log as text or json.")] = "text",
) -> None:
    """Run the operator: schedule pods by policies until stopped."""
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
    *, keep: Annotated[bool, typer.Option("--keep", help="Keep it running and print its KUBECONFIG line.")] = False
) -> None:
    """Schedule the examples on a simulated cluster and show the result."""
    from moorage.sandbox.demo.run import run_demo

    raise typer.Exit(run_demo(keep=keep))


@app.command()
def sandbox(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Serve the API on this port; 0: a free one.")] = 0,
    nodes: Annotated[
        Path | None, typer.Option(help="Read the node groups from this file. Default: 40 mixed nodes.")
    ] = None,
    kubeconfig: Annotated[Path, typer.Option(help="Write the kubeconfig to this file.")] = Path("sandbox.kubeconfig"),
) -> None:
    """Run the embedded API server with simulated nodes until stopped.

    The server stores objects and marks bound pods as running. It has no scheduler, no controllers for Deployments or
    Jobs, and no PersistentVolume controller.

    --nodes takes a file of node groups, such as:

    \b
    nodeGroups:
      - name: spot            # its nodes: spot-0, spot-1, ...
        count: 6
        instanceType: m5.xlarge
        lifecycle: spot       # or on-demand, capacity-block
        cpu: "4"
        memory: 16Gi

    zones, pods, gpus, labels, taints and images are optional.
    """  # noqa: D301 - the backspace tells click to keep the line breaks
    import asyncio

    from moorage.api.crd import crd as policy_crd
    from moorage.sandbox.main import serve

    asyncio.run(serve(port=port, nodes=nodes, kubeconfig=kubeconfig, crds=[policy_crd()]))


@app.command()
def crd(
    *, chart: Annotated[bool, typer.Option("--chart", help="Print the Helm chart's template of it.")] = False
) -> None:
    """Print the CustomResourceDefinition of SchedulingPolicy."""
    from moorage.api import crd as crds

    print(crds.render_chart_template() if chart else crds.render(), end="")


@app.command()
def plugins(*, output: OutputOption = Output.TABLE) -> None:
    """List the plugins, their extension points and default weights."""
    from moorage.app import list_plugins

    rows = list_plugins()
    if output is Output.JSON:
        print(json.dumps([row.as_json() for row in rows], indent=2))
        return
    _print_plugins(rows)


@config_app.command("view")
def config_view(
    file: Annotated[Path | None, typer.Argument(help="A KubeSchedulerConfiguration (v1).", show_default=False)] = None,
    *,
    config: Annotated[Path | None, typer.Option(help="Read FILE from this flag, as `moorage run` does.")] = None,
    allow_default_scheduler: AllowDefaultOption = False,
    output: Annotated[ConfigOutput, typer.Option("--output", "-o", help="Print YAML or JSON.")] = ConfigOutput.YAML,
) -> None:
    """Check a configuration file and print the configuration in force.

    An invalid file ends the command with a list of all its errors. The output has each profile's plugins with their
    weights, and no unused fields.
    """
    from moorage.app import configuration_in_force, load_configuration

    if (file is None) is (config is None):
        raise typer.BadParameter("pass exactly one configuration file: moorage config view FILE")
    loaded = load_configuration(file or config or Path(), allow_default_scheduler=allow_default_scheduler)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    _print_documents([configuration_in_force(loaded)], output)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A KubeSchedulerConfiguration (v1).")],
    *,
    values: Annotated[bool, typer.Option("--values", help="Print the other settings as Helm chart values.")] = False,
    allow_default_scheduler: AllowDefaultOption = False,
    output: Annotated[ConfigOutput, typer.Option("--output", "-o", help="Print YAML or JSON.")] = ConfigOutput.YAML,
) -> None:
    """Print a configuration file as SchedulingPolicy objects.

    Each profile becomes a policy. --values prints the other settings, as values of the Helm chart.
    """
    from moorage.app import load_configuration
    from moorage.configuration.policy_import import chart_values_of, names_default_scheduler, policies_of

    loaded = load_configuration(file, allow_default_scheduler=True)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if values:
        _print_documents([chart_values_of(loaded.configuration)], output)
        return
    if names_default_scheduler(loaded.configuration) and not allow_default_scheduler:
        print(f"warning: {DEFAULT_SCHEDULER_WARNING}", file=sys.stderr)
    _print_documents(policies_of(loaded.configuration, allow_default_scheduler=allow_default_scheduler), output)
    print("for the other settings, as values of the chart, run: moorage import --values", file=sys.stderr)


@app.command()
def parity(
    files: Annotated[list[Path], typer.Argument(help="Files with cases, .jsonl or .jsonl.gz.", exists=True)],
    *,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare decisions with recorded ones of kube-scheduler."""
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


def _print_documents(documents: list[dict[str, Any]], output: ConfigOutput) -> None:
    """Print objects as YAML documents, or as JSON: one object, or a list of several."""
    if output is ConfigOutput.JSON:
        print(json.dumps(documents[0] if len(documents) == 1 else documents, indent=2))
        return
    import yaml

    # None: print each mapping or list of plain values on one line.
    print(yaml.safe_dump_all(documents, sort_keys=False, default_flow_style=None, width=YAML_WIDTH), end="")

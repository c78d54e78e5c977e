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
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moorage import __version__
from moorage.errors import FaultsError, MoorageError

if TYPE_CHECKING:
    from moorage.app import PluginRow

# Plain help: rich's tables cut the names of flags on a terminal of 80 columns.
app = typer.Typer(
    name="moorage",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
config_app = typer.Typer(
    name="config", help="Look at a KubeSchedulerConfiguration.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(config_app)

INTERRUPTED = 130
"""The exit status of a command that Ctrl-C ended."""
YAML_WIDTH = 100
DESCRIPTIONS_FIT = 150
"""The columns of a terminal from which on `moorage plugins` has room for descriptions."""


class Output(StrEnum):
    """How data is printed."""

    TABLE = "table"
    JSON = "json"


class ConfigOutput(StrEnum):
    """How objects are printed."""

    YAML = "yaml"
    JSON = "json"


DEFAULT_REFUSED = (
    "the API server will refuse the policy default-scheduler, which is kube-scheduler's name; "
    "--allow-default-scheduler takes it over, another name leaves it to kube-scheduler"
)

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
    """A policy-driven scheduler for Kubernetes."""  # noqa: D401 - says what it is
    del version


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
    from moorage.sandbox.demo.run import run_demo

    raise typer.Exit(run_demo(keep=keep))


@app.command()
def sandbox(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The API server's port; 0: a free one.")] = 0,
    nodes: Annotated[Path | None, typer.Option(help="A file of node groups. Default: about 40 mixed nodes.")] = None,
    kubeconfig: Annotated[Path, typer.Option(help="Where the kubeconfig is written.")] = Path("sandbox.kubeconfig"),
) -> None:
    """Run the embedded API server with simulated nodes, until stopped.

    It holds objects and starts the pods that are bound; it has no scheduler of its own, no controllers for Deployments
    or Jobs, and none that binds PersistentVolumes.

    --nodes takes a file of node groups, such as:

    \b
    nodeGroups:
      - name: spot            # its nodes: spot-0, spot-1, ...
        count: 6
        instanceType: m5.xlarge
        lifecycle: spot       # or on-demand, capacity-block
        cpu: "4"
        memory: 16Gi

    zones, pods, gpus, labels, taints and images may be said too.
    """  # noqa: D301 - click's mark for what is not to be wrapped anew
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
        print(json.dumps([row.as_json() for row in rows], indent=2))
        return
    _print_plugins(rows)


@config_app.command("view")
def config_view(
    file: Annotated[Path | None, typer.Argument(help="A KubeSchedulerConfiguration (v1).", show_default=False)] = None,
    *,
    config: Annotated[Path | None, typer.Option(help="The same, as `moorage run` has it.")] = None,
    allow_default_scheduler: AllowDefaultOption = False,
    output: Annotated[ConfigOutput, typer.Option("--output", "-o", help="yaml or json.")] = ConfigOutput.YAML,
) -> None:
    """Check a configuration file and print what is in force.

    Every fault is named where it is refused. Plugins are printed as they run in each profile, with their weights;
    fields that do nothing are left out.
    """
    from moorage.app import configuration_in_force, load_configuration

    if (file is None) is (config is None):
        raise typer.BadParameter("name one configuration file: moorage config view FILE")
    loaded = load_configuration(file or config or Path(), allow_default_scheduler=allow_default_scheduler)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    _print_documents([configuration_in_force(loaded)], output)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A KubeSchedulerConfiguration (v1).")],
    *,
    values: Annotated[bool, typer.Option("--values", help="Print the Helm chart's values instead.")] = False,
    allow_default_scheduler: AllowDefaultOption = False,
    output: Annotated[ConfigOutput, typer.Option("--output", "-o", help="yaml or json.")] = ConfigOutput.YAML,
) -> None:
    """Print a configuration file's profiles as SchedulingPolicy objects, and the rest as the chart's values."""
    from moorage.app import load_configuration
    from moorage.configuration.policy_import import chart_values_of, names_default_scheduler, policies_of

    loaded = load_configuration(file, allow_default_scheduler=True)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if values:
        _print_documents([chart_values_of(loaded.configuration)], output)
        return
    if names_default_scheduler(loaded.configuration) and not allow_default_scheduler:
        print(f"warning: {DEFAULT_REFUSED}", file=sys.stderr)
    _print_documents(policies_of(loaded.configuration, allow_default_scheduler=allow_default_scheduler), output)
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


def _print_plugins(rows: list[PluginRow]) -> None:
    """Print a line a plugin; only a terminal that is too narrow folds extension points, and names never."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else sys.maxsize)
    descriptions = console.width >= DESCRIPTIONS_FIT
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("plugin", "weight", "default", "extension points", *(["description"] if descriptions else [])):
        table.add_column(heading, no_wrap=heading == "plugin")
    for row in rows:
        cells = [row.name, str(row.weight or ""), "yes" if row.default else "", ", ".join(row.extension_points)]
        table.add_row(*cells, *([row.description] if descriptions else []))
    console.print(table)


def _print_documents(documents: list[dict[str, Any]], output: ConfigOutput) -> None:
    """Print objects: one after the other as YAML, or a list as JSON where there are several."""
    if output is ConfigOutput.JSON:
        print(json.dumps(documents[0] if len(documents) == 1 else documents, indent=2))
        return
    import yaml

    # None: mappings and lists of plain values stand on one line each.
    print(yaml.safe_dump_all(documents, sort_keys=False, default_flow_style=None, width=YAML_WIDTH), end="")

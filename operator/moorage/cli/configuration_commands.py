"""`moorage config view` and `moorage import`: commands for KubeSchedulerConfiguration files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from moorage.cli.options import AllowDefaultOption, ConfigOutput, ConfigOutputOption

YAML_WIDTH = 100
DEFAULT_SCHEDULER_HINT = (
    "the operator accepts the policy default-scheduler only if it runs with --allow-default-scheduler "
    "(chart value allowDefaultScheduler)"
)
DEFAULT_SCHEDULER_WARNING = (
    "the API server will refuse the policy default-scheduler, because this is kube-scheduler's name; "
    "import with --allow-default-scheduler to take over the name, or rename the profile"
)


def view_configuration(
    file: Annotated[Path | None, typer.Argument(help="A KubeSchedulerConfiguration (v1).", show_default=False)] = None,
    *,
    config: Annotated[Path | None, typer.Option(help="Read FILE from this flag, as `moorage run` does.")] = None,
    allow_default_scheduler: AllowDefaultOption = False,
    output: ConfigOutputOption = ConfigOutput.YAML,
) -> None:
    """Check a configuration file and print the configuration in force.

    An invalid file ends the command with a list of all its errors. The output has each profile's plugins with their
    weights, and no unused fields.
    """
    from moorage.app import configuration_in_force, discover_plugins, load_configuration

    if (file is None) is (config is None):
        raise typer.BadParameter("pass exactly one configuration file: moorage config view FILE")
    registry = discover_plugins()
    loaded = load_configuration(file or config or Path(), registry, allow_default_scheduler=allow_default_scheduler)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    _print_documents([configuration_in_force(loaded, registry)], output)


def import_configuration(
    file: Annotated[Path, typer.Argument(help="A KubeSchedulerConfiguration (v1).")],
    *,
    values: Annotated[bool, typer.Option("--values", help="Print the other settings as Helm chart values.")] = False,
    allow_default_scheduler: AllowDefaultOption = False,
    output: ConfigOutputOption = ConfigOutput.YAML,
) -> None:
    """Print a configuration file as SchedulingPolicy objects.

    Each profile becomes a policy. --values prints the other settings, as values of the Helm chart.
    """
    from moorage.app import discover_plugins, load_configuration
    from moorage.configuration.policy_import import (
        chart_values_of,
        extender_hosts,
        names_default_scheduler,
        policies_of,
    )

    loaded = load_configuration(file, discover_plugins(), allow_default_scheduler=True)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if values:
        _print_documents([chart_values_of(loaded.configuration)], output)
        return
    if names_default_scheduler(loaded.configuration):
        hint = DEFAULT_SCHEDULER_HINT if allow_default_scheduler else DEFAULT_SCHEDULER_WARNING
        print(f"warning: {hint}", file=sys.stderr)
    if hosts := extender_hosts(loaded.configuration):
        flag = f"--policy-extenders={','.join(hosts)} (chart value policyExtenders)"
        message = f"the operator accepts the extenders of these policies only if it runs with {flag}"
        print(f"warning: {message}", file=sys.stderr)
    _print_documents(policies_of(loaded.configuration, allow_default_scheduler=allow_default_scheduler), output)
    print("for the other settings, as values of the chart, run: moorage import --values", file=sys.stderr)


def _print_documents(documents: list[dict[str, Any]], output: ConfigOutput) -> None:
    """Print objects as YAML documents, or as JSON: one object, or a list of several."""
    if output is ConfigOutput.JSON:
        print(json.dumps(documents[0] if len(documents) == 1 else documents, indent=2))
        return
    import yaml

    # With default_flow_style=None, PyYAML prints a mapping or list of plain values on one line.
    print(yaml.safe_dump_all(documents, sort_keys=False, default_flow_style=None, width=YAML_WIDTH), end="")

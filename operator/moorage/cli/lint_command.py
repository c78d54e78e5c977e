"""`moorage lint`: the command that checks files of policies before they are applied."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moorage.cli.options import (
    AllowDefaultOption,
    ContextOption,
    ForbidCanariesOption,
    KubeconfigOption,
    Output,
    PolicyExtendersOption,
    PolicyExtenderTlsDirOption,
    ReservedNamesOption,
    extender_hosts,
    split_values,
)

if TYPE_CHECKING:
    from moorage.inventory import Inventory
    from moorage.linting import LintReport
    from moorage.settings import Settings


def lint(  # noqa: PLR0913 - one parameter for each flag
    files: Annotated[
        list[Path], typer.Argument(help="Files of policies or KubeSchedulerConfigurations, or directories.")
    ],
    *,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Check against the nodes and policies of your cluster, too.")
    ] = False,
    cluster_file: Annotated[
        Path | None, typer.Option(help="Check against the nodes and policies of this file of `moorage dump`, too.")
    ] = None,
    each: Annotated[
        bool, typer.Option("--each", help="Check each file alone, because the files are for different clusters.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings fail the check.")] = False,
    allow_default_scheduler: AllowDefaultOption = False,
    reserved_scheduler_names: ReservedNamesOption = None,
    forbid_canaries: ForbidCanariesOption = False,
    policy_extenders: PolicyExtendersOption = None,
    policy_extender_tls_dir: PolicyExtenderTlsDirOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="Print lines, or JSON for programs.")] = Output.TABLE,
) -> None:
    """Check policies as the operator does, before you apply them.

    Checks SchedulingPolicies and KubeSchedulerConfigurations, and ignores objects of other kinds. Prints each error and
    warning with its file and line. The exit status is 1 if there are errors. Pass the operator's flags, such as
    --policy-extenders, so that the check allows what the operator allows.
    """
    from moorage.app.lint import lint_files
    from moorage.settings import Settings

    if cluster and cluster_file:
        raise typer.BadParameter("--cluster and --cluster-file exclude each other")
    settings = Settings(
        kubeconfig=kubeconfig,
        context=context,
        allow_default_scheduler=allow_default_scheduler,
        reserved_scheduler_names=split_values(reserved_scheduler_names),
        forbid_canaries=forbid_canaries,
        policy_extenders=extender_hosts(policy_extenders),
        policy_extender_tls_dir=policy_extender_tls_dir.absolute() if policy_extender_tls_dir else None,
    )
    report = lint_files(files, settings, _inventory(settings, cluster_file, listed=cluster), each_alone=each)
    if output is Output.JSON:
        print(json.dumps(report.as_json(), indent=2))
    else:
        for finding in report.findings:
            print(finding)
        sys.stdout.flush()
        print(_summary(report), file=sys.stderr)
    raise typer.Exit(1 if report.fails(strict=strict) else 0)


def _inventory(settings: Settings, cluster_file: Path | None, *, listed: bool) -> Inventory | None:
    """Return the nodes and policies to check against; None if no cluster is given."""
    from moorage.inventory import read_dump

    if cluster_file:
        return read_dump(cluster_file)
    if not listed:
        return None
    import asyncio

    from moorage.app.cluster_commands import list_cluster
    from moorage.cli.listing_bar import ListingBar

    with ListingBar() as bar:
        return asyncio.run(list_cluster(settings, bar, ("Node", "SchedulingPolicy")))


def _summary(report: LintReport) -> str:
    counts = (
        _count(report.files, "file", "files"),
        _count(report.policies, "policy", "policies"),
        _count(report.configurations, "configuration", "configurations"),
        _count(report.errors, "error", "errors"),
        _count(report.warnings, "warning", "warnings"),
    )
    return ", ".join(counts)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"

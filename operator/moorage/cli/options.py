"""Options that several commands take, and their values."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

MIN_RECORD_BYTES = 16 << 20


class Output(StrEnum):
    """The output formats of data."""

    TABLE = "table"
    JSON = "json"


class ConfigOutput(StrEnum):
    """The output formats of Kubernetes objects."""

    YAML = "yaml"
    JSON = "json"


AllowDefaultOption = Annotated[
    bool,
    typer.Option(
        "--allow-default-scheduler",
        help="Let a profile, or a policy with allowDefaultScheduler: true, take the name default-scheduler.",
    ),
]
ForbidCanariesOption = Annotated[
    bool,
    typer.Option("--forbid-canaries", help="Refuse policies with spec.canary, which take pods of other policies."),
]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="Print a table, or JSON for programs.")]
KubeconfigOption = Annotated[
    Path | None,
    typer.Option(help="Read this kubeconfig file. Default: $KUBECONFIG, the service account, ~/.kube/config."),
]
ContextOption = Annotated[str | None, typer.Option(help="Use this context of the kubeconfig.")]
ConfigOption = Annotated[Path | None, typer.Option(help="Read this KubeSchedulerConfiguration (v1).")]
ConfigOutputOption = Annotated[ConfigOutput, typer.Option("--output", "-o", help="Print YAML or JSON.")]
ReservedNamesOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Refuse policies whose schedulerName matches one of these shell patterns, such as 'batch-*'. "
        "Separate patterns by commas, or repeat the flag."
    ),
]
PolicyExtendersOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Allow policies to have extenders on these hosts: host, host:port, or *.suffix for all hosts below "
        "it. Separate hosts by commas, or repeat the flag. Default: refuse policies with extenders."
    ),
]
PolicyExtenderTlsDirOption = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        file_okay=False,
        help="Allow extenders of policies to name files of certificates and keys below this directory. "
        "Default: they may name no files.",
    ),
]


def cpus() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def record_bytes(size: str) -> int:
    """Return the value of --record-size in bytes; raise BadParameter if it is invalid or too small."""
    from moorage.model.quantity import value

    try:
        found = value(size)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; write a size such as 500Mi or 2Gi", param_hint="--record-size") from error
    if found < MIN_RECORD_BYTES:
        raise typer.BadParameter(f"{size} is too small; allow at least 16Mi", param_hint="--record-size")
    return found


def split_values(flags: list[str] | None) -> tuple[str, ...]:
    """Split the values of a repeatable flag at the commas."""
    parts = (part.strip() for flag in flags or () for part in flag.split(","))
    return tuple(part for part in parts if part)


def extender_hosts(flags: list[str] | None) -> tuple[str, ...]:
    """Return the values of --policy-extenders; raise BadParameter for an invalid one."""
    from moorage.runtime.extenders.allowed_hosts import AllowedHosts

    hosts = split_values(flags)
    try:
        AllowedHosts.parse(hosts)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--policy-extenders") from error
    return hosts

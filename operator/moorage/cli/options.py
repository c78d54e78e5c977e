"""Options that several commands take, and their values."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


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
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="Print a table, or JSON for programs.")]
KubeconfigOption = Annotated[
    Path | None,
    typer.Option(help="Read this kubeconfig file. Default: $KUBECONFIG, the service account, ~/.kube/config."),
]
ContextOption = Annotated[str | None, typer.Option(help="Use this context of the kubeconfig.")]
ConfigOption = Annotated[Path | None, typer.Option(help="Read this KubeSchedulerConfiguration (v1).")]
ConfigOutputOption = Annotated[ConfigOutput, typer.Option("--output", "-o", help="Print YAML or JSON.")]

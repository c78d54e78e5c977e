"""`moorage why`: the command that explains why a pod is on its node, or why it waits."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from moorage.cli.options import ContextOption, KubeconfigOption
from moorage.outside_text import one_line


class WhyOutput(StrEnum):
    """The output formats of `moorage why`."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def why(  # noqa: PLR0913 - one parameter for each flag
    pod: Annotated[str, typer.Argument(help="The pod: NAME or NAMESPACE/NAME.")],
    *,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", help="The pod's namespace. Default: the namespace of the context."),
    ] = None,
    node: Annotated[str, typer.Option("--node", help="Explain also why the pod is not on this node.")] = "",
    output: Annotated[
        WhyOutput, typer.Option("--output", "-o", help="Print a table, or JSON or YAML for programs.")
    ] = WhyOutput.TABLE,
    server: Annotated[
        str | None, typer.Option(help="Ask the operator at this URL of this machine, such as http://127.0.0.1:10259.")
    ] = None,
    lease: Annotated[
        str, typer.Option(metavar="NAMESPACE/NAME", help="The Lease that the leading operator holds.")
    ] = "kube-system/moorage",
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
) -> None:
    """Explain why a pod is on its node, or why it waits.

    The command asks the operator that leads, through a port-forward by kubectl, with the token of your kubeconfig. You
    need the right to get the pod. If no operator can be asked, the command lists the cluster and makes a new decision.
    """
    import asyncio

    import msgspec
    import yaml

    from moorage.app.why import WhyOptions, explain_pod
    from moorage.cli.listing_bar import ListingBar
    from moorage.cli.why_report import print_explanation
    from moorage.settings import LeaderElectionSettings, Settings

    before, slash, after = pod.partition("/")
    name, in_namespace = (after, before) if slash else (before, namespace)
    lease_namespace, _, lease_name = lease.partition("/")
    if not name or not lease_namespace or not lease_name or (slash and not before):
        raise typer.BadParameter("write NAME or NAMESPACE/NAME")
    settings = Settings(
        kubeconfig=kubeconfig,
        context=context,
        leader_election=LeaderElectionSettings(lease_name=lease_name, lease_namespace=lease_namespace),
    )
    options = WhyOptions(pod=name, namespace=in_namespace, node=node, server=server)
    with ListingBar() as bar:
        explanation = asyncio.run(explain_pod(settings, options, bar, _print_note))
    if output is WhyOutput.TABLE:
        print_explanation(explanation)
    elif output is WhyOutput.JSON:
        print(msgspec.json.format(msgspec.json.encode(explanation)).decode())
    else:
        print(yaml.safe_dump(msgspec.to_builtins(explanation), sort_keys=False), end="")


def _print_note(text: str) -> None:
    print(f"note: {one_line(text)}", file=sys.stderr)

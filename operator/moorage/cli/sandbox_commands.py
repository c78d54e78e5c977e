"""`moorage demo` and `moorage sandbox`: the commands that start the embedded API server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moorage.cli.options import Output, OutputOption


def demo(
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the cluster running and print its KUBECONFIG line.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Schedule the examples on a simulated cluster, and compare the result with the default profile's result."""
    from moorage.sandbox.demo.run import DemoOptions, run_demo

    raise typer.Exit(run_demo(DemoOptions(keep=keep, as_json=output is Output.JSON)))


def sandbox(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Serve the API on this port. 0 means a free port.")] = 0,
    nodes: Annotated[
        Path | None, typer.Option(help="Read the node groups from this file. Default: 40 mixed nodes.")
    ] = None,
    dump: Annotated[
        Path | None, typer.Option("--from", help="Start with the objects of this file of `moorage dump`.")
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

    if dump and nodes:
        raise typer.BadParameter("--from and --nodes exclude each other")
    asyncio.run(serve(port=port, nodes=nodes, dump=dump, kubeconfig=kubeconfig, crds=[policy_crd()]))

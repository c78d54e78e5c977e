"""`moorage simulate`: the command that tries policies on the nodes and tasks of files."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moorage.cli.dumped_cluster import dumped_cluster
from moorage.cli.options import ContextOption, KubeconfigOption, Output, OutputOption

if TYPE_CHECKING:
    from moorage.simulator.simulation import Request


def simulate(  # noqa: PLR0913 - an argument for each flag
    *,
    nodes: Annotated[Path | None, typer.Option(metavar="FILE", help="Read the nodes from this CSV file.")] = None,
    arrivals: Annotated[Path | None, typer.Option(metavar="FILE", help="Read the tasks from this CSV file.")] = None,
    dump: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read nodes and pods from this file of `moorage dump` instead."),
    ] = None,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Read nodes and pods from the cluster of the kubeconfig instead.")
    ] = False,
    all_pods: Annotated[
        bool,
        typer.Option(
            "--all-pods",
            help="With --dump or --cluster: also place the pods that run anew, except those of DaemonSets. Default: "
            "place the pods that wait.",
        ),
    ] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    policy: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Try the policies of this file; can be repeated.")
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read prices per hour, by instance_type or model, from this CSV file."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page with plots (needs the extra plots).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decide between equally good nodes by this seed.")] = 0,
    percentage_of_nodes_to_score: Annotated[
        int, typer.Option(min=1, max=100, help="Use this percentage for policies that do not set it.")
    ] = 100,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Run this many policies at a time. Default: one for each CPU.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Place the tasks of a file on the nodes of a file, or the pods of a dump on its nodes, and compare policies.

    A policy file holds SchedulingPolicy objects or a KubeSchedulerConfiguration. kube-scheduler's default profile
    always runs as well.

    \b
    nodes:    name,cpu_milli,memory_mib,gpu,model,pods,zone,instance_type,lifecycle
    arrivals: name,cpu_milli,memory_mib,gpu,gpu_models,priority,workload,asked_percent
    trace:    the same with created_s, and deleted_s or duration_s

    Only the first three columns of each file are required. docs/simulate.md explains the columns and the results.
    """  # noqa: D301 - the backspace tells click to keep the line breaks
    from moorage.simulator.dump_scene import PlacedPods
    from moorage.simulator.simulation import Request

    has_tables = nodes is not None and arrivals is not None
    if (nodes is not None or arrivals is not None) + (dump is not None) + cluster != 1 or (nodes and not has_tables):
        raise typer.BadParameter("pass either --nodes and --arrivals, or --dump, or --cluster")
    with dumped_cluster(kubeconfig, context) if cluster else nullcontext(dump) as dump_file:
        node_file, task_file = nodes or dump_file, arrivals or dump_file
        assert node_file, "one of the sources was given"
        assert task_file, "one of the sources was given"
        request = Request(
            nodes=node_file,
            tasks=task_file,
            policies=tuple(policy or ()),
            placed_pods=(PlacedPods.ALL if all_pods else PlacedPods.WAITING) if dump_file else None,
            prices=prices,
            seed=seed,
            percentage_of_nodes_to_score=percentage_of_nodes_to_score,
            keeps_placements=html is not None,
        )
        _run(request, jobs or _cpus(), html, output)


def _run(request: Request, jobs: int, html: Path | None, output: Output) -> None:
    """Run the simulation; print the results, and write the page."""
    from moorage.cli.simulation_bar import SimulationBar
    from moorage.cli.simulation_table import print_simulation
    from moorage.simulator.result_json import simulation_json
    from moorage.simulator.simulation import simulate as run_simulation

    if html is not None:
        from moorage.simulator.page.simulation_page import check_libraries, simulation_page

        check_libraries()
    with SimulationBar() as bar:
        simulation = run_simulation(request, jobs, bar.show)
    for warning in simulation.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if output is Output.JSON:
        print(json.dumps(simulation_json(simulation), indent=2))
    else:
        print_simulation(simulation)
    if html is not None:
        html.write_text(simulation_page(simulation, request), encoding="utf-8")
        print(f"{html}: the page with the plots", file=sys.stderr)


def _cpus() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

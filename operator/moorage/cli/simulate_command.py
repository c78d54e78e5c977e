"""`moorage simulate`: the command that tries policies on the nodes and tasks of files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moorage.cli.options import ContextOption, KubeconfigOption, Output, OutputOption, cpus
from moorage.cli.simulation_sources import (
    AllPodsOption,
    ArrivalsOption,
    ClusterOption,
    DumpOption,
    NodeGroupsOption,
    NodesOption,
    PodsOption,
    PricesOption,
    SimulationSources,
    source_files,
)

if TYPE_CHECKING:
    from moorage.simulator.simulation_input import Request


def simulate(  # noqa: PLR0913 - an argument for each flag
    *,
    nodes: NodesOption = None,
    node_groups: NodeGroupsOption = None,
    dump: DumpOption = None,
    cluster: ClusterOption = False,
    arrivals: ArrivalsOption = None,
    pods: PodsOption = None,
    all_pods: AllPodsOption = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    policy: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Try the policies of this file; can be repeated.")
    ] = None,
    prices: PricesOption = None,
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
    """Place pods on a cluster with several policies, and compare the policies. Nothing is changed in the cluster.

    A policy file holds SchedulingPolicy objects or a KubeSchedulerConfiguration. kube-scheduler's default profile
    always runs as well.

    The cluster is a table of nodes, a file of node groups, a dump, or the cluster of the kubeconfig. The pods are the
    tasks of a table, the pods of a YAML file, or the pods of the dump or cluster.

    \b
    nodes:    name,cpu_milli,memory_mib,gpu,model,pods,zone,instance_type,lifecycle
    arrivals: name,cpu_milli,memory_mib,gpu,gpu_models,priority,workload,asked_percent
    trace:    the columns of arrivals, created_s, and deleted_s or duration_s

    Only the first three columns of each table are required. docs/simulate.md explains the columns and the results.
    """  # noqa: D301 - the backspace tells click to keep the line breaks
    from moorage.simulator.simulation_input import Request

    sources = SimulationSources(
        nodes=nodes,
        node_groups=node_groups,
        dump=dump,
        cluster=cluster,
        arrivals=arrivals,
        pods=pods,
        all_pods=all_pods,
        kubeconfig=kubeconfig,
        context=context,
    )
    with source_files(sources) as files:
        request = Request(
            nodes=files.nodes,
            tasks=files.tasks,
            policies=tuple(policy or ()),
            placed_pods=files.placed_pods,
            prices=prices,
            seed=seed,
            percentage_of_nodes_to_score=percentage_of_nodes_to_score,
            keeps_placements=html is not None,
        )
        _run(request, jobs or cpus(), html, output)


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

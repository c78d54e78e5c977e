"""`moorage tune`: the command that searches for better policies with simulations."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    from moorage.tuning.tuning_run import TuningRequest, TuningResult

DEFAULT_OBJECTIVES = ("unplaced",)


def tune(  # noqa: PLR0913 - an argument for each flag
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
    prices: PricesOption = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Improve the policy of this file. Default: an empty policy.")
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            help="Make this smaller: unplaced, free-gpus, stranded-gpus, stranded-cpu, skew, cost or p99. Can be "
            "repeated. Default: unplaced."
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, help="Try this many policies, including earlier runs of the study.")
    ] = 50,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Simulate this many policies at a time. Default: one for each CPU.")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Keep the study in this storage of Optuna, such as sqlite:///study.db. Other processes with the same "
            "storage search together, and a later run continues.",
        ),
    ] = None,
    study: Annotated[str, typer.Option(help="The name of the study in the storage.")] = "moorage",
    check_arrivals: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check the policies found on these tasks, which the search has not used."),
    ] = None,
    check_seeds: Annotated[int, typer.Option(min=1, help="Check the policies found with this many other seeds.")] = 3,
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write each policy found to a file in this directory.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page with plots (needs the extra plots).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the search and of its simulations.")] = 0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Search for policies with better results on a cluster and its pods, with simulations. Needs the extra tune.

    Prints the Pareto front: each policy for which no other policy is better in all objectives. Each figure is shown
    twice: from the search, and from a check with other seeds and perhaps other tasks. docs/tune.md explains the search.
    """
    from moorage.simulator.simulation_input import Request
    from moorage.tuning.base_policy import read_base
    from moorage.tuning.objectives import objectives_of
    from moorage.tuning.search import check_optuna
    from moorage.tuning.tuning_run import TuningRequest

    check_optuna()
    if html is not None:
        from moorage.simulator.page.simulation_page import check_libraries

        check_libraries()
    if check_arrivals and not arrivals:
        raise typer.BadParameter("--check-arrivals needs --arrivals")
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
        request = TuningRequest(
            search=Request(
                nodes=files.nodes,
                tasks=files.tasks,
                policies=(),
                placed_pods=files.placed_pods,
                prices=prices,
                seed=seed,
            ),
            check_tasks=check_arrivals,
            check_seeds=check_seeds,
            objectives=objectives_of(objective or DEFAULT_OBJECTIVES),
            base=read_base(policy) if policy else {},
            trials=trials,
            jobs=jobs or cpus(),
            storage=storage,
            study=study,
        )
        _run(request, directory, html, output)


def _run(request: TuningRequest, directory: Path | None, html: Path | None, output: Output) -> None:
    """Search; print the results, and write the files."""
    from moorage.cli.simulation_bar import SimulationBar
    from moorage.cli.tune_table import print_tuning
    from moorage.tuning.tuning_page import tuning_page
    from moorage.tuning.tuning_run import tune as run_tuning

    with SimulationBar() as bar:
        result = run_tuning(request, bar.show)
        page = tuning_page(result, request, bar.show) if html is not None else ""
    if result.is_interrupted:
        print(f"warning: the search ended early, after {len(result.trials)} trials", file=sys.stderr)
    if output is Output.JSON:
        print(json.dumps(_as_json(result), indent=2))
    else:
        print_tuning(result)
    if directory is not None:
        _write_policies(result, directory)
    if html is not None:
        html.write_text(page, encoding="utf-8")
        print(f"{html}: the page with the plots", file=sys.stderr)


def _as_json(result: TuningResult) -> dict[str, Any]:
    names = [each.name for each in result.objectives]
    return {
        "objectives": names,
        "trials": len(result.trials),
        "policies": [
            {
                "name": each.name,
                "tuned": each.is_tuned,
                "searched": dict(zip(names, each.searched, strict=True)),
                "unseen": dict(zip(names, each.unseen, strict=True)),
                "spec": each.spec,
            }
            for each in result.policies
        ],
    }


def _write_policies(result: TuningResult, directory: Path) -> None:
    from moorage.tuning.policy_text import policy_text

    directory.mkdir(parents=True, exist_ok=True)
    for each in result.policies:
        if each.is_tuned:
            file = directory / f"{each.name}.yaml"
            file.write_text(policy_text(each, result.objectives), encoding="utf-8")
            print(f"{file}: a policy of the Pareto front", file=sys.stderr)

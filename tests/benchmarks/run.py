"""Runs the benchmarks for `make bench`, prints tables, and writes the figures as JSON.

The whole path needs the control plane's binaries (`make controlplane`); without them it is skipped with a message. The
speed of a machine varies, so compare ratios of one run, not figures of two runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from rich.console import Console
from rich.table import Table

from benchmarks import end_to_end, engine, records
from controlplane.build import Binaries

console = Console(stderr=True, highlight=False)


def main() -> None:
    """Parse the arguments, and run the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--part", choices=["all", "engine", "records", "end-to-end"], default="all", help="run only this part"
    )
    parser.add_argument("--nodes", type=int, nargs="+", help="measure clusters of these sizes")
    parser.add_argument(
        "--pods-a-node", type=int, nargs="+", default=[3, 30], help="placed pods on each node, for the engine alone"
    )
    parser.add_argument("--pods", type=int, default=2000, help="number of pods to bind, for the whole path")
    parser.add_argument(
        "--kinds", nargs="+", default=["plain", "zone spread"], help="kinds of pods, for the whole path"
    )
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="write the figures to this file")
    arguments = parser.parse_args()
    figures: dict[str, list[dict[str, object]]] = {}
    if arguments.part in {"all", "records"}:
        measured = list(_records(arguments.nodes or [100, 1000, 5000]))
        _print_records(measured)
        figures["records"] = [asdict(each) for each in measured]
    if arguments.part in {"all", "engine"}:
        results = list(_engine(arguments.nodes or [100, 1000, 5000], arguments.pods_a_node))
        _print_engine(results)
        figures["engine"] = [asdict(result) for result in results]
    if arguments.part in {"all", "end-to-end"}:
        groups = list(_end_to_end(arguments.kinds, arguments.nodes or [1000, 5000], arguments.pods))
        _print_end_to_end(groups)
        figures["endToEnd"] = [asdict(result) for group in groups for result in group]
    arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _records(sizes: Iterable[int]) -> Iterator[records.RecordsResult]:
    for nodes in sizes:
        console.print(f"records of decisions: {nodes} nodes ...", style="dim")
        yield from records.measure(nodes)


def _print_records(results: Iterable[records.RecordsResult]) -> None:
    table = Table(title="Records of decisions, µs of CPU time a decision", title_justify="left")
    for heading in ("kind", "nodes", "without", "with", "cost", "summary, when idle"):
        table.add_column(heading, justify="left" if heading == "kind" else "right")
    for result in results:
        figures = (result.without, result.recorded, result.percent, result.summary)
        without, recorded, percent, summary = (f"{figure:,.1f}" for figure in figures)
        table.add_row(result.kind, f"{result.nodes:,}", without, recorded, f"{percent} %", summary)
    Console().print(table)


def _engine(sizes: Iterable[int], pods_a_node: Iterable[int]) -> Iterator[engine.EngineResult]:
    for nodes in sizes:
        for pods in pods_a_node:
            console.print(f"engine alone: {nodes} nodes, {pods} pods a node ...", style="dim")
            for result in engine.measure(nodes, pods):
                console.print(f"  {result.kind}: {result.microseconds:,.0f} µs a decision", style="dim")
                yield result


def _print_engine(results: Iterable[engine.EngineResult]) -> None:
    table = Table("pods", "nodes", "pods a node", "CPU µs a decision", "decisions/s", title="Engine alone, on one core")
    for result in results:
        speed = f"{result.decisions_a_second:,.0f}"
        table.add_row(result.kind, f"{result.nodes:,}", str(result.pods_a_node), f"{result.microseconds:,.0f}", speed)
    Console().print(table)


def _end_to_end(kinds: Sequence[str], sizes: Iterable[int], pods: int) -> Iterator[Sequence[end_to_end.EndToEndResult]]:
    missing = Binaries().missing()
    if missing:
        console.print(f"skipping the whole path: {', '.join(missing)} not built; run `make controlplane`")
        return
    for nodes in sizes:
        console.print(f"whole path: {pods} pods ({', '.join(kinds)}) on {nodes} nodes ...", style="dim")
        for results in end_to_end.measure(nodes, kinds, pods):
            for result in results:
                console.print(f"  {result.kind}, {result.scheduler}: {result.pods_a_second:,.0f} pods/s", style="dim")
            yield results


def _print_end_to_end(groups: Iterable[Sequence[end_to_end.EndToEndResult]]) -> None:
    """Print the rates, and their ratios to kube-scheduler's rates. Ratios of different runs are comparable."""
    table = Table("pods", "nodes", "scheduler", "pods/s", "ratio", "CPU ms/pod", "peak MB", title="Whole path")
    for results in groups:
        peer = next(result for result in results if result.scheduler == end_to_end.THEIRS)
        for result in results:
            table.add_row(
                result.kind,
                f"{result.nodes:,}",
                result.scheduler,
                f"{result.pods_a_second:,.0f}",
                f"{result.pods_a_second / peer.pods_a_second:.2f}",
                f"{result.cpu_milliseconds_a_pod:.2f}",
                f"{result.peak_megabytes:,.0f}",
            )
        table.add_section()
    Console().print(table)


if __name__ == "__main__":
    main()

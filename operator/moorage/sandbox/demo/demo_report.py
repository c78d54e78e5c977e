"""The output of `moorage demo`: the progress on stderr, and the result on stdout."""

import json
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moorage.sandbox.demo.demo_pods import DemoPod, Manifest
from moorage.sandbox.demo.expectations import EXPECTATIONS
from moorage.sandbox.simulation.node_groups import ZONE_LABEL

WIDTH = 80
REASON_INDENT = 2


class ProgressSteps:
    """The progress output: one line for each step. On a terminal, a spinner shows the running step."""

    def __init__(self) -> None:
        """Write to stderr, so that stdout holds only the result."""
        self._console = Console(stderr=True, highlight=False)

    @contextmanager
    def step(self, subject: str, outcome: str) -> Iterator[None]:
        """Show the subject while the step runs, then print the outcome and the duration."""
        started = time.monotonic()
        with self._console.status(f"{subject} ..."):
            yield
        self._console.print(f"  {subject}: [green]{outcome}[/] [dim]({time.monotonic() - started:.1f} s)[/]")

    def fail(self, message: str) -> None:
        """Print an error."""
        self._console.print("[red]error:[/]", Text(message))


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The placements of the pods by the policies, and the placements of the same pods by a default profile."""

    policies: str
    """The output of `kubectl get schedulingpolicies`."""
    pods: Sequence[DemoPod]
    by_default: Sequence[DemoPod]

    def show(self) -> None:
        """Print the policies, each expectation with the nodes of its pods, and the reason for each refused pod."""
        console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
        console.print("\n$ kubectl get schedulingpolicies", style="bold")
        console.out(_narrowed(self.policies))
        console.print()
        console.print(self._table(("✓", "✗") if console.encoding.lower().startswith("utf") else ("+", "-")))
        for pod in self.pods:
            if pod.refusal:
                console.print(f"\n[bold]{pod.name}[/] stays pending:")
                console.print(Padding(Text(pod.refusal), (0, 0, 0, REASON_INDENT)))

    def print_json(self) -> None:
        """Print the expectations and the placements as JSON."""
        by_default = {pod.name: pod for pod in self.by_default}
        expectations = [
            {
                "example": expectation.example,
                "policy": _policy_of(expectation.about(self.pods)),
                "text": expectation.text,
                "holds": expectation.is_met(self.pods),
                "holdsByDefault": expectation.is_met(self.by_default),
            }
            for expectation in EXPECTATIONS
        ]
        pods: list[dict[str, Any]] = [
            {"name": pod.name, "policy": pod.policy, **pod.as_json(), "byDefault": by_default[pod.name].as_json()}
            for pod in self.pods
        ]
        print(json.dumps({"expectations": expectations, "pods": pods}, indent=2))

    def _table(self, marks: tuple[str, str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
        for heading in ("policy, expectation", "node", "zone", "with a default profile"):
            table.add_column(heading, overflow="fold")
        policy = ""
        for expectation in EXPECTATIONS:
            pods, by_default = expectation.about(self.pods), expectation.about(self.by_default)
            if _policy_of(pods) != policy:
                policy = _policy_of(pods)
                table.add_row(f"[bold]{policy}[/]")
            mark, default_mark = (
                f"[green]{marks[0]}[/]" if met else f"[red]{marks[1]}[/]"
                for met in (expectation.is_met(pods), expectation.is_met(by_default))
            )
            names, zones = _nodes_of(pods)
            default_names, _ = _nodes_of(by_default)
            table.add_row(f"{mark} {expectation.text}", names, zones, _indented(default_mark, default_names))
        return table


def show_next_steps(kubeconfig: Path) -> None:
    """Print the `export KUBECONFIG=...` line for kubectl, and the key that ends the demo."""
    print(f"\nexport KUBECONFIG={kubeconfig}\n(Ctrl-C ends the demo and removes its cluster)", flush=True)


def show_how_to_keep() -> None:
    """Print the command that keeps the cluster."""
    print(f"\nTo keep the cluster for kubectl: {_own_command()} demo --keep")


def _narrowed(table: str) -> str:
    """Return kubectl's table with two spaces between columns instead of three, so that it fits into 80 columns."""
    header, *rows = table.splitlines()
    starts = [found.start() for found in re.finditer(r"\S+", header)]
    ends = [*(start - 1 for start in starts[1:]), None]
    columns = [slice(*bounds) for bounds in zip(starts, ends, strict=True)]
    return "\n".join("".join(row[column] for column in columns) for row in (header, *rows))


def _own_command() -> str:
    """Return the command that starts moorage: its name if it is on the PATH, or else its path."""
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        return f"{os.path.relpath(sys.executable)} -m moorage"
    return program.name if shutil.which(program.name) else os.path.relpath(program)


def _policy_of(pods: Sequence[DemoPod]) -> str:
    return pods[0].policy if pods else ""


def _nodes_of(pods: Sequence[DemoPod]) -> tuple[str, str]:
    """Return the names of the nodes, and their zones, with one node on each line.

    A name also shows the number of pods if the node has several.
    """
    nodes: dict[str, Manifest] = {pod.node_name: pod.node for pod in pods if pod.node}
    counts = Counter(pod.node_name for pod in pods)
    names = [f"{name} x{counts[name]}" if counts[name] > 1 else name for name in sorted(nodes)]
    return "\n".join(names) or "-", "\n".join(
        nodes[name]["metadata"]["labels"].get(ZONE_LABEL, "-") for name in sorted(nodes)
    )


def _indented(mark: str, lines: str) -> str:
    """Return the lines with the mark before the first line, and the other lines indented."""
    return f"{mark} " + lines.replace("\n", "\n  ")

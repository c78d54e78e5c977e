"""What `moorage demo` prints: progress on stderr, the outcome on stdout, readable at 80 columns."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

ZONE = "topology.kubernetes.io/zone"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
LIFECYCLE = "eks.amazonaws.com/capacityType"
REASON_INDENT = 2

Manifest = dict[str, Any]


class Steps:
    """Progress: a line a step, with a spinner where somebody watches."""

    def __init__(self) -> None:
        """Write to stderr, so that stdout holds the outcome alone."""
        self._console = Console(stderr=True, highlight=False)

    @contextmanager
    def step(self, subject: str, outcome: str) -> Iterator[None]:
        """Say what is under way, and what came of it after how long."""
        started = time.monotonic()
        with self._console.status(f"{subject} ..."):
            yield
        self._console.print(f"  {subject}: [green]{outcome}[/] [dim]({time.monotonic() - started:.1f} s)[/]")

    def fail(self, message: str) -> None:
        """Say what went wrong."""
        self._console.print("[red]error:[/]", Text(message))


def refusal_of(pod: Manifest) -> str | None:
    """Return why a pod cannot run, None where it can or nobody has tried yet."""
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return str(condition.get("message") or "")
    return None


def show(policies: str, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> None:
    """Print the policies as kubectl does, where their pods went, and which did not."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 80)
    console.print("\n$ kubectl get schedulingpolicies", style="bold")
    console.out(policies, end="")
    console.print()
    console.print(_placements(pods, {node["metadata"]["name"]: node for node in nodes}))
    for pod in pods:
        if reason := refusal_of(pod):
            console.print(f"\n[bold]{pod['metadata']['name']}[/] stays pending:")
            console.print(Padding(Text(reason), (0, 0, 0, REASON_INDENT)))


def show_how_to_go_on(kubeconfig: Path) -> None:
    """Print the line that points kubectl at the demo, and how to end it."""
    print(f"\nexport KUBECONFIG={kubeconfig}\n(Ctrl-C ends the demo and takes its cluster down)", flush=True)


def _placements(pods: Sequence[Manifest], nodes: dict[str, Manifest]) -> Table:
    table = Table(title="Where the pods went", title_justify="left", header_style="bold", expand=False)
    for heading in ("policy", "pods", "zones", "instance types", "lifecycle"):
        table.add_column(heading, justify="right" if heading == "pods" else "left", overflow="fold")
    for policy in sorted({pod["spec"]["schedulerName"] for pod in pods}):
        bound = [pod for pod in pods if pod["spec"]["schedulerName"] == policy and pod["spec"].get("nodeName")]
        homes = [nodes[pod["spec"]["nodeName"]]["metadata"]["labels"] for pod in bound]
        columns = (_tally(home.get(key, "-") for home in homes) for key in (ZONE, INSTANCE_TYPE, LIFECYCLE))
        table.add_row(policy, str(len(bound)), *columns)
    return table


def _tally(values: Iterable[str]) -> str:
    """Render `us-east-1a 2, us-east-1b 1`, a value a line."""
    return "\n".join(f"{value} {count}" for value, count in sorted(Counter(values).items()))

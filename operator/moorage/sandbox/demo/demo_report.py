"""The output of `moorage demo`: progress on stderr, the result on stdout, at most 80 columns wide."""

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

from moorage.sandbox.simulation.node_groups import INSTANCE_TYPE_LABEL, LIFECYCLE_LABEL, ZONE_LABEL

REASON_INDENT = 2

Manifest = dict[str, Any]


class ProgressSteps:
    """The progress: one line for each step, with a spinner on a terminal."""

    def __init__(self) -> None:
        """Write to stderr, so that stdout holds only the result."""
        self._console = Console(stderr=True, highlight=False)

    @contextmanager
    def step(self, subject: str, outcome: str) -> Iterator[None]:
        """Print the step while it runs, then its outcome and duration."""
        started = time.monotonic()
        with self._console.status(f"{subject} ..."):
            yield
        self._console.print(f"  {subject}: [green]{outcome}[/] [dim]({time.monotonic() - started:.1f} s)[/]")

    def fail(self, message: str) -> None:
        """Print an error."""
        self._console.print("[red]error:[/]", Text(message))


def refusal_of(pod: Manifest) -> str | None:
    """Return the scheduler's message for an unschedulable pod, None for any other pod."""
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return str(condition.get("message") or "")
    return None


def show(policies: str, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> None:
    """Print the policies as kubectl does, the placement of their pods, and the reasons of refused pods."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 80)
    console.print("\n$ kubectl get schedulingpolicies", style="bold")
    console.out(policies, end="")
    console.print()
    console.print(_placements(pods, {node["metadata"]["name"]: node for node in nodes}))
    for pod in pods:
        if reason := refusal_of(pod):
            console.print(f"\n[bold]{pod['metadata']['name']}[/] stays pending:")
            console.print(Padding(Text(reason), (0, 0, 0, REASON_INDENT)))


def show_next_steps(kubeconfig: Path) -> None:
    """Print the line that points kubectl at the demo's cluster, and the key that ends the demo."""
    print(f"\nexport KUBECONFIG={kubeconfig}\n(Ctrl-C ends the demo and removes its cluster)", flush=True)


def _placements(pods: Sequence[Manifest], nodes: dict[str, Manifest]) -> Table:
    table = Table(title="Where the pods run", title_justify="left", header_style="bold", expand=False)
    for heading in ("policy", "pods", "zones", "instance types", "lifecycle"):
        table.add_column(heading, justify="right" if heading == "pods" else "left", overflow="fold")
    for policy in sorted({pod["spec"]["schedulerName"] for pod in pods}):
        bound = [pod for pod in pods if pod["spec"]["schedulerName"] == policy and pod["spec"].get("nodeName")]
        used = [nodes[pod["spec"]["nodeName"]]["metadata"]["labels"] for pod in bound]
        keys = (ZONE_LABEL, INSTANCE_TYPE_LABEL, LIFECYCLE_LABEL)
        columns = (_tally(labels.get(key, "-") for labels in used) for key in keys)
        table.add_row(policy, str(len(bound)), *columns)
    return table


def _tally(values: Iterable[str]) -> str:
    """Return one line for each value with its count, such as `us-east-1a 2`."""
    return "\n".join(f"{value} {count}" for value, count in sorted(Counter(values).items()))

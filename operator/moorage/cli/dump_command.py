"""`moorage dump`: the command that writes what the engine reads of a cluster to one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moorage.cli.options import ContextOption, KubeconfigOption

if TYPE_CHECKING:
    from moorage.inventory import Inventory

SHOWN_KINDS = {"Node": ("node", "nodes"), "Pod": ("pod", "pods"), "SchedulingPolicy": ("policy", "policies")}


def dump(
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write to this file. Default: moorage-dump-TIME.jsonl.gz."),
    ] = None,
    anonymize: Annotated[
        bool,
        typer.Option(
            "--anonymize",
            help="Replace names, namespaces, and label keys and values, so that all decisions stay the same. Keys of "
            "Kubernetes and vendors, zones and instance types stay.",
        ),
    ] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
) -> None:
    """Write what the engine reads of a cluster to one compressed file.

    The file has nodes, pods, policies, volumes and disruption budgets, reduced to the fields that scheduling reads. It
    has no environment, commands, arguments or secrets. `moorage sandbox --from FILE` starts it.
    """
    import asyncio

    from moorage.app.cluster_commands import list_cluster
    from moorage.cli.listing_bar import ListingBar
    from moorage.inventory import anonymize as anonymized
    from moorage.inventory import write_dump
    from moorage.settings import Settings

    with ListingBar() as bar:
        inventory = asyncio.run(list_cluster(Settings(kubeconfig=kubeconfig, context=context), bar))
    if anonymize:
        result = anonymized(inventory)
        inventory = result.inventory
        for note in result.notes:
            print(f"warning: {note}", file=sys.stderr)
    path = output or Path(f"moorage-dump-{inventory.taken.replace(':', '')}.jsonl.gz")
    size = write_dump(inventory, path)
    print(f"{path}: {_summary(inventory)}, {size:,} bytes", file=sys.stderr)


def _summary(inventory: Inventory) -> str:
    counts = inventory.counts
    shown = [f"{counts.get(kind, 0):,} {names[counts.get(kind) != 1]}" for kind, names in SHOWN_KINDS.items()]
    others = sum(count for kind, count in counts.items() if kind not in SHOWN_KINDS)
    return ", ".join([*shown, f"{others:,} other objects"])

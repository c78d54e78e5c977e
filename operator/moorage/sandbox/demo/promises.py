"""What the examples promise of their pods' places, held against where the pods are. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moorage.sandbox.demo.report import INSTANCE_TYPE, LIFECYCLE, ZONE, refusal_of

Manifest = dict[str, Any]

GPU = "nvidia.com/gpu"
STAYS_PENDING = frozenset({"colossus-1"})
"""The pod of the examples that asks for more than any node has, to show what that looks like."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Something about the nodes of all bound pods whose names start with `pods`."""

    text: str
    pods: str
    holds: Callable[[Sequence[Manifest]], bool]
    """Takes their nodes, one a pod."""


def _all_labelled(key: str, start: str) -> Callable[[Sequence[Manifest]], bool]:
    return lambda homes: all(_labels(home).get(key, "").startswith(start) for home in homes)


def _names(homes: Sequence[Manifest]) -> set[str]:
    return {home["metadata"]["name"] for home in homes}


def _evenly_over_zones(homes: Sequence[Manifest]) -> bool:
    counts = Counter(_labels(home).get(ZONE) for home in homes).values()
    return max(counts) - min(counts) <= 1 and len(counts) > 1


PROMISES = (
    Promise("01-spot-first: the pods batch-* run on spot nodes", "batch-", _all_labelled(LIFECYCLE, "SPOT")),
    Promise("01-spot-first: the pods ledger-* run on-demand", "ledger-", _all_labelled(LIFECYCLE, "ON_DEMAND")),
    Promise("02-zone-spread: the pods web-* are even over the zones", "web-", _evenly_over_zones),
    Promise("03-gpu-pool: the pods train-* share a node", "train-", lambda homes: len(_names(homes)) == 1),
    Promise(
        "03-gpu-pool: the pod prepare-1 runs on a node without GPUs",
        "prepare-",
        lambda homes: all(GPU not in home["status"]["allocatable"] for home in homes),
    ),
    Promise("04-bin-packing: the pods packed-* share a node", "packed-", lambda homes: len(_names(homes)) == 1),
    Promise("05-low-latency: each pod api-* has its own node", "api-", lambda homes: len(_names(homes)) == len(homes)),
    Promise("06-instance-types: the pods compute-* run on c5 nodes", "compute-", _all_labelled(INSTANCE_TYPE, "c5")),
)
"""What the examples' READMEs say there is to see."""


def broken_promises(pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[str]:
    """Return a sentence for each promise that does not hold; pods that were refused, or are missing, break theirs."""
    by_name = {node["metadata"]["name"]: node for node in nodes}
    places = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in pods}
    refused = {pod["metadata"]["name"] for pod in pods if refusal_of(pod)}
    broken = [f"{name} was refused, and its example says that it runs" for name in sorted(refused - STAYS_PENDING)]
    broken += [f"{name} was to be refused, and was not" for name in sorted(STAYS_PENDING - refused)]
    for promise in PROMISES:
        found = {name: node for name, node in places.items() if name.startswith(promise.pods) and node}
        if not found or not promise.holds([by_name[node] for node in found.values()]):
            broken.append(f"this does not hold: {promise.text}; {_told(found)}")
    return broken


def _told(places: Mapping[str, str]) -> str:
    return ", ".join(f"{name} is on {node}" for name, node in sorted(places.items())) or "none of them runs"


def _labels(node: Manifest) -> dict[str, str]:
    labels: dict[str, str] = node["metadata"]["labels"]
    return labels

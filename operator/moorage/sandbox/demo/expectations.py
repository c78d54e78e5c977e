"""The placements that the examples' READMEs describe, compared with the actual placements. Does no I/O."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from moorage.sandbox.demo.demo_report import Manifest, refusal_of
from moorage.sandbox.simulation.node_groups import INSTANCE_TYPE_LABEL, LIFECYCLE_LABEL, ZONE_LABEL

GPU = "nvidia.com/gpu"
STAYS_PENDING = frozenset({"colossus-1"})
"""The pods that request more than any node has, to show how a refusal looks."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A statement about the nodes of all bound pods whose names start with `pods`."""

    text: str
    pods: str
    holds: Callable[[Sequence[Manifest]], bool]
    """Returns whether the statement is true for these nodes, one for each pod."""


def _all_have(key: str, start: str) -> Callable[[Sequence[Manifest]], bool]:
    return lambda nodes: all(_labels(node).get(key, "").startswith(start) for node in nodes)


def _names(nodes: Sequence[Manifest]) -> set[str]:
    return {node["metadata"]["name"] for node in nodes}


def _are_spread_evenly(nodes: Sequence[Manifest]) -> bool:
    counts = Counter(_labels(node).get(ZONE_LABEL) for node in nodes).values()
    return max(counts) - min(counts) <= 1 and len(counts) > 1


EXPECTATIONS = (
    Expectation("01-spot-first: the pods batch-* run on spot nodes", "batch-", _all_have(LIFECYCLE_LABEL, "SPOT")),
    Expectation("01-spot-first: the pods ledger-* run on-demand", "ledger-", _all_have(LIFECYCLE_LABEL, "ON_DEMAND")),
    Expectation("02-zone-spread: the pods web-* are spread evenly over the zones", "web-", _are_spread_evenly),
    Expectation("03-gpu-pool: the pods train-* share a node", "train-", lambda nodes: len(_names(nodes)) == 1),
    Expectation(
        "03-gpu-pool: the pod prepare-1 runs on a node without GPUs",
        "prepare-",
        lambda nodes: all(GPU not in node["status"]["allocatable"] for node in nodes),
    ),
    Expectation("04-bin-packing: the pods packed-* share a node", "packed-", lambda nodes: len(_names(nodes)) == 1),
    Expectation(
        "05-low-latency: each pod api-* has its own node", "api-", lambda nodes: len(_names(nodes)) == len(nodes)
    ),
    Expectation(
        "06-instance-types: the pods compute-* run on c5 nodes", "compute-", _all_have(INSTANCE_TYPE_LABEL, "c5")
    ),
)
"""All placements that the READMEs of the examples describe."""


def failed_expectations(pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[str]:
    """Return a sentence for each failed expectation. Refused or missing pods fail theirs."""
    by_name = {node["metadata"]["name"]: node for node in nodes}
    places = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in pods}
    refused = {pod["metadata"]["name"] for pod in pods if refusal_of(pod)}
    failed = [f"{name} was refused, but its example says that it runs" for name in sorted(refused - STAYS_PENDING)]
    failed += [f"{name} was not refused, but its example says so" for name in sorted(STAYS_PENDING - refused)]
    for expectation in EXPECTATIONS:
        found = {name: node for name, node in places.items() if name.startswith(expectation.pods) and node}
        if not found or not expectation.holds([by_name[node] for node in found.values()]):
            failed.append(f"this is not the case: {expectation.text}; {_described(found)}")
    return failed


def _described(places: Mapping[str, str]) -> str:
    return ", ".join(f"{name} is on {node}" for name, node in sorted(places.items())) or "no such pod runs"


def _labels(node: Manifest) -> dict[str, str]:
    labels: dict[str, str] = node["metadata"]["labels"]
    return labels

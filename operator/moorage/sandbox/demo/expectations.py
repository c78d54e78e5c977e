"""Compares the placements of pods with the placements that the READMEs of the examples describe. Does no I/O."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from moorage.sandbox.demo.demo_pods import DemoPod, Manifest
from moorage.sandbox.simulation.node_groups import INSTANCE_TYPE_LABEL, LIFECYCLE_LABEL, ZONE_LABEL

GPU = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class Expectation:
    """A statement about all pods whose names start with `pods`."""

    example: str
    text: str
    pods: str
    holds: Callable[[Sequence[Manifest]], bool]
    """Returns whether the statement is true. The argument has one node for each pod."""
    stays_pending: bool = False
    """Whether the pods must stay pending, because they fit no node. `holds` is not called for such pods."""

    def about(self, pods: Iterable[DemoPod]) -> list[DemoPod]:
        """Return the pods that the statement is about."""
        return [pod for pod in pods if pod.name.startswith(self.pods)]

    def is_met(self, pods: Iterable[DemoPod]) -> bool:
        """Return whether the statement is true. It is false if there are no such pods, or if one has no node."""
        about = self.about(pods)
        if self.stays_pending:
            return bool(about) and all(pod.refusal is not None for pod in about)
        nodes = [pod.node for pod in about if pod.node is not None]
        return bool(nodes) and len(nodes) == len(about) and self.holds(nodes)


def _all_have(key: str, start: str) -> Callable[[Sequence[Manifest]], bool]:
    return lambda nodes: all(_labels(node).get(key, "").startswith(start) for node in nodes)


def _names(nodes: Sequence[Manifest]) -> set[str]:
    return {node["metadata"]["name"] for node in nodes}


def _are_spread_evenly(nodes: Sequence[Manifest]) -> bool:
    counts = Counter(_labels(node).get(ZONE_LABEL) for node in nodes).values()
    return max(counts) - min(counts) <= 1 and len(counts) > 1


def _have_no_gpus(nodes: Sequence[Manifest]) -> bool:
    return all(GPU not in node["status"]["allocatable"] for node in nodes)


EXPECTATIONS = (
    Expectation("01-spot-first", "batch-* run on spot nodes", "batch-", _all_have(LIFECYCLE_LABEL, "SPOT")),
    Expectation("01-spot-first", "ledger-* run on-demand", "ledger-", _all_have(LIFECYCLE_LABEL, "ON_DEMAND")),
    Expectation("02-zone-spread", "web-* are spread evenly over the zones", "web-", _are_spread_evenly),
    Expectation("03-gpu-pool", "train-* share a node", "train-", lambda nodes: len(_names(nodes)) == 1),
    Expectation("03-gpu-pool", "prepare-1 runs on a node without GPUs", "prepare-", _have_no_gpus),
    Expectation("03-gpu-pool", "colossus-1 stays pending", "colossus-", lambda _: False, stays_pending=True),
    Expectation("04-bin-packing", "packed-* share a node", "packed-", lambda nodes: len(_names(nodes)) == 1),
    Expectation(
        "05-low-latency", "each pod api-* has its own node", "api-", lambda nodes: len(_names(nodes)) == len(nodes)
    ),
    Expectation("06-instance-types", "compute-* run on c5 nodes", "compute-", _all_have(INSTANCE_TYPE_LABEL, "c5")),
)
"""The placements that the READMEs of the examples describe."""


def failed_expectations(pods: Sequence[DemoPod]) -> list[str]:
    """Return a sentence for each failed expectation."""
    return [
        f"{expectation.example}: this is not true: {expectation.text}; {_described(expectation.about(pods))}"
        for expectation in EXPECTATIONS
        if not expectation.is_met(pods)
    ]


def _described(pods: Sequence[DemoPod]) -> str:
    places = (f"{pod.name} {f'is on {pod.node_name}' if pod.node else 'has no node'}" for pod in pods)
    return ", ".join(sorted(places)) or "there is no such pod"


def _labels(node: Manifest) -> dict[str, str]:
    labels: dict[str, str] = node["metadata"]["labels"]
    return labels

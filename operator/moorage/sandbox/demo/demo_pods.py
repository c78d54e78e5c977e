"""The pods of the demo, each with its node or with the reason of its refusal. Does no I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moorage.sandbox.simulation.node_groups import INSTANCE_TYPE_LABEL, LIFECYCLE_LABEL, ZONE_LABEL

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DemoPod:
    """A pod with its node, or with None if the pod has no node."""

    name: str
    policy: str
    node: Manifest | None
    refusal: str | None
    """The scheduler's message for an unschedulable pod, or None for any other pod."""

    @property
    def node_name(self) -> str:
        """The name of the node, or an empty string."""
        return str(self.node["metadata"]["name"]) if self.node else ""

    def as_json(self) -> Manifest:
        """Return the placement for JSON output: the refusal, the node, and the labels of the node that examples use."""
        labels: Mapping[str, str] = self.node["metadata"]["labels"] if self.node else {}
        return {
            "node": self.node_name or None,
            "zone": labels.get(ZONE_LABEL),
            "instanceType": labels.get(INSTANCE_TYPE_LABEL),
            "lifecycle": labels.get(LIFECYCLE_LABEL),
            "refusal": self.refusal,
        }


def demo_pods(pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[DemoPod]:
    """Return the pods with their nodes."""
    by_name = {node["metadata"]["name"]: node for node in nodes}
    return [
        DemoPod(
            name=pod["metadata"]["name"],
            policy=pod["spec"].get("schedulerName", ""),
            node=by_name[pod["spec"]["nodeName"]] if pod["spec"].get("nodeName") else None,
            refusal=refusal_of(pod),
        )
        for pod in pods
    ]


def refusal_of(pod: Manifest) -> str | None:
    """Return the scheduler's message for an unschedulable pod, or None for any other pod."""
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return str(condition.get("message") or "")
    return None

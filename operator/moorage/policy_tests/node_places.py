"""The zone, instance type and lifecycle of each node, for the expectations of tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from moorage.plugins.own.lifecycle import Lifecycle
from moorage.policy_tests.policy_test_reader import Json

ZONE = "topology.kubernetes.io/zone"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_LIFECYCLE = Lifecycle()


@dataclass(frozen=True, slots=True)
class NodePlaces:
    """The labels of each node, by node name."""

    labels: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, nodes: Iterable[Json]) -> NodePlaces:
        """Read the labels of nodes."""
        return cls({body["metadata"]["name"]: body["metadata"].get("labels") or {} for body in nodes})

    def value(self, node: str, field: str) -> str:
        """Return a node's name, zone, instance type, lifecycle or label. Empty if the node lacks it."""
        labels = self.labels.get(node, {})
        match field:
            case "node":
                return node
            case "zone":
                return labels.get(ZONE, "")
            case "instanceType":
                return labels.get(INSTANCE_TYPE, "")
            case "lifecycle":
                return _LIFECYCLE.class_of(labels)
        return labels.get(field, "")

    def counts(self, field: str, nodes: Iterable[str]) -> Counter[str]:
        """Return the number of pods for each value of a field; `nodes` has the node of each pod.

        The result has all values of the cluster's nodes, even if the number is 0.
        """
        found = Counter({value: 0 for name in self.labels if (value := self.value(name, field))})
        found.update(value for name in nodes if (value := self.value(name, field)))
        return found

    def describe(self, node: str) -> str:
        """Return text such as `spot-3 (us-east-1a, m5.xlarge, spot)`."""
        values = (self.value(node, field) for field in ("zone", "instanceType", "lifecycle"))
        known = ", ".join(value for value in values if value and value != "unknown")
        return f"{node} ({known})" if known else node

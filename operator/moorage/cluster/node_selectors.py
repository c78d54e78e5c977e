"""Matches node selectors against all nodes of a view at once.

A requirement is evaluated once for each value that its label has in the cluster. The id of a node's value selects the
answer for the node. Upstream: `component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.cluster.arrays import BoolArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.node import Node
    from moorage.model.pods.pod import PodShape
    from moorage.model.selectors import NodeSelector, NodeSelectorTerm, Requirement

METADATA_NAME = "metadata.name"
"""The only field that matchFields can select."""


def matches_pod_affinity(shape: PodShape, nodes: Snapshot) -> BoolArray:
    """Return which nodes meet the nodeSelector and the required node affinity of the shape."""
    matching = np.ones(nodes.size, dtype=np.bool_)
    for key, value in (shape.node_selector or {}).items():
        matching &= label_equals(key, value, nodes)
    required = shape.node_affinity and shape.node_affinity.required
    return matching & matches_selector(required, nodes) if required else matching


def node_meets_pod_affinity(shape: PodShape, node: Node) -> bool:
    """Return whether a node, even outside the snapshot, meets the shape's nodeSelector and required node affinity."""
    if any(node.labels.get(key) != value for key, value in (shape.node_selector or {}).items()):
        return False
    required = shape.node_affinity and shape.node_affinity.required
    return not required or node_matches(required, node)


def matches_selector(selector: NodeSelector, nodes: Snapshot) -> BoolArray:
    """Return which nodes meet one of the selector's terms; an invalid or empty term matches no node."""
    matching = np.zeros(nodes.size, dtype=np.bool_)
    for term in selector.terms:
        matching |= matches_term(term, nodes)
    return matching


def matches_term(term: NodeSelectorTerm, nodes: Snapshot) -> BoolArray:
    """Return which nodes meet all requirements of a term."""
    if term.error or term.is_empty:
        return np.zeros(nodes.size, dtype=np.bool_)
    matching = np.ones(nodes.size, dtype=np.bool_)
    for requirement in term.expressions:
        matching &= matches_requirement(requirement, nodes)
    for requirement in term.fields:
        matching &= _matches_field(requirement, nodes)
    return matching


def matches_requirement(requirement: Requirement, nodes: Snapshot) -> BoolArray:
    """Return which nodes have labels that meet a requirement."""
    column = nodes.label(requirement.key)
    answers = [requirement.matches({requirement.key: value}) for value in column.values]
    # The last answer is for nodes without the label: their id is ABSENT, which selects the last entry.
    return np.array([*answers, requirement.matches({})], dtype=np.bool_)[column.ids]


def label_equals(key: str, value: str, nodes: Snapshot) -> BoolArray:
    """Return which nodes have the label with exactly this value."""
    column = nodes.label(key)
    return np.array([*(known == value for known in column.values), False], dtype=np.bool_)[column.ids]


def node_matches(selector: NodeSelector, node: Node) -> bool:
    """Return whether a node meets one of the selector's terms."""
    return any(_node_meets(term, node) for term in selector.terms)


def _node_meets(term: NodeSelectorTerm, node: Node) -> bool:
    if term.error or term.is_empty:
        return False
    fields: Mapping[str, str] = {METADATA_NAME: node.name}
    return all(requirement.matches(node.labels) for requirement in term.expressions) and all(
        requirement.matches(fields) for requirement in term.fields
    )


def _matches_field(requirement: Requirement, nodes: Snapshot) -> BoolArray:
    """Return which nodes meet a requirement on fields; API validation allows one node name with In or NotIn."""
    if requirement.key != METADATA_NAME:
        return np.full(nodes.size, requirement.matches({}), dtype=np.bool_)
    excluded = requirement.operator == "NotIn"
    matching = np.full(nodes.size, excluded, dtype=np.bool_)
    positions = [position for name in requirement.values if (position := nodes.position(name)) is not None]
    matching[positions] = not excluded
    return matching

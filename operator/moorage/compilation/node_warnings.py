"""Warnings about names in a policy's spec that match no node: instance types, zones, labels and GPUs.

The name may be a typing error, or the nodes may not exist yet. A value that equals a default causes no warning, because
the API server may have written the value into the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.api.policy_filters import LifecycleClass
from moorage.api.policy_scores import GpuSection, InstanceTypesSection
from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.compilation.added_affinity import INSTANCE_TYPE, ZONE
from moorage.compilation.node_facts import ReadNodeFacts
from moorage.compilation.pattern_cover import matches_any
from moorage.compilation.policy_warning import PolicyWarning
from moorage.plugins.own.gpu import PRODUCT_LABEL
from moorage.plugins.own.lifecycle import DEFAULT_SOURCES

PATTERN_MATCHES_NO_NODE = "PatternMatchesNoNode"
ZONE_HAS_NO_NODE = "ZoneHasNoNode"
LABEL_HAS_NO_NODE = "LabelHasNoNode"
RESOURCE_HAS_NO_NODE = "ResourceHasNoNode"
LIFECYCLE_HAS_NO_NODE = "LifecycleHasNoNode"


def node_warnings(spec: SchedulingPolicySpec, nodes: ReadNodeFacts) -> Iterator[PolicyWarning]:
    """Yield the warnings that depend on the nodes. The preset of `spec` is already expanded."""
    yield from _instance_types(spec, nodes)
    yield from _zones(spec, nodes)
    yield from _node_selector(spec, nodes)
    yield from _lifecycles(spec, nodes)
    yield from _gpu_models(spec, nodes)
    yield from _resources(spec, nodes)


def _instance_types(spec: SchedulingPolicySpec, nodes: ReadNodeFacts) -> Iterator[PolicyWarning]:
    patterns: list[tuple[str, str]] = []
    if types := spec.filters.instance_types:
        patterns += [("spec.filters.instanceTypes.allow", pattern) for pattern in types.allow]
        patterns += [("spec.filters.instanceTypes.deny", pattern) for pattern in types.deny]
    if spec.instance_types and spec.instance_types.scores != InstanceTypesSection().scores:
        rows = enumerate(spec.instance_types.scores)
        patterns += [(f"spec.instanceTypes.scores[{index}]", row.match) for index, row in rows]
    for field, pattern in patterns:
        if not matches_any(pattern, nodes.values(INSTANCE_TYPE)):
            yield PolicyWarning(PATTERN_MATCHES_NO_NODE, f"{field}: {pattern} matches the instance type of no node")


def _zones(spec: SchedulingPolicySpec, nodes: ReadNodeFacts) -> Iterator[PolicyWarning]:
    named: list[tuple[str, str]] = []
    if zones := spec.filters.zones:
        named += [("spec.filters.zones.allow", zone) for zone in zones.allow]
        named += [("spec.filters.zones.deny", zone) for zone in zones.deny]
    if spec.zones:
        named += [("spec.zones.prefer", zone) for zone in spec.zones.prefer]
    for field, zone in named:
        if zone not in nodes.values(ZONE):
            yield PolicyWarning(ZONE_HAS_NO_NODE, f"{field}: no node is in the zone {zone}")


def _node_selector(spec: SchedulingPolicySpec, nodes: ReadNodeFacts) -> Iterator[PolicyWarning]:
    selector = spec.filters.node_selector
    if selector is None:
        return
    wanted: list[tuple[str, tuple[str, ...]]] = [(key, (value,)) for key, value in selector.match_labels.items()]
    wanted += [(each.key, each.values) for each in selector.match_expressions if each.operator == "In"]
    for key, values in wanted:
        if nodes.values(key).isdisjoint(values):
            label = " or ".join(f"{key}={value}" for value in values)
            yield PolicyWarning(LABEL_HAS_NO_NODE, f"spec.filters.nodeSelector: no node has the label {label}")
    for each in selector.match_expressions:
        if each.operator == "Exists" and not nodes.values(each.key):
            yield PolicyWarning(LABEL_HAS_NO_NODE, f"spec.filters.nodeSelector: no node has the label {each.key}")


def _lifecycles(spec: SchedulingPolicySpec, nodes: ReadNodeFacts) -> Iterator[PolicyWarning]:
    sources = spec.lifecycle.sources if spec.lifecycle else ()
    for index, source in enumerate(sources):
        if not nodes.values(source.key):
            message = f"spec.lifecycle.sources[{index}]: no node has the label {source.key}"
            yield PolicyWarning(LABEL_HAS_NO_NODE, message)
    named: list[tuple[str, LifecycleClass]] = [("spec.filters.lifecycles", name) for name in spec.filters.lifecycles]
    if spec.lifecycle and spec.lifecycle.prefer != "none":
        named.append(("spec.lifecycle.prefer", spec.lifecycle.prefer))
    for field, name in named:
        if name != "unknown" and not _has_class(name, spec, nodes):
            yield PolicyWarning(LIFECYCLE_HAS_NO_NODE, f"{field}: no node has the lifecycle {name}")


def _has_class(name: LifecycleClass, spec: SchedulingPolicySpec, nodes: ReadNodeFacts) -> bool:
    """Return whether the labels of a node give it this class, in upper or lower case."""
    for source in (spec.lifecycle and spec.lifecycle.sources) or DEFAULT_SOURCES:
        values = {"spot": source.spot, "on-demand": source.on_demand, "reserved": source.reserved}[name]
        if not _lowered(nodes.values(source.key)).isdisjoint(_lowered(values)):
            return True
    return False


def _lowered(values: Iterable[str]) -> set[str]:
    return {value.lower() for value in values}


def _gpu_models(spec: SchedulingPolicySpec, nodes: ReadNodeFacts) -> Iterator[PolicyWarning]:
    for model in spec.gpu.models if spec.gpu else ():
        if model not in nodes.values(PRODUCT_LABEL):
            message = f"spec.gpu.models: no node has the label {PRODUCT_LABEL}={model}"
            yield PolicyWarning(LABEL_HAS_NO_NODE, message)


def _resources(spec: SchedulingPolicySpec, nodes: ReadNodeFacts) -> Iterator[PolicyWarning]:
    named: list[tuple[str, str]] = []
    if spec.gpu and spec.gpu.resources != GpuSection().resources:
        named += [("spec.gpu.resources", name) for name in spec.gpu.resources]
    if spec.scarcity:
        named += [("spec.scarcity.resources", name) for name in spec.scarcity.resources]
    for field, name in named:
        if not nodes.resources(name):
            yield PolicyWarning(RESOURCE_HAS_NO_NODE, f"{field}: no node has the resource {name}")

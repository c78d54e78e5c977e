"""Warnings about a policy's spec, without regard to nodes: fields that contradict each other or have no effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from moorage.api.policy_scores import LifecycleSource
from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.compilation.pattern_cover import covers
from moorage.compilation.policy_warning import PolicyWarning
from moorage.framework.policy_plugin import PolicyPlugin

ALLOWED_AND_DENIED = "AllowedAndDenied"
SHADOWED_ROW = "ShadowedRow"
WEIGHT_IS_ZERO = "WeightIsZero"
NO_EFFECT = "NoEffect"


def spec_warnings(spec: SchedulingPolicySpec, plugins: Sequence[type[PolicyPlugin]]) -> Iterator[PolicyWarning]:
    """Yield the warnings about a spec whose preset is expanded. `plugins` are the plugins that sections configure."""
    yield from _filters(spec)
    yield from _shadowed_instance_types(spec)
    yield from _shadowed_sources(spec.lifecycle.sources if spec.lifecycle else ())
    yield from _weights_of_zero(spec, plugins)
    yield from _idle_sections(spec)
    yield from _idle_fields(spec)


def _filters(spec: SchedulingPolicySpec) -> Iterator[PolicyWarning]:
    if types := spec.filters.instance_types:
        for name in types.allow:
            denied = next((pattern for pattern in types.deny if covers(pattern, name)), None)
            if denied is not None:
                yield _contradiction("instanceTypes", name, denied)
    if zones := spec.filters.zones:
        for name in zones.allow:
            if name in zones.deny:
                yield _contradiction("zones", name, name)


def _contradiction(field: str, name: str, denied: str) -> PolicyWarning:
    by = "" if name == denied else f" as {denied}"
    message = f"spec.filters.{field}: {name} is in allow and in deny{by}; deny takes precedence"
    return PolicyWarning(ALLOWED_AND_DENIED, message)


def _shadowed_instance_types(spec: SchedulingPolicySpec) -> Iterator[PolicyWarning]:
    """Yield a warning for each row that is never used, because only the first row that matches a node counts."""
    patterns = [row.match for row in spec.instance_types.scores] if spec.instance_types else []
    for index, pattern in enumerate(patterns):
        earlier = next((number for number in range(index) if covers(patterns[number], pattern)), None)
        if earlier is not None:
            row, first = f"scores[{index}] ({pattern})", f"scores[{earlier}] ({patterns[earlier]})"
            yield PolicyWarning(SHADOWED_ROW, f"spec.instanceTypes.{row} is never used: {first} matches first")


def _shadowed_sources(sources: Sequence[LifecycleSource]) -> Iterator[PolicyWarning]:
    """Yield a warning for each value that an earlier source or class with the same label already has."""
    seen: dict[tuple[str, str], str] = {}
    for index, source in enumerate(sources):
        values = [
            (value, f"sources[{index}].{name}")
            for name, listed in (("spot", source.spot), ("onDemand", source.on_demand), ("reserved", source.reserved))
            for value in listed
        ]
        for value, place in values:
            first = seen.setdefault((source.key, value.lower()), place)
            if first != place:
                message = f"spec.lifecycle.{place}: {source.key}={value} is never used: {first} has it too"
                yield PolicyWarning(SHADOWED_ROW, message)


def _weights_of_zero(spec: SchedulingPolicySpec, plugins: Sequence[type[PolicyPlugin]]) -> Iterator[PolicyWarning]:
    """Yield a warning for each section that only scores nodes, and whose plugin has the weight 0."""
    off = {name for name, weight in spec.weights.items() if not weight}
    for plugin in plugins:
        section = plugin.policy_section if plugin.section_of(spec) is not None else None
        if section and plugin.__name__ in off and not plugin.is_filter_required(spec):
            yield _weight_is_zero(plugin.__name__, SchedulingPolicySpec.model_fields[section].alias or section)
    if "NodeResourcesFit" in off and (spec.resources.strategy or spec.resources.weights):
        yield _weight_is_zero("NodeResourcesFit", "resources")


def _weight_is_zero(plugin: str, section: str) -> PolicyWarning:
    message = f"spec.weights.{plugin} is 0, so spec.{section} ranks no nodes"
    return PolicyWarning(WEIGHT_IS_ZERO, message)


def _idle_sections(spec: SchedulingPolicySpec) -> Iterator[PolicyWarning]:
    """Yield a warning for each section that gives all nodes the same rank."""
    if spec.instance_types and all(row.score == spec.instance_types.default for row in spec.instance_types.scores):
        yield _no_effect("spec.instanceTypes", "all instance types have the same score")
    if spec.zones and spec.zones.spread == "Ignore" and not spec.zones.prefer:
        yield _no_effect("spec.zones", "spread is Ignore, and prefer is empty")
    gpu = spec.gpu
    if gpu and gpu.pods_without_gpu == gpu.pods_with_gpu == "Ignore" and not gpu.models:
        yield _no_effect("spec.gpu", "it ignores GPUs, and models is empty")
    if spec.resources.weights and not any(spec.resources.weights.values()):
        yield _no_effect("spec.resources.weights", "all weights are 0, so the default weights apply")


def _idle_fields(spec: SchedulingPolicySpec) -> Iterator[PolicyWarning]:
    """Yield a warning for each field that has no effect because of another field."""
    allowed = spec.filters.lifecycles
    if allowed and spec.lifecycle and spec.lifecycle.prefer not in {*allowed, "none"}:
        yield _no_effect("spec.lifecycle.prefer", f"spec.filters.lifecycles excludes {spec.lifecycle.prefer}")
    if spec.zones and spec.zones.max_skew != 1 and spec.zones.spread != "Require":
        yield _no_effect("spec.zones.maxSkew", "only spread: Require uses it")
    if spec.zones and (zones := spec.filters.zones):
        for name in spec.zones.prefer:
            if name in zones.deny or (zones.allow and name not in zones.allow):
                yield _no_effect(f"spec.zones.prefer.{name}", "spec.filters.zones excludes the zone")
    if not spec.preemption.enabled and spec.preemption.pdb_policy == "Strict":
        yield _no_effect("spec.preemption.pdbPolicy", "preemption is not enabled")


def _no_effect(field: str, why: str) -> PolicyWarning:
    return PolicyWarning(NO_EFFECT, f"{field} has no effect: {why}")

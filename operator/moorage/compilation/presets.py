"""Presets of a policy: named sets of fields of the spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.api.policy_spec import Preset, SchedulingPolicySpec

PRESETS: Mapping[Preset, Mapping[str, Any]] = {
    "Default": {},
    "BinPack": {
        "resources": {"strategy": "MostAllocated"},
        "weights": {"NodeResourcesFit": 5, "NodeResourcesBalancedAllocation": 0},
    },
    "Spread": {
        "resources": {"strategy": "LeastAllocated"},
        "zones": {"spread": "Prefer"},
        "weights": {"ZoneSpread": 5},
    },
    "SpotFirst": {"lifecycle": {"prefer": "spot"}, "weights": {"Lifecycle": 10}},
    "GpuPack": {
        "gpu": {"podsWithGpu": "LeastFragmentation"},
        "weights": {"NodeResourcesFit": 0, "NodeResourcesBalancedAllocation": 0},
    },
}


def expand_preset(spec: SchedulingPolicySpec) -> SchedulingPolicySpec:
    """Return the spec with the fields of its preset. At every level, fields of the spec override the preset."""
    written = spec.model_dump(by_alias=True, exclude_unset=True)
    return SchedulingPolicySpec.model_validate(_overlay(PRESETS[spec.preset], written))


def _overlay(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two mappings, and the mappings in them, key by key. `top` overrides other values of `base`."""
    merged = dict(base)
    for key, value in top.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            merged[key] = _overlay(below, value)
        elif value is not None:
            merged[key] = value
    return merged

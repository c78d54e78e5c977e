"""JSON merge patches (RFC 7386)."""

from typing import Any

from moorage.sandbox.objects import copy


def merge_patch(target: Any, patch: Any) -> Any:
    """Return a copy of `target` after a merge patch."""
    if not isinstance(patch, dict):
        return copy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result

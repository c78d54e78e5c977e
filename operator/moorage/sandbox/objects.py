"""The JSON border: API objects as plain dictionaries, their metadata, and the codec."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec

Object: TypeAlias = dict[str, Any]
"""One API object as decoded from JSON. Whatever is in the store is never changed in place."""

Key: TypeAlias = tuple[str, str]
"""Namespace (empty for cluster-scoped objects) and name."""

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder()


def encode(value: object) -> bytes:
    """JSON of any built-in value."""
    return _ENCODER.encode(value)


def decode(data: bytes) -> Any:
    """Decode a JSON text; raises ValueError."""
    return _DECODER.decode(data)


def copy(value: Any) -> Any:
    """Copy a JSON value deeply, about ten times as fast as `copy.deepcopy`."""
    if type(value) is dict:
        return {name: copy(item) for name, item in value.items()}
    if type(value) is list:
        return [copy(item) for item in value]
    return value


def metadata(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Get the object's metadata, an empty dictionary if it has none."""
    found: dict[str, Any] = obj.get("metadata") or {}
    return found


def key_of(obj: Mapping[str, Any]) -> Key:
    """Where the object lives among its kind."""
    meta = metadata(obj)
    return meta.get("namespace") or "", meta.get("name") or ""


def dig(value: Any, *path: str) -> Any:
    """Get the value under a path of field names, None as soon as one is missing."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def timestamp(moment: datetime) -> str:
    """metav1.Time: RFC 3339 in UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_timestamp(text: str) -> datetime:
    """Parse a metav1.Time or MicroTime."""
    return datetime.fromisoformat(text)


def find_condition(obj: Mapping[str, Any], kind: str) -> Object | None:
    """Find the entry of `status.conditions` with that type."""
    conditions = dig(obj, "status", "conditions") or []
    return next((condition for condition in conditions if condition.get("type") == kind), None)

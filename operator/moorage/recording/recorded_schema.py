"""The checksum over all recorded classes. Two versions of moorage with equal checksums read each other's recordings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args, get_type_hints
from zlib import crc32

from msgspec import Struct

from moorage.engine.engine_state import EngineState
from moorage.engine.messages import Message
from moorage.framework.profile import Profile, ProfileSpec
from moorage.recording.object_records import KINDS, PodRecord
from moorage.recording.outcome_records import OUTCOME_FORMAT

_ROOTS = (EngineState, Message, ProfileSpec, PodRecord, *KINDS.values())


@cache
def schema_of() -> str:
    """Return the checksum. It changes if a recorded class gets other fields, or fields of other types."""
    seen: dict[type, str] = {}
    for root in _ROOTS:
        _visit(root, seen)
    text = "\n".join([OUTCOME_FORMAT, *sorted(seen.values())])
    return f"{crc32(text.encode()):08x}"


def _visit(kind: Any, seen: dict[type, str]) -> None:
    """Add the classes of which values of a type consist. A profile is recorded as its specification."""
    for part in get_args(kind):
        _visit(part, seen)
    if not isinstance(kind, type) or kind in seen or kind is Profile:
        return
    fields = dict(_fields(kind))
    if fields:
        seen[kind] = f"{kind.__name__}: {fields}"
        for each in fields.values():
            _visit(each, seen)


def _fields(kind: type) -> Iterator[tuple[str, Any]]:
    if issubclass(kind, Struct) or dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        names = kind.__struct_fields__ if issubclass(kind, Struct) else [each.name for each in dataclasses.fields(kind)]
        yield from ((name, hints[name]) for name in names)

"""A decoder for the few small kinds that kubectl sends as Kubernetes protobuf.

`kubectl create namespace`, `drain`, `auth can-i` and a few others use typed clients, which always encode requests in
protobuf. These commands accept JSON responses. The field numbers are those of the `generated.proto` files in k8s.io/api
and k8s.io/apimachinery.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from moorage.sandbox.objects import Object

MAGIC = b"k8s\x00"
"""The first bytes of every body in Kubernetes' protobuf envelope."""


@dataclass(frozen=True, slots=True)
class MessageField:
    """The JSON name and type of one field of a message. `message` describes the fields of a nested message."""

    name: str
    kind: str = "string"
    message: "Message | None" = None
    repeated: bool = False


Message: TypeAlias = Mapping[int, MessageField]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_INT64_SIGN = 1 << 63

_ENTRY: Message = {1: MessageField("key"), 2: MessageField("value")}
_META: Message = {
    1: MessageField("name"),
    2: MessageField("generateName"),
    3: MessageField("namespace"),
    5: MessageField("uid"),
    6: MessageField("resourceVersion"),
    11: MessageField("labels", "map"),
    12: MessageField("annotations", "map"),
    14: MessageField("finalizers", repeated=True),
}
_METADATA = MessageField("metadata", "message", _META)
_PRECONDITIONS: Message = {1: MessageField("uid"), 2: MessageField("resourceVersion")}
_DELETE_OPTIONS: Message = {
    1: MessageField("gracePeriodSeconds", "int"),
    2: MessageField("preconditions", "message", _PRECONDITIONS),
    3: MessageField("orphanDependents", "bool"),
    4: MessageField("propagationPolicy"),
    5: MessageField("dryRun", repeated=True),
}
_RESOURCE_ATTRIBUTES: Message = {
    1: MessageField("namespace"),
    2: MessageField("verb"),
    3: MessageField("group"),
    4: MessageField("version"),
    5: MessageField("resource"),
    6: MessageField("subresource"),
    7: MessageField("name"),
}
_ACCESS: Message = {
    1: MessageField("resourceAttributes", "message", _RESOURCE_ATTRIBUTES),
    2: MessageField("nonResourceAttributes", "message", {1: MessageField("path"), 2: MessageField("verb")}),
}
_KINDS: Mapping[str, Message] = {
    "Namespace": {1: _METADATA},
    "ServiceAccount": {1: _METADATA},
    "ConfigMap": {1: _METADATA, 2: MessageField("data", "map"), 4: MessageField("immutable", "bool")},
    "PriorityClass": {
        1: _METADATA,
        2: MessageField("value", "int"),
        3: MessageField("globalDefault", "bool"),
        4: MessageField("description"),
        5: MessageField("preemptionPolicy"),
    },
    "Eviction": {1: _METADATA, 2: MessageField("deleteOptions", "message", _DELETE_OPTIONS)},
    "DeleteOptions": _DELETE_OPTIONS,
    "SelfSubjectAccessReview": {1: _METADATA, 2: MessageField("spec", "message", _ACCESS)},
}
_TYPE_META: Message = {1: MessageField("apiVersion"), 2: MessageField("kind")}
_UNKNOWN: Message = {1: MessageField("typeMeta", "message", _TYPE_META), 2: MessageField("raw", "bytes")}


class UnknownMessageError(Exception):
    """An error for a message of an unknown kind. Its text is the kind."""


def decode(body: bytes) -> Object:
    """Return the object in a protobuf envelope. Raises UnknownMessageError, and ValueError for a damaged message."""
    if not body.startswith(MAGIC):
        raise ValueError("the body is not in Kubernetes' protobuf envelope")
    envelope = _decode(body[len(MAGIC) :], _UNKNOWN)
    found: Object = envelope.get("typeMeta") or {}
    fields = _KINDS.get(found.get("kind", ""))
    if fields is None:
        raise UnknownMessageError(found.get("kind", ""))
    return found | _decode(envelope.get("raw", b""), fields)


def _decode(data: bytes, fields: Message) -> Object:
    result: Object = {}
    for number, value in _values(data):
        field = fields.get(number)
        if field is None:
            continue
        read = _read(value, field)
        if field.kind == "map":
            result.setdefault(field.name, {})[read.get("key", "")] = read.get("value", "")
        elif field.repeated:
            result.setdefault(field.name, []).append(read)
        elif read != "":  # Go's protobuf encoder writes empty strings; JSON omits them
            result[field.name] = read
    return result


def _read(value: Any, field: MessageField) -> Any:
    if isinstance(value, int) is not (field.kind in {"int", "bool"}):
        raise ValueError("the protobuf message is damaged")
    if field.kind == "int":
        return value - 2 * _INT64_SIGN if value >= _INT64_SIGN else value
    if field.kind == "bool":
        return bool(value)
    if field.kind == "map":
        return _decode(value, _ENTRY)
    if field.message is not None:
        return _decode(value, field.message)
    return value if field.kind == "bytes" else value.decode()


def _values(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the number and raw value of each field of a message."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        length = {_FIXED64: 8, _FIXED32: 4}.get(wire)
        if wire == _BYTES:
            length, position = _varint(data, position)
        if length is None or position + length > len(data):
            raise ValueError("the protobuf message is damaged")
        yield number, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the continuation bit
            return value, position
        shift += 7
    raise ValueError("the protobuf message is damaged")

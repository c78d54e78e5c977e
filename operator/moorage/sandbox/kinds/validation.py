"""Validation of values against a schema, with kube-apiserver's paths and wording."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from moorage.sandbox.api_status import FieldError
from moorage.sandbox.kinds.schemas import Schema
from moorage.sandbox.objects import encode

_CHECKS: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and int(value) == value,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}
_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer"}
"""The type names of most values. This lookup is fast; `_CHECKS` finds all other types."""


def validate(value: Any, schema: Schema, path: str = "") -> Iterator[FieldError]:
    """Yield every error of a value. If the value has a wrong type, yield only that error."""
    if value is None and (schema.node.get("nullable") or not schema.types):
        return
    if schema.types and not _fits(value, schema):
        yield _wrong_type_error(value, schema, path)
        return
    yield from _validate_enum(value, schema, path)
    if isinstance(value, dict):
        yield from _validate_object(value, schema, path)
    elif isinstance(value, list):
        yield from _validate_list(value, schema, path)
    elif isinstance(value, str):
        yield from _validate_string(value, schema, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _validate_number(value, schema, path)
    yield from _validate_combined(value, schema, path)


def missing_fields(value: Any, schema: Schema, path: str = "") -> Iterator[FieldError]:
    """Yield an error for each absent required field at every level."""
    if isinstance(value, dict):
        for name in schema.node.get("required") or ():
            if name not in value:
                yield FieldError(_join(path, name), "FieldValueRequired")
        for name, item in value.items():
            child = schema.field(name)
            if child is not None:
                yield from missing_fields(item, child, _join(path, name))
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            yield from missing_fields(item, schema.items, f"{path}[{index}]")


def type_error(value: Any, schema: Schema, path: str = "") -> FieldError | None:
    """Return an error for the first value of a wrong type, or None. Go cannot decode such a value. Null is allowed."""
    found = _find_wrong_value(value, schema)
    if found is None:
        return None
    steps = "".join(reversed(found.steps))
    return _wrong_type_error(found.value, found.schema, f"{path}{steps}" if path else steps.lstrip("."))


@dataclass(slots=True)
class _WrongValue:
    """A value of a wrong type. `steps` is the path to the value, with the innermost step first."""

    value: Any
    schema: Schema
    steps: list[str]


def _find_wrong_value(value: Any, schema: Schema) -> _WrongValue | None:
    if value is None:
        return None
    if schema.types and not _fits(value, schema):
        return _WrongValue(value, schema, [])
    if type(value) is dict:
        for name, item in value.items():
            child = schema.field(name)
            found = None if child is None else _find_wrong_value(item, child)
            if found is not None:
                found.steps.append(f".{name}")
                return found
    elif type(value) is list and schema.items is not None:
        for index, item in enumerate(value):
            found = _find_wrong_value(item, schema.items)
            if found is not None:
                found.steps.append(f"[{index}]")
                return found
    return None


def _fits(value: Any, schema: Schema) -> bool:
    return _NAMES.get(type(value)) in schema.types or any(_CHECKS[name](value) for name in schema.types)


def _wrong_type_error(value: Any, schema: Schema, path: str) -> FieldError:
    wanted = ",".join(sorted(schema.types)) if len(schema.types) > 1 else next(iter(schema.types))
    detail = f'{path or "<nil>"} in body must be of type {wanted}: "{_type_name(value)}"'
    return FieldError(path or "<nil>", "FieldValueTypeInvalid", _type_name(value), detail)


def _type_name(value: Any) -> str:
    return "null" if value is None else next(name for name, check in _CHECKS.items() if check(value))


def _validate_enum(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    allowed = schema.node.get("enum")
    if allowed is not None and value not in allowed:
        texts = [item if isinstance(item, str) else encode(item).decode() for item in allowed]
        quoted = ", ".join(encode(text).decode() for text in texts)
        yield FieldError(path, "FieldValueNotSupported", value, f"supported values: {quoted}")


def _validate_object(value: dict[str, Any], schema: Schema, path: str) -> Iterator[FieldError]:
    for name in schema.node.get("required") or ():
        if name not in value:
            yield FieldError(_join(path, name), "FieldValueRequired")
    limit, least = schema.node.get("maxProperties"), schema.node.get("minProperties")
    if limit is not None and len(value) > limit:
        yield _too_many(path, len(value), limit)
    if least is not None and len(value) < least:
        yield _invalid(path, value, f"should have at least {least} properties")
    for name, item in value.items():
        child = schema.field(name)
        if child is not None:
            yield from validate(item, child, _join(path, name))


def _validate_list(value: list[Any], schema: Schema, path: str) -> Iterator[FieldError]:
    limit, least = schema.node.get("maxItems"), schema.node.get("minItems")
    if limit is not None and len(value) > limit:
        yield _too_many(path, len(value), limit)
    if least is not None and len(value) < least:
        yield _invalid(path, len(value), f"should have at least {least} items")
    if schema.items is not None:
        for index, item in enumerate(value):
            yield from validate(item, schema.items, f"{path}[{index}]")
    yield from _validate_uniqueness(value, schema, path)


def _validate_uniqueness(value: list[Any], schema: Schema, path: str) -> Iterator[FieldError]:
    if schema.list_type == "atomic":
        return
    seen: set[bytes] = set()
    for index, item in enumerate(value):
        identity = item
        if schema.list_type == "map" and isinstance(item, dict):
            identity = {key: item.get(key) for key in schema.list_keys}
        encoded = encode(identity)
        if encoded in seen:
            yield FieldError(f"{path}[{index}]", "FieldValueDuplicate", identity)
        seen.add(encoded)


def _validate_string(value: str, schema: Schema, path: str) -> Iterator[FieldError]:
    node = schema.node
    if "maxLength" in node and len(value) > node["maxLength"]:
        limit = node["maxLength"]
        yield FieldError(path, "FieldValueTooLong", value, f"may not be more than {limit} {_plural('byte', limit)}")
    if "minLength" in node and len(value) < node["minLength"]:
        yield _invalid(path, value, f"should be at least {node['minLength']} chars long")
    if "pattern" in node and not _pattern(node["pattern"]).search(value):
        yield _invalid(path, value, f"should match '{node['pattern']}'")
    if node.get("format") == "date-time" and not _DATE_TIME.fullmatch(value):
        yield _invalid(path, value, f'must be of type date-time: "{value}"')


_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text.removesuffix("$") + r"\Z" if text.endswith("$") and not text.endswith(r"\$") else text)


def _validate_number(value: float, schema: Schema, path: str) -> Iterator[FieldError]:
    node = schema.node
    if "minimum" in node:
        exclusive = node.get("exclusiveMinimum") is True
        if value < node["minimum"] or (exclusive and value == node["minimum"]):
            words = "greater than" if exclusive else "greater than or equal to"
            yield _invalid(path, value, f"should be {words} {node['minimum']}")
    if "maximum" in node:
        exclusive = node.get("exclusiveMaximum") is True
        if value > node["maximum"] or (exclusive and value == node["maximum"]):
            words = "less than" if exclusive else "less than or equal to"
            yield _invalid(path, value, f"should be {words} {node['maximum']}")
    if node.get("multipleOf") and value % node["multipleOf"]:
        yield _invalid(path, value, f"should be a multiple of {node['multipleOf']}")


def _validate_combined(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    if "oneOf" in schema.node and schema.types:
        return
    for node in schema.node.get("allOf") or ():
        yield from validate(value, Schema(node, {}), path)
    options = schema.node.get("anyOf")
    if options and all(_has_errors(value, node, path) for node in options):
        yield FieldError(path, "FieldValueInvalid", "", f'"{path}" must validate at least one schema (anyOf)')
        yield from chain.from_iterable(validate(value, Schema(node, {}), path) for node in options[-1:])
    alternatives = schema.node.get("oneOf")
    if alternatives and sum(not _has_errors(value, node, path) for node in alternatives) != 1:
        yield FieldError(path, "FieldValueInvalid", "", f'"{path}" must validate one and only one schema (oneOf)')
    denied = schema.node.get("not")
    if denied and not _has_errors(value, denied, path):
        yield FieldError(path, "FieldValueInvalid", "", f'"{path}" must not validate the schema (not)')


def _has_errors(value: Any, node: dict[str, Any], path: str) -> bool:
    return any(True for _ in validate(value, Schema(node, {}), path))


def _invalid(path: str, value: Any, rule: str) -> FieldError:
    return FieldError(path, "FieldValueInvalid", value, f"{path} in body {rule}")


def _too_many(path: str, actual: int, limit: int) -> FieldError:
    return FieldError(path, "FieldValueTooMany", actual, f"must have at most {limit} {_plural('item', limit)}")


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name

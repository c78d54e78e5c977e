"""Decoding of request bodies to objects in the stored version, with field validation."""

from typing import Any

from moorage.sandbox.api_status import bad_request
from moorage.sandbox.kinds.conversion import to_stored
from moorage.sandbox.kinds.quantities import canonical
from moorage.sandbox.kinds.resource_types import ResourceType
from moorage.sandbox.kinds.schemas import Schema, Schemas
from moorage.sandbox.kinds.structural import prune
from moorage.sandbox.kinds.validation import type_error
from moorage.sandbox.objects import Object, copy, metadata
from moorage.sandbox.operations.request_options import WriteOptions
from moorage.sandbox.operations.targets import Target

_ZERO_VALUES = {"object": {}, "array": [], "string": "", "integer": 0, "number": 0, "boolean": False}


def decode_body(schemas: Schemas, target: Target, body: Any, options: WriteOptions) -> Object:
    """Return the object of a request body, in the stored version. Raises a 400.

    Prunes unknown fields. `options.field_validation` says whether they also cause an error or a warning. The result
    shares no data with the body.
    """
    resource = target.resource
    obj = _with_type(resource, check_is_object(body))
    obj = _decode(schemas, resource, obj, options)
    obj["metadata"] = {name: value for name, value in metadata(obj).items() if value is not None}
    if resource.namespaced and target.namespace:
        _check_same_namespace(target, obj)
        obj["metadata"]["namespace"] = target.namespace
    return to_stored(resource, obj)


def check_is_object(body: Any) -> Object:
    """Return the body if it and its metadata are JSON objects. Raises a 400."""
    if not isinstance(body, dict) or not isinstance(body.get("metadata", {}), dict | None):
        raise bad_request("the body is not an API object")
    return body


def check_types(body: Any, schema: Schema | None, failure: str) -> None:
    """Raise a 400 if the body has a value of a wrong type. The message starts with `failure`."""
    wrong = None if schema is None else type_error(body, schema)
    if wrong is not None:
        raise bad_request(f"{failure}: {wrong.field}: {wrong.detail}")


def _with_type(resource: ResourceType, body: Object) -> Object:
    """Return the body with apiVersion and kind. Clients may omit both for built-in kinds."""
    if resource.custom is not None and not (body.get("apiVersion") and body.get("kind")):
        missing = "apiVersion" if body.get("kind") else "Kind"
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): Object '{missing}' is missing"
        )
    obj: Object = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
    if (obj["apiVersion"], obj["kind"]) != (resource.api_version, resource.kind):
        raise bad_request(
            f"{obj['kind']} in version {obj['apiVersion']!r} does not match the endpoint's "
            f"{resource.kind} in version {resource.api_version!r}"
        )
    return obj


def _decode(schemas: Schemas, resource: ResourceType, body: Object, options: WriteOptions) -> Object:
    custom = resource.custom
    schema = custom.schema if custom else schemas.builtin(resource.group, resource.version, resource.kind)
    assert schema is not None
    failure = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
    check_types(body if custom is None else {"metadata": body.get("metadata")}, schema, failure)
    unknown: list[str] = []
    pruned = prune(body, schema, unknown)
    if unknown and options.field_validation == "Strict":
        texts = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise bad_request(f"{failure}: strict decoding error: {texts}")
    if unknown and options.field_validation == "Warn":
        options.warnings.extend(f'unknown field "{path}"' for path in unknown)
    try:
        result: Object = copy(pruned) if custom else _as_go_decodes(pruned, schema)
    except ValueError as error:
        raise bad_request(f"{failure}: {error}") from error
    return result


def _as_go_decodes(value: Any, schema: Schema | None) -> Any:
    """Return a copy with canonical quantities and without nulls, as Go decodes a built-in kind.

    A field with the value null becomes absent. A null in a list or map becomes the zero value of the item type.
    """
    if isinstance(value, dict):
        return {
            name: _as_go_decodes(item, schema.field(name) if schema else None)
            for name, item in value.items()
            if item is not None or not (schema and name in schema.properties)
        }
    if isinstance(value, list):
        items = schema.items if schema else None
        return [_as_go_decodes(item, items) for item in value]
    if value is None and schema is not None and len(schema.types) == 1:
        return copy(_ZERO_VALUES[next(iter(schema.types))])
    if schema is not None and schema.is_quantity:
        return canonical(value)
    return value


def _check_same_namespace(target: Target, obj: Object) -> None:
    named = obj["metadata"].get("namespace") or target.namespace
    if named != target.namespace:
        raise bad_request(
            f"the namespace of the provided object does not match the namespace sent on the request "
            f"({named} != {target.namespace})"
        )

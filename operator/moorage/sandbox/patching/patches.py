"""JSON merge patches (RFC 7386) and JSON patches (RFC 6902)."""

from typing import Any

from moorage.sandbox.objects import Object, copy
from moorage.sandbox.status import ApiError, FieldError, bad_request, invalid

MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
_MISSING = object()


def merge(target: Any, patch: Any) -> Any:
    """Build the value that a merge patch makes of another; neither is changed."""
    if not isinstance(patch, dict):
        return copy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


def json_patch(target: Object, operations: Any) -> Object:
    """Build what a list of operations makes of an object; raises a 400 or, when one does not apply, a 422."""
    if not isinstance(operations, list):
        raise bad_request("a JSON patch is a list of operations")
    document: Any = copy(target)
    for operation in operations:
        document = _apply(document, operation)
    if not isinstance(document, dict):
        raise bad_request("a JSON patch has to leave an object")
    return document


def _apply(document: Any, operation: Any) -> Any:
    try:
        return _operate(document, operation, _pointer(operation["path"]))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise _refused(f"{operation}: {error}") from error


def _operate(document: Any, operation: Object, path: list[str]) -> Any:
    match operation["op"]:
        case "add":
            return _add(document, path, copy(operation["value"]))
        case "remove":
            return _remove(document, path)
        case "replace":
            return _add(_remove(document, path) if path else None, path, copy(operation["value"]))
        case "move":
            source = _pointer(operation["from"])
            value = _get(document, source)
            return _add(_remove(document, source), path, value)
        case "copy":
            return _add(document, path, copy(_get(document, _pointer(operation["from"]))))
        case "test":
            if _get(document, path, _MISSING) != operation.get("value"):
                raise _refused(f"testing value {operation['path']} failed")
            return document
        case unknown:
            raise bad_request(f"unknown operation {unknown!r} in a JSON patch")


def _pointer(text: str) -> list[str]:
    if text and not text.startswith("/"):
        raise bad_request(f"{text!r} is not a JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _get(document: Any, path: list[str], default: Any = None) -> Any:
    for part in path:
        try:
            document = document[int(part)] if isinstance(document, list) else document[part]
        except (KeyError, IndexError):
            if default is _MISSING:
                return default
            raise
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, last = _get(document, path[:-1]), path[-1]
    if isinstance(parent, list):
        index = len(parent) if last == "-" else int(last)
        if not 0 <= index <= len(parent):
            raise IndexError(last)
        parent.insert(index, value)
    else:
        parent[last] = value
    return document


def _remove(document: Any, path: list[str]) -> Any:
    parent, last = _get(document, path[:-1]), path[-1]
    if isinstance(parent, list):
        del parent[int(last)]
    else:
        del parent[last]
    return document


def _refused(why: str) -> ApiError:
    return invalid("", "", "", [FieldError("patch", "FieldValueInvalid", "", why)])

"""JSON patches (RFC 6902). The library jsonpatch applies them. The errors are those of kube-apiserver."""

from http import HTTPStatus
from typing import Any

import jsonpatch

from moorage.sandbox.api_status import StatusError, bad_request
from moorage.sandbox.objects import Object

_REJECTED = "the server rejected our request due to an error in our request"
_OPERATIONS = frozenset({"add", "remove", "replace", "move", "copy", "test"})


def json_patch(target: Object, operations: Any) -> Object:
    """Return a copy of `target` after a list of operations.

    Raises a 400 for a malformed list, and a 422 for an operation that fails, such as a `test`.
    """
    _check_operations(operations)
    try:
        result = jsonpatch.apply_patch(target, operations)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise StatusError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", _REJECTED) from error
    if not isinstance(result, dict):
        raise bad_request("the JSON patch replaces the object with a value that is not an object")
    return result


def _check_operations(operations: Any) -> None:
    if not isinstance(operations, list) or not all(isinstance(operation, dict) for operation in operations):
        raise bad_request("a JSON patch must be a list of operations")
    for operation in operations:
        if operation.get("op") not in _OPERATIONS:
            raise bad_request(f"a JSON patch has the unknown operation {operation.get('op')!r}")
        for name in ("path", "from"):
            if not isinstance(operation.get(name, ""), str):
                raise bad_request(f"a JSON patch has an operation whose {name!r} is not a string")

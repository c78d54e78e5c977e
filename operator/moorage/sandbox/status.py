"""Failures as metav1.Status, with kube-apiserver's codes, reasons and wording."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from moorage.sandbox.objects import Object, encode

_FIELD_REASON_TEXTS = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueTypeInvalid": "Invalid value",
    "FieldValueRequired": "Required value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueNotFound": "Not found",
}
OMITTED = object()
"""The value of a fault that is printed without one."""

_REASONS_WITHOUT_VALUE = {"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong"}


class ApiError(Exception):
    """A request that fails; carries the Status the client gets."""

    def __init__(self, code: int, reason: str, message: str, details: Object | None = None) -> None:
        """Build from the HTTP code, metav1's StatusReason, a sentence, and StatusDetails."""
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def to_status(self) -> Object:
        """Make the metav1.Status."""
        status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        status |= {"message": self.message, "reason": self.reason}
        if self.details:
            status["details"] = self.details
        return status | {"code": self.code}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of one field, as apimachinery's field.Error prints it."""

    field: str
    reason: str
    value: Any = None
    detail: str = ""

    def body(self) -> str:
        """Everything after the field's path."""
        text = _FIELD_REASON_TEXTS[self.reason]
        if self.reason not in _REASONS_WITHOUT_VALUE and self.value is not OMITTED:
            text += f": {encode(self.value).decode()}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        """Print path and fault."""
        return f"{self.field}: {self.body()}"


def success(details: Object | None = None) -> Object:
    """Make the Status of a request that has nothing else to answer."""
    status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return status | {"details": details} if details else status


def qualified(resource: str, group: str) -> str:
    """`pods`, `schedulingpolicies.scheduling.moorage.dev`."""
    return f"{resource}.{group}" if group else resource


def not_found(resource: str, group: str, name: str) -> ApiError:
    """No object has that name."""
    message = f'{qualified(resource, group)} "{name}" not found'
    return ApiError(HTTPStatus.NOT_FOUND, "NotFound", message, _details(name, group, resource))


def no_such_resource() -> ApiError:
    """No resource is served under that path."""
    return ApiError(HTTPStatus.NOT_FOUND, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: str, group: str, name: str) -> ApiError:
    """Say that the name is taken."""
    message = f'{qualified(resource, group)} "{name}" already exists'
    return ApiError(HTTPStatus.CONFLICT, "AlreadyExists", message, _details(name, group, resource))


def conflict(resource: str, group: str, name: str, why: str) -> ApiError:
    """Say that the object is not in the state the request counts on."""
    message = f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {why}'
    return ApiError(HTTPStatus.CONFLICT, "Conflict", message, _details(name, group, resource))


def stale(resource: str, group: str, name: str) -> ApiError:
    """Say that the request names an old resourceVersion."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, group, name, why)


def invalid(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    """Say that the object breaks rules of its kind, naming every fault."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    causes = [{"reason": error.reason, "message": error.body(), "field": error.field} for error in errors]
    details = _details(name, group, kind) | {"causes": causes}
    message = f'{qualified(kind, group)} "{name}" is invalid: {text}'
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, details)


def bad_request(message: str) -> ApiError:
    """Say that the request makes no sense."""
    return ApiError(HTTPStatus.BAD_REQUEST, "BadRequest", message)


def forbidden(resource: str, group: str, name: str, why: str) -> ApiError:
    """Say that the request is understood and refused."""
    message = f'{qualified(resource, group)} "{name}" is forbidden: {why}'
    return ApiError(HTTPStatus.FORBIDDEN, "Forbidden", message, _details(name, group, resource))


def unauthorized() -> ApiError:
    """Say that the token is unknown."""
    return ApiError(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")


def method_not_allowed(method: str) -> ApiError:
    """Say that the resource has no such verb."""
    message = "the server does not allow this method on the requested resource"
    return ApiError(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", message, {"causes": [{"message": method}]})


def unsupported_media_type(accepted: Sequence[str], why: str = "") -> ApiError:
    """Say that the body is of a kind that the resource does not take, or `why` not."""
    message = (
        why or f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    )
    return ApiError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)


def expired(message: str) -> ApiError:
    """Say that the history that the request needs is compacted: list again."""
    return ApiError(HTTPStatus.GONE, "Expired", message)


def too_many_requests(message: str, retry_after_seconds: int) -> ApiError:
    """Come back later."""
    details = {"retryAfterSeconds": retry_after_seconds} if retry_after_seconds else {}
    return ApiError(HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests", message, details)


def _details(name: str, group: str, kind: str) -> Object:
    details = {"name": name, "group": group, "kind": kind}
    return {field: value for field, value in details.items() if value}

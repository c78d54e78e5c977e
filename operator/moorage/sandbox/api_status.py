"""API errors, and their form as metav1.Status, with kube-apiserver's codes, reasons and wording.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go and pkg/util/validation/field/errors.go.
"""

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
"""A FieldError with this value has no value in its message."""

_REASONS_WITHOUT_VALUE = {"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong"}
_REASONS: dict[int, str] = {
    HTTPStatus.BAD_REQUEST: "BadRequest",
    HTTPStatus.UNAUTHORIZED: "Unauthorized",
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.NOT_FOUND: "NotFound",
    HTTPStatus.CONFLICT: "Conflict",
    HTTPStatus.GONE: "Expired",
    HTTPStatus.TOO_MANY_REQUESTS: "TooManyRequests",
    HTTPStatus.SERVICE_UNAVAILABLE: "ServiceUnavailable",
    HTTPStatus.GATEWAY_TIMEOUT: "Timeout",
}
"""The usual reason of each HTTP code. All other codes get InternalError."""


class StatusError(Exception):
    """An error that ends a request. It has the fields of the Status that the client gets."""

    def __init__(self, code: int, reason: str, message: str, details: Object | None = None) -> None:
        """Take the HTTP code, metav1's StatusReason, a message, and metav1's StatusDetails."""
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def to_status(self) -> Object:
        """Return the metav1.Status."""
        status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        status |= {"message": self.message, "reason": self.reason}
        if self.details:
            status["details"] = self.details
        return status | {"code": self.code}


@dataclass(frozen=True, slots=True)
class FieldError:
    """An error in one field. Its text has the format of apimachinery's field.Error."""

    field: str
    reason: str
    value: Any = None
    detail: str = ""

    def body(self) -> str:
        """Return the message without the field's path."""
        text = _FIELD_REASON_TEXTS[self.reason]
        if self.reason not in _REASONS_WITHOUT_VALUE and self.value is not OMITTED:
            text += f": {encode(self.value).decode()}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        """Return the message with the field's path."""
        return f"{self.field}: {self.body()}"


def success(details: Object | None = None) -> Object:
    """Return the Status of a successful request that returns no object."""
    status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return status | {"details": details} if details else status


def failure(code: int, message: str, *, reason: str = "", retry_after_seconds: int = 0) -> StatusError:
    """Return an error. If `reason` is empty, the error gets the usual reason of its code."""
    details = {"retryAfterSeconds": retry_after_seconds} if retry_after_seconds else {}
    return StatusError(code, reason or _REASONS.get(code, "InternalError"), message, details)


def qualified(resource: str, group: str) -> str:
    """Return the resource with its group, such as `pods` or `schedulingpolicies.scheduling.moorage.dev`."""
    return f"{resource}.{group}" if group else resource


def not_found(resource: str, group: str, name: str) -> StatusError:
    """Return the error for an absent object."""
    message = f'{qualified(resource, group)} "{name}" not found'
    return StatusError(HTTPStatus.NOT_FOUND, "NotFound", message, _details(name, group, resource))


def no_such_resource() -> StatusError:
    """Return the error for a path that the server does not serve."""
    return failure(HTTPStatus.NOT_FOUND, "the server could not find the requested resource")


def already_exists(resource: str, group: str, name: str) -> StatusError:
    """Return the error for creating an object whose name is in use."""
    message = f'{qualified(resource, group)} "{name}" already exists'
    return StatusError(HTTPStatus.CONFLICT, "AlreadyExists", message, _details(name, group, resource))


def conflict(resource: str, group: str, name: str, why: str) -> StatusError:
    """Return the error for a request that the object's state does not allow."""
    message = f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {why}'
    return StatusError(HTTPStatus.CONFLICT, "Conflict", message, _details(name, group, resource))


def stale(resource: str, group: str, name: str) -> StatusError:
    """Return the error for an update with an old resourceVersion."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, group, name, why)


def invalid(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> StatusError:
    """Return the error for an object that fails validation. Its message lists all field errors."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    causes = [{"reason": error.reason, "message": error.body(), "field": error.field} for error in errors]
    details = _details(name, group, kind) | {"causes": causes}
    message = f'{qualified(kind, group)} "{name}" is invalid: {text}'
    return StatusError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, details)


def bad_request(message: str) -> StatusError:
    """Return the error for a malformed request."""
    return failure(HTTPStatus.BAD_REQUEST, message)


def forbidden(resource: str, group: str, name: str, why: str) -> StatusError:
    """Return the error for a well-formed request that admission refuses."""
    message = f'{qualified(resource, group)} "{name}" is forbidden: {why}'
    return StatusError(HTTPStatus.FORBIDDEN, "Forbidden", message, _details(name, group, resource))


def unauthorized() -> StatusError:
    """Return the error for an unknown token."""
    return failure(HTTPStatus.UNAUTHORIZED, "Unauthorized")


def method_not_allowed(method: str) -> StatusError:
    """Return the error for a verb that the resource does not support."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", message, {"causes": [{"message": method}]})


def unsupported_media_type(accepted: Sequence[str], message: str = "") -> StatusError:
    """Return the error for a body in a media type that the resource does not accept."""
    standard = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return StatusError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message or standard)


def expired(message: str) -> StatusError:
    """Return the error for a revision that is no longer in the history. The client must list again."""
    return failure(HTTPStatus.GONE, message)


def too_many_requests(message: str, retry_after_seconds: int) -> StatusError:
    """Return the error for a request that the client should retry later."""
    return failure(HTTPStatus.TOO_MANY_REQUESTS, message, retry_after_seconds=retry_after_seconds)


def _details(name: str, group: str, kind: str) -> Object:
    details = {"name": name, "group": group, "kind": kind}
    return {field: value for field, value in details.items() if value}

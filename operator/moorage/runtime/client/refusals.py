"""Turns an answer with a status of 400 or above into its exception."""

from http import HTTPStatus

import msgspec

from moorage.errors import ApiError

SHOWN_CHARACTERS = 200
"""Number of characters shown of a body that is not a Status object, such as a load balancer's HTML."""

MESSAGE_CHARACTERS = 1024
"""Number of characters that are kept of a Status object's message. The API server's messages are longer only if they
list many invalid fields."""


class StatusDetails(msgspec.Struct, rename="camel"):
    """The `details` of a `metav1.Status`."""

    retry_after_seconds: float = 0.0


class StatusBody(msgspec.Struct):
    """A `metav1.Status`."""

    reason: str = ""
    message: str = ""
    code: int = 0
    details: StatusDetails | None = None


_DECODER = msgspec.json.Decoder(StatusBody)


def refusal(status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """Return the exception for an answer; `retry_after` is the header Retry-After, in seconds."""
    try:
        read = _DECODER.decode(body)
    except msgspec.DecodeError:
        read = StatusBody(message=body[:SHOWN_CHARACTERS].decode("utf-8", "replace").strip())
    seconds = float(retry_after) if retry_after and retry_after.isdigit() else None
    if seconds is None and read.details and read.details.retry_after_seconds:
        seconds = read.details.retry_after_seconds
    message = read.message[:MESSAGE_CHARACTERS] or "the API server gave no message"
    code = status or read.code
    if code == HTTPStatus.UNPROCESSABLE_ENTITY and "metadata.uid" in message:
        # A patch has no preconditions. The API server treats another uid in a patch as a change of the object's uid.
        code = HTTPStatus.CONFLICT
    return ApiError.of(code, read.reason, message, seconds)

"""From an answer of 400 and above to the exception that stands for it."""

from http import HTTPStatus

import msgspec

from moorage.errors import ApiError

SHOWN_CHARACTERS = 200
"""How much of a body is shown that is no Status object, such as a load balancer's HTML."""


class Details(msgspec.Struct, rename="camel"):
    """`Status.details`, as far as it is read."""

    retry_after_seconds: float = 0.0


class StatusBody(msgspec.Struct):
    """A `metav1.Status`."""

    reason: str = ""
    message: str = ""
    code: int = 0
    details: Details | None = None


_DECODER = msgspec.json.Decoder(StatusBody)


def refusal(status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """Build the exception for an answer; `retry_after` is the header, in seconds."""
    try:
        read = _DECODER.decode(body)
    except msgspec.DecodeError:
        read = StatusBody(message=body[:SHOWN_CHARACTERS].decode("utf-8", "replace").strip())
    seconds = float(retry_after) if retry_after and retry_after.isdigit() else None
    if seconds is None and read.details and read.details.retry_after_seconds:
        seconds = read.details.retry_after_seconds
    message = read.message or "the API server gave no message"
    code = status or read.code
    if code == HTTPStatus.UNPROCESSABLE_ENTITY and "metadata.uid" in message:
        # A patch knows no preconditions: one that names a uid tries, to the API server, to change the other object's.
        code = HTTPStatus.CONFLICT
    return ApiError.of(code, read.reason, message, seconds)

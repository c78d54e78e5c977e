"""JSON responses and error responses."""

from http import HTTPStatus

from aiohttp import web

from moorage.sandbox.api_status import StatusError
from moorage.sandbox.objects import encode


def json_response(body: bytes, code: int = HTTPStatus.OK) -> web.Response:
    """Return a response whose body is the given JSON."""
    return web.Response(body=body, status=code, content_type="application/json")


def error_response(error: StatusError) -> web.Response:
    """Return the response that carries an error's metav1.Status."""
    response = json_response(encode(error.to_status()), error.code)
    seconds = (error.details or {}).get("retryAfterSeconds")
    if seconds:
        response.headers["Retry-After"] = str(seconds)
    return response

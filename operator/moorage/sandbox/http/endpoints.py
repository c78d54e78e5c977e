"""The one HTTP handler: authentication, faults, discovery, then resources."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from http import HTTPStatus

from aiohttp import web

from moorage.sandbox.faults import Action, Delay, End, Expire, Fail, Faults, Garbage, Reset
from moorage.sandbox.http.about import General
from moorage.sandbox.http.handlers import Handlers, json_response
from moorage.sandbox.http.request_info import RequestInfo, parse
from moorage.sandbox.http.tables import Tables
from moorage.sandbox.http.watches import Watch, WatchOptions, error_line
from moorage.sandbox.objects import encode
from moorage.sandbox.status import ApiError, expired, unauthorized
from moorage.sandbox.storage.lists import Form
from moorage.sandbox.storage.registry import Registry

_REASONS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "Unauthorized",
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.NOT_FOUND: "NotFound",
    HTTPStatus.CONFLICT: "Conflict",
    HTTPStatus.GONE: "Expired",
    HTTPStatus.TOO_MANY_REQUESTS: "TooManyRequests",
    HTTPStatus.SERVICE_UNAVAILABLE: "ServiceUnavailable",
    HTTPStatus.GATEWAY_TIMEOUT: "Timeout",
}


class Endpoints:
    """Answers all requests; `record` is told of each with its status, 0 for a dropped connection."""

    def __init__(
        self, registry: Registry, faults: Faults, token: str, record: Callable[[web.Request, int], None]
    ) -> None:
        """Serve a registry."""
        self._registry = registry
        self._faults = faults
        self._token = token
        self._record = record
        self._tables = Tables(registry.now)
        self._handlers = Handlers(registry, self._tables, token)
        self._general = General(registry)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        try:
            response = await self._answer(request)
        except ApiError as error:
            response = _failure(error)
        except web.HTTPRequestEntityTooLarge as error:
            message = "Request entity too large: limit is 3145728"
            response = _failure(ApiError(error.status, "RequestEntityTooLarge", message))
        if not response.prepared and not isinstance(response, _Dropped):
            self._record(request, response.status)
        return response

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self._authenticate(request)
        general = self._general.answer(request)
        if general is not None:
            return general
        info = parse(request.method, request.path, request.query, self._registry.resources)
        actions = list(self._faults.take(info.verb, request.path_qs))
        struck = await self._strike(actions, info, request)
        if struck is not None:
            return struck
        if info.verb == "watch":
            return await self._watch(info, request, actions)
        response = await self._handlers.handle(info, request)
        if Reset(handled=True) in actions:
            return self._drop(request)
        return response

    def _authenticate(self, request: web.Request) -> None:
        """Refuse a wrong token. None at all is accepted: kubectl sends no credentials over plain HTTP."""
        given = request.headers.get("Authorization")
        if given is not None and given != f"Bearer {self._token}":
            raise unauthorized()

    async def _strike(
        self, actions: list[Action], info: RequestInfo, request: web.Request
    ) -> web.StreamResponse | None:
        for action in actions:
            match action:
                case Delay(seconds):
                    await asyncio.sleep(seconds)
                case Fail():
                    return _failed(action)
                case Garbage(body, content_type):
                    return web.Response(body=body, content_type=content_type)
                case Expire() if info.verb != "watch":
                    raise expired("The provided continue parameter is too old to display a consistent list result.")
                case Reset(handled=False):
                    return self._drop(request)
        return None

    async def _watch(self, info: RequestInfo, request: web.Request, actions: list[Action]) -> web.StreamResponse:
        form = Form.of(request.headers.get("Accept", ""), request.query)
        options = WatchOptions.of(info.target, request.query)
        watch = Watch(self._registry, self._tables, self._faults, info.target, form, options, request.path_qs)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        self._record(request, response.status)
        if Expire() in actions:
            await response.write(error_line(expired("too old resource version: injected fault").to_status()))
            return response
        if Reset(handled=True) in actions:
            return self._drop(request)
        ends = [action for action in actions if isinstance(action, End)]
        seconds = min((end.after_seconds for end in ends), default=None)
        try:
            async with asyncio.timeout(seconds), aclosing(watch.lines()) as lines:
                async for batch in lines:
                    await response.write(batch)
        except TimeoutError:  # an injected end; a clean one is like that of a watch whose time is over
            if any(end.midline for end in ends):
                await response.write(b'{"type":"MODIFIED","obj')
                return self._drop(request)
        except ConnectionResetError:
            return response  # the client has gone
        await response.write_eof()
        return response

    def _drop(self, request: web.Request) -> web.Response:
        """Abort the connection; what is returned never reaches the client."""
        if request.transport is not None:
            request.transport.abort()
        self._record(request, 0)
        return _Dropped()


class _Dropped(web.Response):
    """Stands for the answer that a dropped connection never gets."""


def _failure(error: ApiError) -> web.Response:
    response = json_response(encode(error.to_status()), error.code)
    seconds = (error.details or {}).get("retryAfterSeconds")
    if seconds:
        response.headers["Retry-After"] = str(seconds)
    return response


def _failed(action: Fail) -> web.Response:
    details = {"retryAfterSeconds": action.retry_after_seconds} if action.retry_after_seconds else None
    reason = action.reason or _REASONS.get(action.code, "InternalError")
    return _failure(ApiError(action.code, reason, action.message, details))

"""The steps of every request: authentication, injected faults, and the call of the handler."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from functools import partial

from aiohttp import web

from moorage.sandbox.api_status import StatusError, expired, failure, unauthorized
from moorage.sandbox.http.nonresource_handlers import NonResourceHandlers
from moorage.sandbox.http.request_info import RequestInfo, parse_request
from moorage.sandbox.http.resource_handlers import ResourceHandlers
from moorage.sandbox.http.response_format import ResponseEncoder
from moorage.sandbox.http.responses import error_response
from moorage.sandbox.http.watches import Watch, WatchOptions, error_line
from moorage.sandbox.injected_faults import Delay, End, Expire, Fail, FaultAction, Garbage, InjectedFaults, Reset
from moorage.sandbox.operations.object_registry import ObjectRegistry


class HandlerChain:
    """The handler of all requests. It calls `record` with each request and its status; 0 means a dropped connection."""

    def __init__(
        self, registry: ObjectRegistry, faults: InjectedFaults, token: str, record: Callable[[web.Request, int], None]
    ) -> None:
        """Serve the objects of `registry` to clients that send `token` or no credentials."""
        self._registry = registry
        self._faults = faults
        self._token = token
        self._record = record
        self._encoder = ResponseEncoder(registry.now)
        self._resource_handlers = ResourceHandlers(registry, self._encoder, token)
        self._nonresource_handlers = NonResourceHandlers(registry)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        try:
            response = await self._answer(request)
        except StatusError as error:
            response = error_response(error)
        except web.HTTPRequestEntityTooLarge as error:
            message = "Request entity too large: limit is 3145728"
            response = error_response(failure(error.status, message, reason="RequestEntityTooLarge"))
        if not response.prepared and not isinstance(response, _Dropped):
            self._record(request, response.status)
        return response

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self._authenticate(request)
        response: web.StreamResponse | None = self._nonresource_handlers.handle(request)
        if response is not None:
            return response
        info = parse_request(request.method, request.path, request.query, self._registry.resources)
        actions = list(self._faults.take(info.verb, request.path_qs))
        response = await self._apply_faults(actions, info, request)
        if response is not None:
            return response
        if info.verb == "watch":
            return await self._watch(info, request, actions)
        response = await self._resource_handlers.handle(info, request)
        if Reset(handled=True) in actions:
            return self._drop(request)
        return response

    def _authenticate(self, request: web.Request) -> None:
        """Raise a 401 for a wrong token. Accepts a missing token, because kubectl sends none over plain HTTP."""
        given = request.headers.get("Authorization")
        if given is not None and given != f"Bearer {self._token}":
            raise unauthorized()

    async def _apply_faults(
        self, actions: list[FaultAction], info: RequestInfo, request: web.Request
    ) -> web.StreamResponse | None:
        """Apply the faults that act before the request is handled. Return the response of a fault, or None."""
        for action in actions:
            match action:
                case Delay(seconds):
                    await asyncio.sleep(seconds)
                case Fail(code, reason, message, retry_after_seconds):
                    raise failure(code, message, reason=reason, retry_after_seconds=retry_after_seconds)
                case Garbage(body, content_type):
                    return web.Response(body=body, content_type=content_type)
                case Expire() if info.verb != "watch":
                    raise expired("The provided continue parameter is too old to display a consistent list result.")
                case Reset(handled=False):
                    return self._drop(request)
        return None

    async def _watch(self, info: RequestInfo, request: web.Request, actions: list[FaultAction]) -> web.StreamResponse:
        options = WatchOptions.of(info.target, request.headers.get("Accept", ""), request.query)
        stall = partial(self._faults.stall, request.path_qs)
        watch = Watch(self._registry.store, self._encoder, info.target, options, stall)
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
        except TimeoutError:  # an injected End: without `midline`, the client sees the normal end of a watch
            if any(end.midline for end in ends):
                await response.write(b'{"type":"MODIFIED","obj')
                return self._drop(request)
        except ConnectionResetError:
            return response  # the client has closed the connection
        await response.write_eof()
        return response

    def _drop(self, request: web.Request) -> web.Response:
        """Abort the connection. The returned response never reaches the client."""
        if request.transport is not None:
            request.transport.abort()
        self._record(request, 0)
        return _Dropped()


class _Dropped(web.Response):
    """The response to a request whose connection is aborted."""

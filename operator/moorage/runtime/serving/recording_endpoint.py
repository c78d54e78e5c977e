"""`/debug/recording`: says whether the engine is recorded (GET), starts a recording (POST), and stops it (DELETE).

The operator's flag --record names the directory; a caller cannot choose another one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

PATH = "/debug/recording"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSwitch:
    """The functions that the endpoint calls."""

    describe: Callable[[], Mapping[str, Any]]
    start: Callable[[], str]
    """Starts recording; returns the reason if that is not possible, otherwise an empty text."""
    stop: Callable[[], Awaitable[None]]


class RecordingEndpoint:
    """The handlers."""

    def __init__(self, switch: RecordingSwitch) -> None:
        """Use the switch of the process."""
        self._switch = switch

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the state of the recording."""
        del request
        return self._state()

    async def start(self, request: web.Request) -> web.Response:
        """Start recording, and answer with the state."""
        refuse_browsers(request)
        if fault := self._switch.start():
            return web.Response(status=web.HTTPConflict.status_code, text=f"{fault}\n")
        return self._state()

    async def stop(self, request: web.Request) -> web.Response:
        """Stop recording, and answer with the state."""
        refuse_browsers(request)
        await self._switch.stop()
        return self._state()

    def _state(self) -> web.Response:
        return web.json_response(self._switch.describe())


def refuse_browsers(request: web.Request) -> None:
    """Raise HTTPForbidden for a request from a web page. On plain HTTP, this is the only check."""
    if "Origin" in request.headers:
        raise web.HTTPForbidden(text="requests of web pages are refused\n")

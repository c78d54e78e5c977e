"""The endpoint `/statusz`: version, start and paths of the process, as text or JSON.

Upstream: apiserver/pkg/server/statusz/statusz.go. The Python version replaces the Go version.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiohttp import web

import moorage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.runtime.clock import Clock

EMULATED = "1.36"
"""The version of Kubernetes whose kube-scheduler moorage follows."""
KIND = "Statusz"
API_VERSION = "config.k8s.io/v1beta1"
ACCEPTED = {"g": "config.k8s.io", "v": "v1beta1", "as": KIND}
WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for debugging purposes only."
)


@dataclass(frozen=True, slots=True)
class Statusz:
    """The status of the process since `started_at`, in seconds since the epoch."""

    clock: Clock
    started_at: float
    paths: Sequence[str]

    async def answer(self, request: web.Request) -> web.Response:
        """Answer with text, or with JSON if the caller accepts `config.k8s.io/v1beta1` as JSON."""
        if _accepts_object(request.headers.get("Accept", "")):
            return web.json_response(self._as_object())
        return web.Response(text=self._as_text())

    def _as_object(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "apiVersion": API_VERSION,
            "metadata": {"name": "moorage"},
            "startTime": datetime.fromtimestamp(self.started_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "uptimeSeconds": self._uptime_seconds(),
            "pythonVersion": platform.python_version(),
            "binaryVersion": moorage.__version__,
            "emulationVersion": EMULATED,
            "paths": [*self.paths],
        }

    def _as_text(self) -> str:
        started = datetime.fromtimestamp(self.started_at, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
        minutes, seconds = divmod(self._uptime_seconds(), 60)
        hours, minutes = divmod(minutes, 60)
        lines = (
            "",
            "moorage statusz",
            WARNING,
            "",
            f"Started: {started}",
            f"Up: {hours} hr {minutes:02d} min {seconds:02d} sec",
            f"Python version: {platform.python_version()}",
            f"Binary version: {moorage.__version__}",
            f"Emulation version: {EMULATED}",
            f"Paths: {' '.join(self.paths)}",
        )
        return "\n".join(lines) + "\n"

    def _uptime_seconds(self) -> int:
        return max(0, int(self.clock.time() - self.started_at))


def _accepts_object(accept: str) -> bool:
    """Return whether a media type of an Accept header is JSON with this kind and version."""
    for media in accept.split(","):
        name, *parameters = (part.strip() for part in media.split(";"))
        found = dict(parameter.partition("=")[::2] for parameter in parameters)
        if name == "application/json" and ACCEPTED.items() <= found.items():
            return True
    return False

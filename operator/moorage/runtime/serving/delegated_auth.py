"""Who may read what is served: the API server is asked, as kube-scheduler asks it.

token --TokenReview--> user --SubjectAccessReview (nonResourceURL, get)--> served | 403
no token, or a wrong one: 401. Answers are kept for a few seconds, so that scrapes cost little.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web

from moorage.errors import ApiError, ApiUnreachable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from aiohttp.typedefs import Handler, Middleware

    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.clock import Clock

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
CACHE_SECONDS = 10.0
"""As kube-scheduler's `--authentication-token-webhook-cache-ttl` and the like."""
CACHE_SIZE = 1000
BEARER = "Bearer "


@dataclass(frozen=True, slots=True)
class _Answer:
    """A response's status and text that was decided for one caller and path."""

    status: int
    text: str
    until: float


class DelegatedAuth:
    """aiohttp middleware that lets everybody see `open_paths`, and authorized callers the rest."""

    def __init__(self, client: KubeClient, clock: Clock, open_paths: Collection[str]) -> None:
        """`client` must not be fenced: a standby answers too."""
        self._client = client
        self._clock = clock
        self._open_paths = open_paths
        self._answers: dict[tuple[str, str], _Answer] = {}

    @property
    def middleware(self) -> Middleware:
        """What `web.Application(middlewares=...)` takes."""

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.path not in self._open_paths:
                answer = await self._decide(request.headers.get("Authorization", ""), request.path)
                if answer.status != web.HTTPOk.status_code:
                    return web.Response(status=answer.status, text=answer.text)
            return await handler(request)

        return check

    async def _decide(self, header: str, path: str) -> _Answer:
        if not header.startswith(BEARER):
            return _Answer(web.HTTPUnauthorized.status_code, "Unauthorized: send a bearer token\n", 0.0)
        key = (hashlib.sha256(header.encode()).hexdigest(), path)
        now = self._clock.monotonic()
        answer = self._answers.get(key)
        if answer is None or answer.until <= now:
            if len(self._answers) >= CACHE_SIZE:
                self._answers.clear()
            answer = self._answers[key] = await self._ask(header.removeprefix(BEARER), path, now + CACHE_SECONDS)
        return answer

    async def _ask(self, token: str, path: str, until: float) -> _Answer:
        try:
            user = await self._user_of(token)
            if user is None:
                return _Answer(web.HTTPUnauthorized.status_code, "Unauthorized: the token is not valid\n", until)
            if await self._may_get(user, path):
                return _Answer(web.HTTPOk.status_code, "", until)
        except (ApiError, ApiUnreachable) as error:
            return _Answer(web.HTTPInternalServerError.status_code, f"the API server cannot be asked: {error}\n", 0.0)
        message = f'Forbidden: user "{user.get("username", "")}" cannot get path "{path}"\n'
        return _Answer(web.HTTPForbidden.status_code, message, until)

    async def _user_of(self, token: str) -> Mapping[str, Any] | None:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = await self._review(TOKEN_REVIEWS, review)
        user: Mapping[str, Any] | None = status.get("user") if status.get("authenticated") else None
        return user

    async def _may_get(self, user: Mapping[str, Any], path: str) -> bool:
        spec = {
            "user": user.get("username", ""),
            "uid": user.get("uid", ""),
            "groups": user.get("groups", []),
            "extra": user.get("extra", {}),
            "nonResourceAttributes": {"path": path, "verb": "get"},
        }
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        return bool((await self._review(ACCESS_REVIEWS, review)).get("allowed"))

    async def _review(self, path: str, review: Mapping[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = msgspec.json.decode(await self._client.create(path, msgspec.json.encode(review)))
        return answer.get("status") or {}

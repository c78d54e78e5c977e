"""Authentication and authorization of callers: the API server decides, as for kube-scheduler's endpoints.

token --TokenReview--> user --SubjectAccessReview (nonResourceURL, get)--> served | 403
no token, or a wrong one: 401. Decisions are kept for a few seconds, so that scrapes cost little.
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
"""kube-scheduler's `--authentication-token-webhook-cache-ttl` and its counterparts."""
CACHE_SIZE = 1000
BEARER = "Bearer "


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """The decision about one caller and path: a response's status and text."""

    status: int
    text: str
    until: float
    """The end of its validity, on the monotonic clock."""


class DelegatedAuth:
    """aiohttp middleware that serves `open_paths` to all callers and other paths to authorized ones."""

    def __init__(self, client: KubeClient, clock: Clock, open_paths: Collection[str]) -> None:
        """Send reviews through `client`, which must not be fenced: a standby answers too."""
        self._client = client
        self._clock = clock
        self._open_paths = open_paths
        self._decisions: dict[tuple[str, str], AccessDecision] = {}

    @property
    def middleware(self) -> Middleware:
        """The middleware for `web.Application(middlewares=...)`."""

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.path not in self._open_paths:
                decision = await self._decide(request.headers.get("Authorization", ""), request.path)
                if decision.status != web.HTTPOk.status_code:
                    return web.Response(status=decision.status, text=decision.text)
            return await handler(request)

        return check

    async def _decide(self, header: str, path: str) -> AccessDecision:
        if not header.startswith(BEARER):
            return AccessDecision(web.HTTPUnauthorized.status_code, "Unauthorized: send a bearer token\n", 0.0)
        key = (hashlib.sha256(header.encode()).hexdigest(), path)
        now = self._clock.monotonic()
        decision = self._decisions.get(key)
        if decision is None or decision.until <= now:
            if len(self._decisions) >= CACHE_SIZE:
                self._decisions.clear()
            decision = await self._review_access(header.removeprefix(BEARER), path, now + CACHE_SECONDS)
            self._decisions[key] = decision
        return decision

    async def _review_access(self, token: str, path: str, until: float) -> AccessDecision:
        try:
            user = await self._user_of(token)
            if user is None:
                return AccessDecision(web.HTTPUnauthorized.status_code, "Unauthorized: the token is not valid\n", until)
            if await self._may_get(user, path):
                return AccessDecision(web.HTTPOk.status_code, "", until)
        except (ApiError, ApiUnreachable) as error:
            text = f"the API server cannot review the request; try again: {error}\n"
            return AccessDecision(web.HTTPInternalServerError.status_code, text, 0.0)
        text = f'Forbidden: user "{user.get("username", "")}" cannot get path "{path}"\n'
        return AccessDecision(web.HTTPForbidden.status_code, text, until)

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

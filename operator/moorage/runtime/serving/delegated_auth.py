"""Authentication and authorization of callers. The API server decides, as for kube-scheduler's endpoints.

token --TokenReview--> user --SubjectAccessReview (nonResourceURL, method)--> served | 403
no token, or a wrong one: 401

For a path in `POD_PATHS`, the caller needs the right to get the pod in the query, not the right to get the path.
Decisions are kept for a few seconds, so that scrapes cost little. Anyone can send wrong tokens, so the number of
reviews is limited. Callers that were accepted before do not wait for reviews of new callers.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web

from moorage.errors import ApiError, ApiUnreachable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from aiohttp.typedefs import Handler, Middleware

    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.clock import Clock
    from moorage.runtime.metrics.serving_metrics import ServingMetrics

logger = logging.getLogger(__name__)

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
POD_PATHS = frozenset({"/why"})
"""The paths whose answers are about the pod in the query (`namespace` and `pod`)."""
MAX_NAMESPACES = 20
TOO_MANY = 429
CACHE_SECONDS = 10.0
"""The defaults of kube-scheduler's `--authentication-token-webhook-cache-ttl` and
`--authorization-webhook-cache-*-ttl`."""
BEARER = "Bearer "


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLimits:
    """Limits on reviews, which any client in the network can cause."""

    reviews: int = 4
    """The number of simultaneous reviews of new callers. Callers that were accepted before have another limit of this
    size."""
    waiting: int = 64
    """The number of new callers whose review is running or queued. Further new callers are refused."""
    decisions: int = 1000
    """The number of refusals that are kept, and of acceptances that are kept. The least recently used are dropped
    first."""


DEFAULT_LIMITS = ReviewLimits()


@dataclass(frozen=True, slots=True)
class AccessQuestion:
    """The right that a caller needs: to use a path of the process or, if there is a namespace, to get pods."""

    path: str = ""
    verb: str = "get"
    """The method of the request to the path, in lower case."""
    namespace: str = ""
    pod: str = ""
    """The name of the pod; empty for all pods of the namespace."""

    @property
    def attributes(self) -> dict[str, Any]:
        """The part of a SubjectAccessReview's spec that names the right."""
        if not self.namespace:
            return {"nonResourceAttributes": {"path": self.path, "verb": self.verb}}
        attributes = {"verb": "get", "resource": "pods", "namespace": self.namespace, "name": self.pod}
        return {"resourceAttributes": attributes}

    def __str__(self) -> str:
        """Return the right in words."""
        if not self.namespace:
            return f'{self.verb} path "{self.path}"'
        return f'get pod "{self.namespace}/{self.pod}"' if self.pod else f'get pods in namespace "{self.namespace}"'


_Request = tuple[bytes, AccessQuestion]
"""The hash of an Authorization header, and the right that the caller needs."""


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """The decision about one caller and path: a response's status and text."""

    status: int
    text: str
    until: float
    """The decision is valid until this time on the monotonic clock."""


class DecisionCache:
    """The last decisions, by caller and path."""

    def __init__(self, size: int) -> None:
        """Keep at most `size` decisions."""
        self._size = size
        self._decisions: OrderedDict[_Request, AccessDecision] = OrderedDict()

    def find(self, request: _Request) -> AccessDecision | None:
        """Return the decision about a request. The decision may have expired."""
        decision = self._decisions.get(request)
        if decision is not None:
            self._decisions.move_to_end(request)
        return decision

    def keep(self, request: _Request, decision: AccessDecision) -> None:
        """Keep a decision, and drop the least recently used if there are too many."""
        self._decisions[request] = decision
        self._decisions.move_to_end(request)
        if len(self._decisions) > self._size:
            self._decisions.popitem(last=False)

    def forget(self, request: _Request) -> None:
        """Drop a decision."""
        self._decisions.pop(request, None)


class DelegatedAuth:
    """aiohttp middleware that serves `open_paths` to all callers, and other paths only to authorized callers."""

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        open_paths: Collection[str],
        metrics: ServingMetrics,
        limits: ReviewLimits = DEFAULT_LIMITS,
    ) -> None:
        """Send reviews through `client`, which must be able to write on a standby replica.

        A standby replica has callers too.
        """
        self._client = client
        self._clock = clock
        self._open_paths = open_paths
        self._metrics = metrics
        self._limits = limits
        self._accepted = DecisionCache(limits.decisions)
        self._refused = DecisionCache(limits.decisions)
        self._reviews_of_accepted = asyncio.Semaphore(limits.reviews)
        self._reviews_of_new_callers = asyncio.Semaphore(limits.reviews)
        self._waiting = 0
        self._has_logged_limit = False

    @property
    def middleware(self) -> Middleware:
        """The middleware for `web.Application(middlewares=...)`."""

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.path not in self._open_paths:
                question = _question_of(request)
                decision = await self._decide(request.headers.get("Authorization", ""), question)
                if decision.status != web.HTTPOk.status_code:
                    return web.Response(status=decision.status, text=decision.text)
            return await handler(request)

        return check

    async def readable_namespaces(self, header: str, namespaces: Iterable[str]) -> set[str]:
        """Return the namespaces in which the caller may get pods. Ask about at most MAX_NAMESPACES namespaces."""
        readable: set[str] = set()
        for namespace in sorted(namespaces)[:MAX_NAMESPACES]:
            decision = await self._decide(header, AccessQuestion(namespace=namespace))
            if decision.status == web.HTTPOk.status_code:
                readable.add(namespace)
        return readable

    async def _decide(self, header: str, question: AccessQuestion) -> AccessDecision:
        if not header.startswith(BEARER):
            return AccessDecision(web.HTTPUnauthorized.status_code, "Unauthorized: send a bearer token\n", 0.0)
        request = hashlib.sha256(header.encode()).digest(), question
        decision = self._kept(request)
        if decision is not None:
            return decision
        if self._accepted.find(request) is not None:
            async with self._reviews_of_accepted:
                return self._kept(request) or await self._review_and_keep(request, header)
        if self._waiting >= self._limits.waiting:
            return self._refuse_for_limit()
        self._waiting += 1
        try:
            async with self._reviews_of_new_callers:
                return self._kept(request) or await self._review_and_keep(request, header)
        finally:
            self._waiting -= 1

    def _kept(self, request: _Request) -> AccessDecision | None:
        """Return the decision about a request if it is still valid."""
        decision = self._accepted.find(request) or self._refused.find(request)
        return decision if decision and decision.until > self._clock.monotonic() else None

    async def _review_and_keep(self, request: _Request, header: str) -> AccessDecision:
        until = self._clock.monotonic() + CACHE_SECONDS
        decision = await self._review_access(header.removeprefix(BEARER), request[1], until)
        if decision.status == web.HTTPOk.status_code:
            self._refused.forget(request)
            self._accepted.keep(request, decision)
        elif decision.until:
            self._accepted.forget(request)
            self._refused.keep(request, decision)
        return decision

    def _refuse_for_limit(self) -> AccessDecision:
        self._metrics.observe_refused("reviews")
        if not self._has_logged_limit:
            self._has_logged_limit = True
            logger.warning(
                "%d callers of the HTTP endpoints wait for reviews of their tokens; further callers are refused and "
                "counted in moorage_serving_refused_total",
                self._limits.waiting,
            )
        return AccessDecision(TOO_MANY, "Too many tokens are being reviewed; try again\n", 0.0)

    async def _review_access(self, token: str, question: AccessQuestion, until: float) -> AccessDecision:
        try:
            user = await self._user_of(token)
            if user is None:
                return AccessDecision(web.HTTPUnauthorized.status_code, "Unauthorized: the token is not valid\n", until)
            if await self._may(user, question):
                return AccessDecision(web.HTTPOk.status_code, "", until)
        except (ApiError, ApiUnreachable) as error:
            text = f"the API server cannot review the request; try again: {error}\n"
            return AccessDecision(web.HTTPInternalServerError.status_code, text, 0.0)
        text = f'Forbidden: user "{user.get("username", "")}" cannot {question}\n'
        return AccessDecision(web.HTTPForbidden.status_code, text, until)

    async def _user_of(self, token: str) -> Mapping[str, Any] | None:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = await self._review(TOKEN_REVIEWS, review)
        user: Mapping[str, Any] | None = status.get("user") if status.get("authenticated") else None
        return user

    async def _may(self, user: Mapping[str, Any], question: AccessQuestion) -> bool:
        spec = {
            "user": user.get("username", ""),
            "uid": user.get("uid", ""),
            "groups": user.get("groups", []),
            "extra": user.get("extra", {}),
            **question.attributes,
        }
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        return bool((await self._review(ACCESS_REVIEWS, review)).get("allowed"))

    async def _review(self, path: str, review: Mapping[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = msgspec.json.decode(await self._client.create(path, msgspec.json.encode(review)))
        return answer.get("status") or {}


def _question_of(request: web.Request) -> AccessQuestion:
    """Return the right that a request needs. A request without the name of a pod needs the right to get the path."""
    namespace, pod = request.query.get("namespace", ""), request.query.get("pod", "")
    if request.path in POD_PATHS and namespace and pod:
        return AccessQuestion(namespace=namespace, pod=pod)
    verb = "get" if request.method == "HEAD" else request.method.lower()
    return AccessQuestion(request.path, verb)

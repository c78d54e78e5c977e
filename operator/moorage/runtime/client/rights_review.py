"""RightsReview: asks the API server whether this process has the rights that were refused.

Every authenticated user may create SelfSubjectAccessReviews (role system:basic-user). If a cluster forbids reviews, a
refused right counts as missing until FORGET_SECONDS pass without another refusal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from moorage.errors import MoorageError

if TYPE_CHECKING:
    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.client.missing_rights import MissingRights, RefusedObject, Right
    from moorage.runtime.clock import Clock

CONFIRM_SECONDS = 2.0
"""The wait before the first review: an API server that has just started refuses for about a second."""
REVIEW_SECONDS = 5.0
FORGET_SECONDS = 60.0
PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class _ReviewStatus(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _ReviewStatus


class RightsReview:
    """The reviews of refused rights."""

    def __init__(self, rights: MissingRights, client: KubeClient, clock: Clock) -> None:
        """Send reviews through `client`, which must send them even if this replica does not lead."""
        self._rights = rights
        self._client = client
        self._clock = clock
        self._unanswered_since: dict[Right, float] = {}

    async def run(self) -> None:
        """Review after each refusal, until cancelled."""
        while True:
            await self._rights.was_refused.wait()
            pause = CONFIRM_SECONDS
            while self._rights.refused:
                await self._clock.sleep(pause)
                await self._review_all()
                pause = REVIEW_SECONDS

    async def _review_all(self) -> None:
        is_repeated = self._rights.was_refused.is_set()
        self._rights.was_refused.clear()
        for right, about in list(self._rights.refused.items()):
            try:
                is_allowed = await self._ask(right, about)
            except (MoorageError, msgspec.MsgspecError):
                is_allowed = self._is_forgotten(right, is_repeated=is_repeated)
            else:
                self._unanswered_since.pop(right, None)
            if is_allowed:
                self._unanswered_since.pop(right, None)
                self._rights.remove(right)
            else:
                self._rights.confirm(right)

    async def _ask(self, right: Right, about: RefusedObject) -> bool:
        resource, _, subresource = right.resource.partition("/")
        attributes: dict[str, Any] = {
            "verb": right.verb,
            "group": right.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": about.namespace,
            "name": about.name,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        answer = await self._client.create(PATH, msgspec.json.encode(review))
        return msgspec.json.decode(answer, type=_Review).status.allowed

    def _is_forgotten(self, right: Right, *, is_repeated: bool) -> bool:
        """Return whether the last refusal is FORGET_SECONDS ago, so that a right without a review is forgotten."""
        now = self._clock.monotonic()
        since = now if is_repeated else self._unanswered_since.get(right, now)
        self._unanswered_since[right] = since
        return now - since >= FORGET_SECONDS

"""MissingRights: records refusals of the API server, and the RBAC rights that this process lacks.

    a refusal --CONFIRM_SECONDS, and a SelfSubjectAccessReview says no--> missing: log, readiness, policies' condition
        ^                                                                    |
        '----------- a review says yes, every REVIEW_SECONDS <---------------'

An API server that has just started refuses requests for a moment, and many refused requests are not repeated. So only a
review shows whether a right is missing. Admission plugins, quotas and terminating namespaces also cause refusals; these
refusals are not recorded. Refused lists and watches are not recorded either, because the informers report them.
"""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from moorage.errors import Forbidden
from moorage.runtime.api_resources import INFORMED
from moorage.runtime.client.refusals import refusal
from moorage.runtime.degradation import Degradation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.runtime.client.transport import Answer

logger = logging.getLogger(__name__)

REFUSAL = re.compile(
    r'(?:\S+ "(?P<name>[^"]*)" )?is forbidden: User "[^"]*" cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)"'
    r' in API group "(?P<group>[^"]*)"(?: in the namespace "(?P<namespace>[^"]*)")?'
)
"""The message with which any authorizer refuses (apiserver/pkg/endpoints/handlers/responsewriters/errors.go)."""
READ_BY_INFORMERS = {resource.plural for resource in INFORMED}
REVIEWS = "selfsubjectaccessreviews"
BINDING = "pods/binding"
REVIEW_GROUPS = {"authentication.k8s.io", "authorization.k8s.io"}
"""moorage needs rights in these groups to check the callers of /metrics. No policy depends on them."""


@dataclass(frozen=True, slots=True)
class Right:
    """A verb on a resource, as in an RBAC rule."""

    verb: str
    group: str
    resource: str
    """With the subresource, as in `pods/binding`."""

    @property
    def message(self) -> str:
        """A sentence with the rule to add."""
        rule = f'{{apiGroups: ["{self.group}"], resources: ["{self.resource}"], verbs: ["{self.verb}"]}}'
        return f"moorage may not {self.verb} {self.resource}: add the rule {rule} to its role"

    @property
    def subject(self) -> str:
        """The part of the API server's message that names the right."""
        return f'cannot {self.verb} resource "{self.resource}"'


@dataclass(frozen=True, slots=True)
class RefusedObject:
    """The object of the last refused request, for a review."""

    namespace: str
    name: str


class MissingRights:
    """The rights that were refused. A review confirms some of them as missing."""

    def __init__(self) -> None:
        """Start without refusals."""
        self.refused: dict[Right, RefusedObject] = {}
        self.was_refused = asyncio.Event()
        """Set at each refusal."""
        self._missing: set[Right] = set()

    def record(self, method: str, answer: Answer) -> None:
        """Record the answer to a request if the answer is an authorizer's refusal."""
        if answer.status != HTTPStatus.FORBIDDEN:
            return
        found = _parse(refusal(*answer).message)
        if found is None or found[0].resource == REVIEWS:
            return
        right, about = found
        if method == "GET" and right.resource in READ_BY_INFORMERS:
            return
        self.refused[right] = about
        self.was_refused.set()

    def confirm(self, right: Right) -> None:
        """Record that a refused right is missing. Log the right if it was not missing before."""
        if right not in self._missing:
            self._missing.add(right)
            logger.warning("%s", right.message)

    def remove(self, right: Right) -> None:
        """Record that the process now has a right that was refused."""
        self.refused.pop(right, None)
        if right in self._missing:
            self._missing.discard(right)
            logger.info("moorage may %s %s again", right.verb, right.resource)

    def fault(self) -> str:
        """Return the missing rights for readiness; empty if there are none."""
        return "; ".join(sorted(right.message for right in self._missing))

    def degradations(self) -> Sequence[Degradation]:
        """Return the missing rights for the condition of all policies. The right to bind pods comes first."""
        rights = sorted(self._missing, key=lambda right: (right.resource != BINDING, right.message))
        return [
            Degradation("Forbidden", right.message, right.subject, "False" if right.resource == BINDING else "True")
            for right in rights
            if right.group not in REVIEW_GROUPS
        ]


def is_missing_right(error: Exception) -> bool:
    """Return whether an error is an authorizer's refusal, which `MissingRights` logs."""
    return isinstance(error, Forbidden) and _parse(error.message) is not None


def _parse(message: str) -> tuple[Right, RefusedObject] | None:
    match = REFUSAL.search(message)
    if match is None:
        return None
    right = Right(match["verb"], match["group"], match["resource"])
    return right, RefusedObject(match["namespace"] or "", match["name"] or "")

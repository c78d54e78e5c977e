"""MissingRights and RightsReview: a refused write shows a missing right until a review allows it."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fakes import FakeApi, FakeClock, Sent, running
from moorage.errors import ApiError, Forbidden
from moorage.runtime.client.missing_rights import MissingRights, is_missing_right
from moorage.runtime.client.reachability import level_of
from moorage.runtime.client.rights_review import RightsReview
from moorage.runtime.client.transport import Answer

BINDING = (
    'pods "p" is forbidden: User "system:serviceaccount:m:moorage" cannot create resource "pods/binding" in API group '
    '"" in the namespace "default"'
)
VOLUMES = 'persistentvolumes "v" is forbidden: User "m" cannot patch resource "persistentvolumes" in API group ""'
RULE = 'add the rule {apiGroups: [""], resources: ["pods/binding"], verbs: ["create"]} to its role'


def refusal(message: str, status: int = 403) -> Answer:
    body = {"kind": "Status", "reason": "Forbidden", "message": message, "code": status}
    return Answer(status, json.dumps(body).encode(), None)


class Reviewing:
    """Rights under review, and the reviews' answer."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.allowed: bool | ApiError = False
        self.rights = MissingRights()
        self.reviews: list[Any] = []
        self.review = RightsReview(self.rights, FakeApi(self.answer, self.clock).client(), self.clock)

    def answer(self, sent: Sent) -> Any:
        self.reviews.append(sent.body["spec"]["resourceAttributes"])
        if isinstance(self.allowed, ApiError):
            raise self.allowed
        return {"status": {"allowed": self.allowed}}


@pytest.fixture
async def reviewing() -> AsyncIterator[Reviewing]:
    made = Reviewing()
    async with running(made.review):
        yield made


async def test_a_refused_write_shows_a_missing_right_until_a_review_allows_it(
    reviewing: Reviewing, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for _ in range(3):
        reviewing.rights.record("POST", refusal(BINDING))
        await reviewing.clock.advance(6)
    assert RULE in reviewing.rights.fault()
    (degradation,) = reviewing.rights.degradations()
    assert (degradation.reason, degradation.ready) == ("Forbidden", "False")
    assert RULE in degradation.message
    assert reviewing.reviews[0] == {
        "verb": "create",
        "group": "",
        "resource": "pods",
        "subresource": "binding",
        "namespace": "default",
        "name": "p",
    }
    reviewing.allowed = True
    await reviewing.clock.advance(6)
    assert (reviewing.rights.fault(), list(reviewing.rights.degradations())) == ("", [])
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "may create pods/binding again" in caplog.messages[1]


async def test_a_short_refusal_does_not_show_a_missing_right(
    reviewing: Reviewing, caplog: pytest.LogCaptureFixture
) -> None:
    reviewing.allowed = True
    reviewing.rights.record("POST", refusal(BINDING))
    assert reviewing.rights.fault() == ""
    await reviewing.clock.advance(3)
    assert (reviewing.rights.fault(), caplog.messages) == ("", [])


async def test_without_reviews_a_right_is_missing_while_requests_are_refused(reviewing: Reviewing) -> None:
    reviewing.allowed = Forbidden(403, "Forbidden", "no reviews")
    for _ in range(30):
        reviewing.rights.record("PATCH", refusal(VOLUMES))
        await reviewing.clock.advance(6)
    assert "patch persistentvolumes" in reviewing.rights.fault()
    assert [found.ready for found in reviewing.rights.degradations()] == ["True"]
    await reviewing.clock.advance(75)
    assert reviewing.rights.fault() == ""


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("POST", refusal('pods "p" is forbidden: exceeded quota: q')),
        ("POST", refusal('admission webhook "w" denied the request: cannot create resource "pods"')),
        ("POST", refusal(BINDING, status=409)),
        (
            "GET",
            refusal('pods is forbidden: User "m" cannot list resource "pods" in API group "" at the cluster scope'),
        ),
        ("POST", Answer(403, b"<html>", None)),
    ],
)
async def test_other_refusals_do_not_show_a_missing_right(reviewing: Reviewing, method: str, answer: Answer) -> None:
    reviewing.rights.record(method, answer)
    await reviewing.clock.advance(10)
    assert (reviewing.rights.fault(), reviewing.reviews) == ("", [])


def test_callers_log_a_missing_right_only_at_debug() -> None:
    missing, other = Forbidden(403, "Forbidden", BINDING), Forbidden(403, "Forbidden", "denied by policy")
    assert (is_missing_right(missing), level_of(missing)) == (True, logging.DEBUG)
    assert (is_missing_right(other), level_of(other)) == (False, logging.WARNING)

"""Requests that are answered and not stored: who is this, and may they? On a sandbox everybody may."""

from typing import Any

from moorage.sandbox.objects import Object, dig
from moorage.sandbox.status import bad_request

USER = "sandbox-admin"


def answer(kind: str, body: Any, token: str) -> Object:
    """Fill in a review's status; `token` is the one that the server accepts."""
    if not isinstance(body, dict):
        raise bad_request(f"the body is no {kind}")
    if kind != "TokenReview":
        return body | {"status": {"allowed": True, "reason": "the sandbox allows everything"}}
    if dig(body, "spec", "token") != token:
        return body | {"status": {"authenticated": False, "user": {}}}
    user = {"username": USER, "groups": ["system:masters", "system:authenticated"]}
    return body | {"status": {"authenticated": True, "user": user}}

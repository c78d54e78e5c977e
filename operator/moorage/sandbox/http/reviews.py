"""Access and token reviews, which the server answers but does not store. The sandbox allows everything."""

from moorage.sandbox.objects import Object, dig

USER = "sandbox-admin"


def answer(kind: str, review: Object, token: str) -> Object:
    """Return the review with its status. A TokenReview authenticates only `token`, which is the server's token."""
    if kind != "TokenReview":
        return review | {"status": {"allowed": True, "reason": "the sandbox allows everything"}}
    if dig(review, "spec", "token") != token:
        return review | {"status": {"authenticated": False, "user": {}}}
    user = {"username": USER, "groups": ["system:masters", "system:authenticated"]}
    return review | {"status": {"authenticated": True, "user": user}}

import json

import pytest

from moorage.errors import ApiError, Conflict, Forbidden, Gone, NotFound, TooManyRequests, Unauthorized
from moorage.runtime.client.refusals import refusal


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, Unauthorized), (403, Forbidden), (404, NotFound), (409, Conflict), (410, Gone), (500, ApiError)],
)
def test_the_status_selects_the_exception(status: int, kind: type[ApiError]) -> None:
    error = refusal(status, b'{"kind":"Status","reason":"Why","message":"because"}')
    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (status, "Why", "because")


def test_a_patch_with_the_uid_of_an_older_object_is_a_conflict() -> None:
    body = b'{"reason":"Invalid","message":"Pod \\"p\\" is invalid: metadata.uid: Invalid value: field is immutable"}'
    assert isinstance(refusal(422, body), Conflict)
    assert not isinstance(refusal(422, b'{"message":"spec.x: wrong"}'), Conflict)


def test_the_status_of_an_error_event_is_in_its_body() -> None:
    assert isinstance(refusal(0, b'{"code":410,"reason":"Expired","message":"too old"}'), Gone)


def test_retry_after_is_read_from_the_header_or_else_from_the_details() -> None:
    body = b'{"details":{"retryAfterSeconds":3}}'
    first, second, third = refusal(429, body, "7"), refusal(429, body), refusal(429, b"{}")
    assert isinstance(first, TooManyRequests)
    assert isinstance(second, TooManyRequests)
    assert isinstance(third, TooManyRequests)
    assert [first.retry_after_seconds, second.retry_after_seconds, third.retry_after_seconds] == [7, 3, None]


def test_a_body_that_is_not_a_status_is_shown_shortened() -> None:
    error = refusal(502, b"<html>" + b"x" * 10_000)
    assert error.message.startswith("<html>xxx")
    assert len(error.message) < 300


def test_a_message_from_outside_is_one_short_printable_line() -> None:
    hostile = "no\n\x1b[31mINFO forged " + "x" * (16 << 20)
    error = refusal(422, json.dumps({"reason": "Invalid\n", "message": hostile}).encode())
    assert str(error).isprintable()
    assert str(error).startswith("no INFO forged xxx")
    assert str(error).endswith(" ... (422 Invalid )")
    assert len(str(error)) <= 1024


def test_a_body_that_is_not_utf_8_is_shown_with_replacements() -> None:
    assert "\ufffdno\ufffd" in str(refusal(500, b"\xffno\xfe"))

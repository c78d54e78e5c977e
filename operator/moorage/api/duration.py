"""Durations in Go's format (`1m30s`, `500ms`). Upstream: time.ParseDuration, without signs."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

DURATION_PATTERN = r"^(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)$"
"""Matches the durations that time.ParseDuration accepts. The API server checks the pattern too."""
DURATION_LENGTH = 32
"""The maximum number of characters of a duration. No real duration is longer."""

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9.]+)(ns|us|µs|ms|s|m|h)")


def parse_duration(text: str) -> float:
    """Return a duration in seconds. Raise ValueError if the text is not a duration."""
    if not re.fullmatch(DURATION_PATTERN, text):
        raise ValueError(f"{text!r} is not a duration; write it as in 500ms, 15s or 1m30s")
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))


def _check(text: str) -> str:
    parse_duration(text)
    return text


GoDuration = Annotated[
    str, AfterValidator(_check), Field(max_length=DURATION_LENGTH, json_schema_extra={"pattern": DURATION_PATTERN})
]
"""A duration as text. `parse_duration` returns its seconds."""

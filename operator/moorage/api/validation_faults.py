"""Converts pydantic's errors to faults for users, with the location of the field and a message."""

import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from moorage.api.base import RULE_ERROR
from moorage.errors import Fault

_EXPECTED = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
}
_FIXED_MESSAGES = {"extra_forbidden": "is not a known field", "missing": "is required"}
_PYDANTIC_OPENING = re.compile(r"^\w+ should ")
_SHOWN_LENGTH = 60
"""The maximum length of a value in a message. Longer values are cut."""


def faults_of(error: ValidationError) -> tuple[Fault, ...]:
    """Return one fault for each error, without line numbers."""
    return tuple(Fault(details["loc"], None, message_of(details)) for details in error.errors())


def message_of(details: ErrorDetails) -> str:
    """Return the message of an error. It starts with a verb, because it follows the path of the field."""
    kind = details["type"]
    if kind == RULE_ERROR:
        return details["msg"]
    if kind in _FIXED_MESSAGES:
        return _FIXED_MESSAGES[kind]
    if kind == "literal_error":
        return f"must be one of {details['ctx']['expected']}{_actual(details['input'])}"
    if kind in _EXPECTED:
        return f"must be {_EXPECTED[kind]}{_actual(details['input'])}"
    if kind == "value_error":
        return details["msg"].removeprefix("Value error, ")
    return _PYDANTIC_OPENING.sub("must ", details["msg"]) + _actual(details["input"])


def _actual(value: Any) -> str:
    """Return the last part of a message, which shows the actual value."""
    if isinstance(value, str):
        shown = value if len(value) <= _SHOWN_LENGTH else value[:_SHOWN_LENGTH] + "..."
        return f", not the text {shown!r}"
    if isinstance(value, bool):
        return f", not {str(value).lower()}"
    if isinstance(value, int | float):
        return f", not {value}"
    if value is None:
        return ", not null"
    return ", not a list" if isinstance(value, Sequence) else ", not a mapping"

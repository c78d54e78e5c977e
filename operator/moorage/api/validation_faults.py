"""From pydantic's errors to faults a user can act on: the field's path as kubectl prints it, and a sentence."""

import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from moorage.api.base import RULE_ERROR
from moorage.errors import Fault

_WANTED = {
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
_SAID = {"extra_forbidden": "is no known field", "missing": "is required"}
_PYDANTIC_OPENING = re.compile(r"^\w+ should ")
_SHOWN_LENGTH = 60
"""Longer values are cut in messages."""


def faults_of(error: ValidationError) -> tuple[Fault, ...]:
    """Return one fault for each error, without lines."""
    return tuple(Fault(details["loc"], None, message_of(details)) for details in error.errors())


def message_of(details: ErrorDetails) -> str:
    """Say what is wrong with the value, beginning with a verb, so that it reads on from the path."""
    kind = details["type"]
    if kind == RULE_ERROR:
        return details["msg"]
    if kind in _SAID:
        return _SAID[kind]
    if kind == "literal_error":
        return f"must be one of {details['ctx']['expected']}{_not(details['input'])}"
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}{_not(details['input'])}"
    if kind == "value_error":
        return details["msg"].removeprefix("Value error, ")
    return _PYDANTIC_OPENING.sub("must ", details["msg"]) + _not(details["input"])


def _not(value: Any) -> str:
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

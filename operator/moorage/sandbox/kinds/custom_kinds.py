"""The schema, CEL rules and printer columns of one served version of a custom kind.

`custom_resources.py` builds them from a CustomResourceDefinition. Built-in kinds have none of these.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from moorage.sandbox.api_status import FieldError
from moorage.sandbox.kinds.cel import CelRules
from moorage.sandbox.kinds.schemas import Schema
from moorage.sandbox.kinds.structural import apply_defaults
from moorage.sandbox.kinds.validation import validate
from moorage.sandbox.objects import Object

_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
"""Reasons of schema errors that keep the CEL rules from running."""

_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


@dataclass(frozen=True, slots=True)
class CustomKind:
    """One served version of a custom kind."""

    schema: Schema
    rules: CelRules
    list_kind: str
    printer_columns: tuple[Mapping[str, Any], ...]
    selectable_fields: frozenset[str]
    raw_schema: Mapping[str, Any]
    has_rules: bool

    def default(self, obj: Object) -> None:
        """Set the schema's defaults, in place."""
        apply_defaults(obj, self.schema)

    def errors(self, obj: Object, old: Object | None) -> Iterator[FieldError]:
        """Yield all errors. CEL rules run only if the schema finds no error of a blocking reason."""
        found = list(self._schema_errors(obj))
        yield from found
        if not any(error.reason in _BLOCKING for error in found):
            yield from self.rules.check(obj, old, self.schema)
        elif self.has_rules:
            yield FieldError("<nil>", "FieldValueInvalid", None, _UNCHECKED)

    def _schema_errors(self, obj: Object) -> Iterator[FieldError]:
        without_metadata = {name: value for name, value in obj.items() if name != "metadata"}
        yield from (error for error in validate(without_metadata, self.schema) if error.field != "metadata")

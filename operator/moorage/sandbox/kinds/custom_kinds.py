"""The schema, CEL rules and printer columns of one served version of a custom kind.

`custom_resources.py` takes them from a CustomResourceDefinition. Built-in kinds have no CustomKind.
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
"""If a schema error has one of these reasons, the CEL rules do not run."""

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
        """Yield all errors. The CEL rules run only if no schema error has a reason in _BLOCKING."""
        found = list(self._schema_errors(obj))
        yield from found
        if not any(error.reason in _BLOCKING for error in found):
            yield from self.rules.check(obj, old, self.schema)
        elif self.has_rules:
            yield FieldError("<nil>", "FieldValueInvalid", None, _UNCHECKED)

    def _schema_errors(self, obj: Object) -> Iterator[FieldError]:
        without_metadata = {name: value for name, value in obj.items() if name != "metadata"}
        yield from (error for error in validate(without_metadata, self.schema) if error.field != "metadata")

"""ApiModel, the base of all API models, and types and rules that the models share.

A rule across fields has two forms: CEL for the API server, and Python for the models. One `Rule` holds both forms, so
that they are changed and tested together.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    Strict,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from moorage.api.field_docstrings import field_docstrings
from moorage.errors import Location

LIST_TYPE = "x-kubernetes-list-type"
LIST_MAP_KEYS = "x-kubernetes-list-map-keys"
RULE_ERROR = "rule"
"""The pydantic error type of a broken rule. The error's context has `depth`, the length of the field's location."""

LABEL_VALUE_LENGTH = 63
"""The maximum length of a label value. Names of policies and profiles have this limit, because labels contain them."""
LABEL_VALUE_PATTERN = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
"""Matches a label value that is not empty."""
QUALIFIED_NAME_LENGTH = 317
"""The maximum length of a label key or resource name: 253 characters of a DNS subdomain, a slash, 63 characters."""
QUALIFIED_NAME_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
)
"""Matches a label key or a resource name, with or without a prefix."""
PLUGIN_NAME_LENGTH = 253
"""The maximum length of a plugin name, equal to that of a DNS subdomain. kube-scheduler sets no limit, but the API
server needs a limit to estimate the cost of CEL rules."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule across the fields of one model."""

    holds: Callable[[Any], bool]
    """Returns whether a pydantic model satisfies the rule."""
    message: str
    """The requirement, as a sentence without a full stop."""
    cel: str = ""
    """The rule in CEL, for the API server; `self` is the object of the model. Empty if the model is in no CRD."""
    field: str = ""
    """The field that the error names, such as `tlsConfig.insecure`. Empty if the error is about the whole model."""
    locate: Callable[[Any], Iterable[Location]] | None = None
    """Returns the locations, below the model, of the values that break the rule. In CEL, the error names `field`."""
    reason: Literal["FieldValueInvalid", "FieldValueRequired", "FieldValueForbidden", "FieldValueDuplicate"] = (
        "FieldValueInvalid"
    )
    """The reason in the API server's error."""

    def locations(self, model: BaseModel) -> list[Location]:
        """Return the locations of the values that break the rule; empty if the model satisfies the rule."""
        if self.holds(model):
            return []
        located = [*self.locate(model)] if self.locate else []
        return located or [tuple(self.field.split(".")) if self.field else ()]

    def as_validation(self) -> dict[str, str]:
        """Return the rule as an entry of `x-kubernetes-validations`."""
        path = {"fieldPath": f".{self.field}"} if self.field else {}
        return {"rule": self.cel, "message": self.message, "reason": self.reason, **path}


class ApiModel(BaseModel):
    """An immutable part of an API object, with camelCase names.

    Null means that the field is absent. The API server drops nulls in the same way, because no field is nullable.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
        validate_by_alias=True,
        validate_by_name=True,
    )

    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, fields: Any) -> Any:
        """Drop known fields that are null. Keep unknown fields, which are errors even if they are null."""
        if not isinstance(fields, Mapping) or None not in fields.values():
            return fields
        known = {name for key, field in cls.model_fields.items() for name in (key, field.alias)}
        return {name: value for name, value in fields.items() if value is not None or name not in known}

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        errors = [rule_error(rule.message, *location) for rule in self.rules for location in rule.locations(self)]
        errors += self._duplicates()
        raise_errors(type(self), errors)
        return self

    def _duplicates(self) -> list[InitErrorDetails]:
        """Return an error for each duplicate in a list of type set or map. The API server refuses duplicates too."""
        errors = []
        for name, field in type(self).model_fields.items():
            extra = field.json_schema_extra
            if not isinstance(extra, dict) or extra.get(LIST_TYPE) not in {"set", "map"}:
                continue
            identities = [_identity(element, extra) for element in getattr(self, name)]
            errors += [
                rule_error(f"repeats {_shown(identity)}", field.alias or name, index)
                for index, identity in enumerate(identities)
                if identity in identities[:index]
            ]
        return errors

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> JsonSchemaValue:
        """Return the schema with the rules in CEL, and with the docstrings of the fields as their descriptions."""
        reference = handler(core_schema)
        schema = handler.resolve_ref_schema(reference)
        for name, text in field_docstrings(cls).items():
            if field := cls.model_fields.get(name):
                schema["properties"][field.alias or name]["description"] = text
        validations = [rule.as_validation() for rule in cls.rules if rule.cel]
        if validations:
            schema["x-kubernetes-validations"] = validations
        return reference


def list_type(kind: Literal["atomic", "set"]) -> dict[str, Any]:
    """Return the schema keyword of a list: server-side apply replaces an atomic list, and merges a set."""
    return {LIST_TYPE: kind}


def map_list(*keys: str) -> dict[str, Any]:
    """Return the schema keywords of a list that server-side apply merges by `keys`. No two elements have equal keys."""
    return {LIST_TYPE: "map", LIST_MAP_KEYS: list(keys)}


def _without_nulls(fields: Any) -> Any:
    if isinstance(fields, Mapping):
        return {name: value for name, value in fields.items() if value is not None}
    return fields


def rule_error(message: str, *location: int | str) -> InitErrorDetails:
    """Return an error about the value at a location below a model, for `raise_errors`."""
    context = {"message": message, "depth": len(location)}
    return InitErrorDetails(type=PydanticCustomError(RULE_ERROR, "{message}", context), loc=location, input=None)


def raise_errors(model: type[BaseModel], errors: list[InitErrorDetails]) -> None:
    """Raise ValidationError with the errors of a model, if there are any."""
    if errors:
        raise ValidationError.from_exception_data(model.__name__, errors)


def _identity(element: Any, extra: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(getattr(element, key) for key in extra.get(LIST_MAP_KEYS, ())) or (element,)


def _shown(identity: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, identity))


ListOf = Strict(False)
"""Accepts a list as the value of a tuple. The elements are still validated strictly."""

WithoutNulls = BeforeValidator(_without_nulls)
"""Drops the nulls of a mapping whose keys users choose, like the API server."""

LabelValue = Annotated[str, Field(max_length=LABEL_VALUE_LENGTH, pattern=LABEL_VALUE_PATTERN)]
QualifiedName = Annotated[str, Field(max_length=QUALIFIED_NAME_LENGTH, pattern=QUALIFIED_NAME_PATTERN)]
PluginName = Annotated[str, Field(min_length=1, max_length=PLUGIN_NAME_LENGTH)]
Score = Annotated[int, Field(ge=0, le=10)]
Weight = Annotated[int, Field(ge=0, le=100)]

"""The CEL rules of custom kinds (x-kubernetes-validations), including transition rules.

The CEL library returns evaluation errors as values: if a result has the type ERROR, the rule failed.
Kubernetes' own CEL functions (quantity, isSorted, ...) are not available here. If a rule uses such a function, the
server refuses the CustomResourceDefinition. So no rule is skipped silently.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from moorage.sandbox.api_status import OMITTED, FieldError
from moorage.sandbox.kinds.schemas import MissingSandboxExtraError, Schema

_FIELD = re.compile(r"\bself\.\??([A-Za-z_]\w*)(?!\w|\()")
_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
_OLD_SELF = re.compile(r"\boldSelf\b")
_ABSENT = object()
_REASONS = {"FieldValueRequired", "FieldValueForbidden", "FieldValueDuplicate"}


class CelRules:
    """The compiler and evaluator of CEL rules. It compiles each rule once."""

    def __init__(self) -> None:
        """Start with no compiled rules."""
        self._compiled: dict[tuple[str, str], Any] = {}
        self._environments: dict[str, Any] = {}

    def compilation_errors(self, schema: Schema, path: str = "") -> Iterator[FieldError]:
        """Yield an error for each rule that does not compile. The error names the rule's path in the definition."""
        for index, rule in enumerate(_rules(schema)):
            try:
                _check_fields(rule["rule"], schema)
                self._program(rule["rule"], schema)
            except (RuntimeError, LookupError) as error:
                where = f"{path}.x-kubernetes-validations[{index}].rule"
                yield FieldError(where, "FieldValueInvalid", rule.get("rule"), f"compilation failed: {error}")
        for name in schema.properties:
            child = schema.field(name)
            if child is not None and name != "metadata":
                yield from self.compilation_errors(child, f"{path}.properties[{name}]")
        if schema.items is not None:
            yield from self.compilation_errors(schema.items, f"{path}.items")

    def present_in(self, schema: Schema) -> bool:
        """Return whether a schema has rules at any level."""
        children = [schema.field(name) for name in schema.properties if name != "metadata"]
        return bool(_rules(schema)) or any(
            self.present_in(child) for child in (*children, schema.items) if child is not None
        )

    def check(self, value: Any, old: Any, schema: Schema) -> Iterator[FieldError]:
        """Yield an error for each failed rule, at every level. `old` is None on creation."""
        return self._check(value, _ABSENT if old is None else old, schema, "")

    def _check(self, value: Any, old: Any, schema: Schema, path: str) -> Iterator[FieldError]:
        if value is None or value is old or value == old:
            return  # ratcheting, as in kube-apiserver: an unchanged value may violate a newer rule
        for rule in _rules(schema):
            yield from self._check_rule(rule, _RuleInput(value, old, schema, path))
        if isinstance(value, dict):
            for name, item in value.items():
                child = schema.field(name)
                if child is not None and (path or name != "metadata"):
                    previous = old.get(name, _ABSENT) if isinstance(old, dict) else _ABSENT
                    yield from self._check(item, previous, child, f"{path}.{name}" if path else name)
        elif isinstance(value, list) and schema.items is not None:
            for index, item in enumerate(value):
                previous = _correlated(item, old, schema)
                yield from self._check(item, previous, schema.items, f"{path}[{index}]")

    def _check_rule(self, rule: Mapping[str, Any], case: "_RuleInput") -> Iterator[FieldError]:
        path = case.path
        if _OLD_SELF.search(rule["rule"]) and case.old is _ABSENT:
            return
        result = self._program(rule["rule"], case.schema).eval(data=case.variables())
        if result.type() == self._cel.Type.ERROR:
            detail = f"{result.value()} evaluating rule: {rule.get('message') or rule['rule']}"
            yield FieldError(path or "<nil>", "FieldValueInvalid", case.schema.node.get("type"), detail)
        elif result.value() is not True:
            where = path + str(rule.get("fieldPath") or "")
            reason = rule.get("reason")
            code = str(reason) if reason in _REASONS else "FieldValueInvalid"
            yield FieldError(where.lstrip(".") or "<nil>", code, _printed_value(case), self._message(rule, case))

    def _message(self, rule: Mapping[str, Any], case: "_RuleInput") -> str:
        if expression := rule.get("messageExpression"):
            result = self._program(expression, case.schema).eval(data=case.variables())
            if result.type() == self._cel.Type.STRING:
                return str(result.value())
        return str(rule.get("message") or f"failed rule: {rule['rule']}")

    def _program(self, text: str, schema: Schema) -> Any:
        kind = _declared(schema)
        if (kind, text) not in self._compiled:
            if kind not in self._environments:
                self._environments[kind] = self._environment(kind)
            self._compiled[kind, text] = self._environments[kind].compile(text)
        return self._compiled[kind, text]

    @cached_property
    def _cel(self) -> Any:
        try:
            from cel_expr_python import cel
        except ModuleNotFoundError as error:
            raise MissingSandboxExtraError("cel-expr-python") from error
        return cel

    def _environment(self, kind: str) -> Any:
        """Return an environment in which `self` and `oldSelf` have the type `kind`.

        Rules with type errors do not compile.
        """
        cel = self._cel
        from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

        extensions = [
            ext_bindings.ExtBindings(), ext_math.ExtMath(), ext_optional.ExtOptional(), ext_strings.ExtStrings(),
        ]  # fmt: skip
        declared = getattr(cel.Type, kind)
        variables = {"self": declared, "oldSelf": declared}
        return cel.NewEnv(variables=variables, extensions=extensions)


@dataclass(frozen=True, slots=True)
class _RuleInput:
    """The input of one rule: a value, its old version, its schema and its path."""

    value: Any
    old: Any
    schema: Schema
    path: str

    def variables(self) -> dict[str, Any]:
        if _declared(self.schema) != "DOUBLE":
            return {"self": self.value, "oldSelf": None if self.old is _ABSENT else self.old}
        return {"self": float(self.value), "oldSelf": None if self.old is _ABSENT else float(self.old)}


def _declared(schema: Schema) -> str:
    """Return the CEL type for a schema. It is DYN for an object, and for a schema with several types."""
    kinds = {"string": "STRING", "integer": "INT", "number": "DOUBLE", "boolean": "BOOL", "array": "LIST"}
    return kinds.get(next(iter(schema.types)), "DYN") if len(schema.types) == 1 else "DYN"


def _check_fields(rule: str, schema: Schema) -> None:
    """Raise LookupError for an unknown field. CEL does not check fields, because objects are maps in CEL."""
    if not schema.properties or schema.keeps_unknown:
        return
    for name in _FIELD.findall(_TEXT.sub("", rule)):
        if schema.field(name) is None and "__" not in name:
            raise LookupError(f"undefined field '{name}'")


def _rules(schema: Schema) -> list[Mapping[str, Any]]:
    return list(schema.node.get("x-kubernetes-validations") or ())


def _correlated(item: Any, old: Any, schema: Schema) -> Any:
    """Return the old version of a list item, or _ABSENT. Only lists of type map have keys that identify an item."""
    if not isinstance(old, list) or not isinstance(item, dict) or schema.list_type != "map":
        return _ABSENT
    identity = [item.get(key) for key in schema.list_keys]
    for previous in old:
        if isinstance(previous, dict) and [previous.get(key) for key in schema.list_keys] == identity:
            return previous
    return _ABSENT


def _printed_value(case: _RuleInput) -> Any:
    """Return the value for an error message, or OMITTED for an object or a list."""
    return OMITTED if isinstance(case.value, dict | list) else case.value

"""The CEL rules of custom kinds (x-kubernetes-validations), transition rules included.

The library gives failures as values: a result of type ERROR is a failed rule, never a truth.
Kubernetes' own CEL functions (quantity, isSorted, ...) are not known here; a rule that uses one
is refused when its CustomResourceDefinition is applied, instead of passing unseen.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from moorage.sandbox.objects import encode
from moorage.sandbox.schemas import MissingSandboxExtraError, Schema
from moorage.sandbox.status import FieldError

_OLD_SELF = re.compile(r"\boldSelf\b")
_ABSENT = object()
_REASONS = {"FieldValueRequired", "FieldValueForbidden", "FieldValueDuplicate"}


class CelRules:
    """Compiles and evaluates rules; each text is compiled once."""

    def __init__(self) -> None:
        """Start without any rule."""
        self._compiled: dict[str, Any] = {}

    def faults(self, schema: Schema, path: str = "") -> Iterator[FieldError]:
        """Rules of a schema that do not compile. The paths are those of the CustomResourceDefinition."""
        for index, rule in enumerate(_rules(schema)):
            try:
                self._program(rule["rule"])
            except RuntimeError as error:
                where = f"{path}.x-kubernetes-validations[{index}].rule"
                yield FieldError(where, "FieldValueInvalid", rule["rule"], f"compilation failed: {error}")
        for name in schema.properties:
            child = schema.field(name)
            if child is not None and name != "metadata":
                yield from self.faults(child, f"{path}.properties[{name}]")
        if schema.items is not None:
            yield from self.faults(schema.items, f"{path}.items")

    def check(self, value: Any, old: Any, schema: Schema) -> Iterator[FieldError]:
        """Failed rules of an object and everything in it; `old` is None on creation."""
        return self._check(value, _ABSENT if old is None else old, schema, "")

    def _check(self, value: Any, old: Any, schema: Schema, path: str) -> Iterator[FieldError]:
        if value is None or value is old or value == old:
            return  # unchanged values keep their faults: kube-apiserver's ratcheting
        for rule in _rules(schema):
            yield from self._check_rule(rule, value, old, path)
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

    def _check_rule(self, rule: Mapping[str, Any], value: Any, old: Any, path: str) -> Iterator[FieldError]:
        if _OLD_SELF.search(rule["rule"]) and old is _ABSENT:
            return
        data = {"self": value, "oldSelf": None if old is _ABSENT else old}
        result = self._program(rule["rule"]).eval(data=data)
        if result.type() == self._cel.Type.ERROR:
            yield FieldError(path, "FieldValueInvalid", _shown(value), f"rule evaluation error: {result.value()}")
        elif result.value() is not True:
            where = path + str(rule.get("fieldPath") or "")
            reason = rule.get("reason")
            code = str(reason) if reason in _REASONS else "FieldValueInvalid"
            yield FieldError(where.lstrip(".") or "<nil>", code, _shown(value), self._message(rule, data))

    def _message(self, rule: Mapping[str, Any], data: Mapping[str, Any]) -> str:
        if expression := rule.get("messageExpression"):
            result = self._program(expression).eval(data=data)
            if result.type() == self._cel.Type.STRING:
                return str(result.value())
        return str(rule.get("message") or f"failed rule: {rule['rule']}")

    def _program(self, text: str) -> Any:
        if text not in self._compiled:
            self._compiled[text] = self._environment.compile(text)
        return self._compiled[text]

    @cached_property
    def _cel(self) -> Any:
        try:
            from cel_expr_python import cel
        except ModuleNotFoundError as error:
            raise MissingSandboxExtraError("cel-expr-python") from error
        return cel

    @cached_property
    def _environment(self) -> Any:
        cel = self._cel
        from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

        extensions = [
            ext_bindings.ExtBindings(), ext_math.ExtMath(), ext_optional.ExtOptional(), ext_strings.ExtStrings(),
        ]  # fmt: skip
        variables = {"self": cel.Type.DYN, "oldSelf": cel.Type.DYN}
        return cel.NewEnv(variables=variables, extensions=extensions)


def _rules(schema: Schema) -> list[Mapping[str, Any]]:
    return list(schema.node.get("x-kubernetes-validations") or ())


def _correlated(item: Any, old: Any, schema: Schema) -> Any:
    """Find what an item was before. Only lists that are maps by key tell."""
    if not isinstance(old, list) or not isinstance(item, dict) or schema.list_type != "map":
        return _ABSENT
    identity = [item.get(key) for key in schema.list_keys]
    for previous in old:
        if isinstance(previous, dict) and [previous.get(key) for key in schema.list_keys] == identity:
            return previous
    return _ABSENT


def _shown(value: Any) -> Any:
    """Give what messages print for a value: its JSON type's name, as kube-apiserver does for rules."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "integer" if isinstance(value, int) else encode(value).decode()

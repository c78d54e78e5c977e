"""The CEL rules of custom kinds (x-kubernetes-validations), transition rules included.

The library gives failures as values: a result of type ERROR is a failed rule, never a truth.
Kubernetes' own CEL functions (quantity, isSorted, ...) are not known here; a rule that uses one
is refused when its CustomResourceDefinition is applied, instead of passing unseen.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from moorage.sandbox.kinds.schemas import MissingSandboxExtraError, Schema
from moorage.sandbox.status import OMITTED, FieldError

_FIELD = re.compile(r"\bself\.\??([A-Za-z_]\w*)(?!\w|\()")
_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
_OLD_SELF = re.compile(r"\boldSelf\b")
_ABSENT = object()
_REASONS = {"FieldValueRequired", "FieldValueForbidden", "FieldValueDuplicate"}


class CelRules:
    """Compiles and evaluates rules; each text is compiled once."""

    def __init__(self) -> None:
        """Start without any rule."""
        self._compiled: dict[tuple[str, str], Any] = {}
        self._environments: dict[str, Any] = {}

    def faults(self, schema: Schema, path: str = "") -> Iterator[FieldError]:
        """Rules of a schema that do not compile. The paths are those of the CustomResourceDefinition."""
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
                yield from self.faults(child, f"{path}.properties[{name}]")
        if schema.items is not None:
            yield from self.faults(schema.items, f"{path}.items")

    def present_in(self, schema: Schema) -> bool:
        """Whether a schema has rules anywhere."""
        children = [schema.field(name) for name in schema.properties if name != "metadata"]
        return bool(_rules(schema)) or any(
            self.present_in(child) for child in (*children, schema.items) if child is not None
        )

    def check(self, value: Any, old: Any, schema: Schema) -> Iterator[FieldError]:
        """Failed rules of an object and everything in it; `old` is None on creation."""
        return self._check(value, _ABSENT if old is None else old, schema, "")

    def _check(self, value: Any, old: Any, schema: Schema, path: str) -> Iterator[FieldError]:
        if value is None or value is old or value == old:
            return  # unchanged values keep their faults: kube-apiserver's ratcheting
        for rule in _rules(schema):
            yield from self._check_rule(rule, _Case(value, old, schema, path))
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

    def _check_rule(self, rule: Mapping[str, Any], case: "_Case") -> Iterator[FieldError]:
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
            yield FieldError(where.lstrip(".") or "<nil>", code, _shown(case), self._message(rule, case))

    def _message(self, rule: Mapping[str, Any], case: "_Case") -> str:
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
        """Declare `self` and `oldSelf` as what their schema says, so that a rule that cannot work is refused."""
        cel = self._cel
        from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

        extensions = [
            ext_bindings.ExtBindings(), ext_math.ExtMath(), ext_optional.ExtOptional(), ext_strings.ExtStrings(),
        ]  # fmt: skip
        declared = getattr(cel.Type, kind)
        variables = {"self": declared, "oldSelf": declared}
        return cel.NewEnv(variables=variables, extensions=extensions)


@dataclass(frozen=True, slots=True)
class _Case:
    """What a rule is evaluated on."""

    value: Any
    old: Any
    schema: Schema
    path: str

    def variables(self) -> dict[str, Any]:
        if _declared(self.schema) != "DOUBLE":
            return {"self": self.value, "oldSelf": None if self.old is _ABSENT else self.old}
        return {"self": float(self.value), "oldSelf": None if self.old is _ABSENT else float(self.old)}


def _declared(schema: Schema) -> str:
    """Name the CEL type of a value, DYN where it can be several or is checked field by field."""
    kinds = {"string": "STRING", "integer": "INT", "number": "DOUBLE", "boolean": "BOOL", "array": "LIST"}
    return kinds.get(next(iter(schema.types)), "DYN") if len(schema.types) == 1 else "DYN"


def _check_fields(rule: str, schema: Schema) -> None:
    """Raise LookupError for a field that the schema does not have: to CEL the object is only a map."""
    if not schema.properties or schema.keeps_unknown:
        return
    for name in _FIELD.findall(_TEXT.sub("", rule)):
        if schema.field(name) is None and "__" not in name:
            raise LookupError(f"undefined field '{name}'")


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


def _shown(case: _Case) -> Any:
    """Give what a message prints for a value: nothing for what has parts."""
    return OMITTED if isinstance(case.value, dict | list) else case.value

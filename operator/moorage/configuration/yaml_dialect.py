"""Reads YAML like kube-scheduler: with PyYAML's parser, and with the tabs, directives and plain scalars of go-yaml v2.

PyYAML and go-yaml both implement YAML 1.1. But PyYAML refuses tabs between tokens, and reads some plain scalars as
another type: `y`, `1e3` and `0o17` as text, `1:30` as a number.

In one point, this module differs from go-yaml: an unknown tag is a fault. go-yaml ignores the tag, but usually the tag
is meant for a tool that should have run before.

Upstream: go.yaml.in/yaml/v2 resolve.go and scannerc.go, which sigs.k8s.io/yaml uses.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import yaml

TEXT = "tag:yaml.org,2002:str"
TIMESTAMP = "tag:yaml.org,2002:timestamp"
MERGE = "tag:yaml.org,2002:merge"
_NULL = "tag:yaml.org,2002:null"
_BOOL = "tag:yaml.org,2002:bool"
_INT = "tag:yaml.org,2002:int"
MAX_INTEGER_CHARACTERS = 1000
"""The longest whole number. Python refuses to print numbers with more than 4,300 digits."""
_FLOAT = "tag:yaml.org,2002:float"
_BINARY = "tag:yaml.org,2002:binary"

_TRUE = frozenset({"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
_FALSE = frozenset({"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER = re.compile(r"([-+]?)(?:0[bB]([01]+)|0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_BASES = (2, 16, 8, 10)
"""The base of the number in each group of the pattern."""
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WHOLE_FLOATS_BELOW = 1e21
"""Go writes whole floats below this limit to JSON without an exponent. So they are read as whole numbers."""


class YamlDialect(yaml.SafeLoader):
    """PyYAML's loader with the changes above. The loader builds the node tree; `scalar_value` reads the scalars."""

    def scan_to_next_token(self) -> None:
        """Skip spaces and comments. Skip tabs in flow context and after a key, like libyaml."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()

    def scan_directive(self) -> Any:
        """Return a directive. Raise MarkedYAMLError if it is neither `%YAML 1.1` nor `%TAG`."""
        token = super().scan_directive()
        if token.name != "TAG" and (token.name, token.value) != ("YAML", (1, 1)):
            problem = "found a directive other than %YAML 1.1 and %TAG"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=token.start_mark)
        return token

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return the next node.

        An anchor replaces an earlier anchor with the same name. A scalar with the tag `!` is text.
        """
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if not isinstance(event, yaml.AliasEvent):
            self.anchors.pop(event.anchor, None)
        if isinstance(event, yaml.ScalarEvent) and event.tag == "!":
            event.tag = TEXT
        return super().compose_node(parent, index)

    def compose_scalar_node(self, anchor: Any) -> Any:
        """Return the next scalar. Raise MarkedYAMLError for an escaped surrogate, which UTF-8 cannot encode."""
        node = super().compose_scalar_node(anchor)
        if _SURROGATE.search(node.value):
            problem = "found an escape that is not a Unicode character"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return node

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Return the tag of a node that has no explicit tag."""
        if kind is yaml.ScalarNode and implicit[0]:
            return _plain_tag(value)
        return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]


def scalar_value(node: yaml.Node) -> Any:
    """Return the value of a scalar. Raise ValueError if the tag is unknown, or if the text does not suit the tag."""
    read = _READERS.get(node.tag)
    name = node.tag.replace("tag:yaml.org,2002:", "!!")
    if read is None:
        raise ValueError(f"has the unknown tag {name}; write the value without a tag")
    try:
        return read(node.value)
    except ValueError as error:
        raise ValueError(f"is not a value of the tag {name}") from error


def is_empty(node: yaml.Node | None) -> bool:
    """Return whether a document has no content, or only a null."""
    return node is None or (isinstance(node, yaml.ScalarNode) and node.tag == _NULL)


def _plain_tag(text: str) -> str:
    if text in _NULLS:
        return _NULL
    if text in _TRUE or text in _FALSE:
        return _BOOL
    if text == "<<":
        return MERGE
    if _INTEGER.fullmatch(_digits(text)):
        return _INT
    is_decimal = _DECIMAL.fullmatch(_digits(text)) and isfinite(float(_digits(text)))
    return _FLOAT if is_decimal or _SPECIAL.fullmatch(text) else TEXT


def _digits(text: str) -> str:
    """Return a number without the underscores between its digits. Return other texts unchanged."""
    return text.replace("_", "") if text[:1] in set("+-0123456789") else text


def _null(text: str) -> None:
    if text not in _NULLS:
        raise ValueError(text)


def _boolean(text: str) -> bool:
    if text not in _TRUE and text not in _FALSE:
        raise ValueError(text)
    return text in _TRUE


def _integer(text: str) -> int:
    found = _INTEGER.fullmatch(_digits(text))
    if not found or len(text) > MAX_INTEGER_CHARACTERS:
        raise ValueError(text)
    sign, *groups = found.groups()
    amount = next(int(digits, base) for digits, base in zip(groups, _BASES, strict=True) if digits)
    return -amount if sign == "-" else amount


def _number(text: str) -> int | float:
    """Return a number, as an int if it is whole."""
    if _INTEGER.fullmatch(_digits(text)):
        return _integer(text)
    value = float(text.replace(".", "")) if _SPECIAL.fullmatch(text) else float(_digits(text))
    return int(value) if value.is_integer() and abs(value) < _WHOLE_FLOATS_BELOW else value


def _text_of_base64(text: str) -> str:
    return b64decode(text, validate=True).decode()


_READERS: Mapping[str, Callable[[str], Any]] = {
    TEXT: str,
    TIMESTAMP: str,
    MERGE: str,
    _NULL: _null,
    _BOOL: _boolean,
    _INT: _integer,
    _FLOAT: _number,
    _BINARY: _text_of_base64,
}

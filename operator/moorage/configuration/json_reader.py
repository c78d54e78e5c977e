"""Reads JSON with line numbers. kube-scheduler reads a text strictly as JSON if it begins with `{`.

Upstream: the recognizer of k8s.io/apimachinery pkg/runtime/serializer.
"""

import json
import re
from typing import Any, NoReturn

from moorage.configuration.located_content import LocatedContent, repeated
from moorage.errors import ConfigurationError, Fault, Location

_SPACE = re.compile(r"[ \t\r\n]*")
_MORE_TEXT = "Extra data"
"""The standard library's message when text follows the object."""


def read_json(text: str) -> LocatedContent:
    """Parse one object. Raise ConfigurationError if the text is not valid JSON."""
    try:
        json.loads(text, parse_constant=_refuse_constant)
        return _TextWalk(text).walk()
    except json.JSONDecodeError as error:
        message = f"the file begins with {{, so it must be JSON, but it is not valid JSON: {error.msg}"
        if error.msg == _MORE_TEXT:
            message = "the JSON object ends before this text; remove the text, a file holds one object"
        raise ConfigurationError([Fault((), error.lineno, message)]) from error
    except (RecursionError, ValueError) as error:
        message = f"the file begins with {{, so it must be JSON, but it is not valid JSON: {error}"
        raise ConfigurationError([Fault((), None, message)]) from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no number {name}")


class _TextWalk:
    """A walk over a text that is valid JSON. The walk only finds repeated fields and checks the limits."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._line = 1
        self._decoder = json.JSONDecoder()
        self._found = LocatedContent()

    def walk(self) -> LocatedContent:
        self._skip_space()
        self._found.lines[()] = self._line
        self._found.content = self._value(())
        return self._found

    def _value(self, location: Location) -> Any:
        self._found.count_part(len(location), self._line)
        if self._take("{"):
            return self._object(location)
        if self._take("["):
            return self._array(location)
        return self._scalar()

    def _object(self, location: Location) -> dict[str, Any]:
        content: dict[str, Any] = {}
        while not self._take("}"):
            line, name = self._line, self._scalar()
            where = (*location, name)
            if name in content:
                self._found.add_fault(repeated(where, line, self._found.lines[where]))
            self._found.lines.setdefault(where, line)
            self._take(":")
            value = self._value(where)
            content.setdefault(name, value)
            self._take(",")
        return content

    def _array(self, location: Location) -> list[Any]:
        content: list[Any] = []
        while not self._take("]"):
            where = (*location, len(content))
            self._found.lines[where] = self._line
            content.append(self._value(where))
            self._take(",")
        return content

    def _scalar(self) -> Any:
        value, self._position = self._decoder.raw_decode(self._text, self._position)
        self._skip_space()
        # An escape may be a lone surrogate, which UTF-8 cannot encode. Read it as U+FFFD, like Go.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(value, str) else value

    def _take(self, symbol: str) -> bool:
        """Return whether the symbol is next. If it is, skip the symbol and the space after it."""
        is_next = self._text.startswith(symbol, self._position)
        if is_next:
            self._position += len(symbol)
            self._skip_space()
        return is_next

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self._position)
        end = found.end() if found else self._position
        self._line += self._text.count("\n", self._position, end)
        self._position = end

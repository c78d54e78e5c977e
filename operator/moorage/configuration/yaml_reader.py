"""Reads YAML with line numbers, and reports faults of the text itself.

The reader does not use PyYAML's constructor, because the constructor drops line numbers, and silently takes the last of
two equal fields. A file holds one document, with or without `---` and `...`. Empty documents after this document are
ignored.

There are two differences from kube-scheduler. kube-scheduler reads the first document and silently drops the others;
here, a second document is a fault. kube-scheduler refuses a field that overrides a field of a merge key (`<<`); here,
the override is valid, as YAML defines it.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml
from yaml.reader import ReaderError

from moorage.configuration.located_content import LocatedContent, repeated
from moorage.configuration.yaml_dialect import MERGE, TEXT, TIMESTAMP, YamlDialect, is_empty, scalar_value
from moorage.errors import ConfigurationError, Fault, Location

BYTE_ORDER_MARK = "\ufeff"
"""A text that was joined from several files may contain byte order marks in the middle."""
_SEPARATOR = re.compile(r"(---|\.\.\.)(\s|$)")
EMPTY_FIRST = "the first document is empty, and only the first one is read; remove the line `---` before this document"
SECOND_DOCUMENT = (
    "a second document begins here, which kube-scheduler would silently ignore; keep one document, with all profiles "
    "in its list `profiles`"
)


def read_yaml(text: str) -> LocatedContent:
    """Parse one document. Raise ConfigurationError if the text is not valid YAML, or has several documents."""
    try:
        return _NodeWalk().walk(_only_document(text))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise _invalid(line, f"{error.problem or error}; {_hint(error)}") from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _invalid(line, f"it has the control character U+{ord(text[error.position]):04X}; remove it") from error
    except RecursionError as error:
        raise _invalid(None, "its parts are nested too deeply") from error


def _invalid(line: int | None, message: str) -> ConfigurationError:
    return ConfigurationError([Fault((), line, f"this is not valid YAML: {message}")])


def _hint(error: yaml.MarkedYAMLError) -> str:
    if "'\\t'" in str(error.problem):
        return "indent with spaces, not with tabs"
    return "check the indentation and the quotes"


def _only_document(text: str) -> yaml.Node | None:
    loader = YamlDialect(text)
    first = loader.get_node() if loader.check_node() else None
    second_line = _second_document_line(loader, text)
    if second_line is not None:
        message = EMPTY_FIRST if is_empty(first) else SECOND_DOCUMENT
        raise ConfigurationError([Fault((), second_line, message)])
    return first


def _second_document_line(loader: YamlDialect, text: str) -> int | None:
    """Return the line of the second document that is not empty, even if it is invalid; None if there is none."""
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None and not is_empty(node):
                return int(node.start_mark.line) + 1
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        # If no separator comes before the error, the error is in the first document.
        if not any(map(_SEPARATOR.match, text.splitlines()[1:line])):
            raise
        return line
    return None


class _Field(NamedTuple):
    name: str
    line: int
    value: yaml.Node


class _NodeWalk:
    """A walk over the node tree that collects values, lines and faults."""

    def __init__(self) -> None:
        self._found = LocatedContent()

    def walk(self, root: yaml.Node | None) -> LocatedContent:
        if root is not None:
            self._found.lines[()] = root.start_mark.line + 1
            self._found.content = self._value(root, ())
        return self._found

    def _value(self, node: yaml.Node, location: Location) -> Any:
        self._found.count_part(len(location), node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            return [self._element(child, (*location, index)) for index, child in enumerate(node.value)]
        try:
            return scalar_value(node)
        except ValueError as error:
            raise ConfigurationError([Fault(location, node.start_mark.line + 1, str(error))]) from error

    def _element(self, node: yaml.Node, location: Location) -> Any:
        self._found.lines[location] = node.start_mark.line + 1
        return self._value(node, location)

    def _mapping(self, node: yaml.MappingNode, location: Location) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for field in self._own_fields(node, location):
            # If a field is repeated, the first of its values that is not null counts.
            if content.get(field.name) is None:
                self._add(content, field, location)
        for field in self._merged_fields(node, location, depth=len(location)):
            if field.name not in content:
                self._add(content, field, location)
        return content

    def _add(self, content: dict[str, Any], field: _Field, location: Location) -> None:
        where = (*location, field.name)
        self._found.lines[where] = field.line
        content[field.name] = self._value(field.value, where)

    def _own_fields(self, node: yaml.MappingNode, location: Location) -> Iterator[_Field]:
        """Yield the fields of a mapping, without the fields of its merge keys."""
        lines: dict[str, int] = {}
        for key, value in node.value:
            if key.tag == MERGE:
                continue
            if key.tag not in {TEXT, TIMESTAMP}:
                shown = f"the field name {key.value!r}" if isinstance(key, yaml.ScalarNode) else "this field name"
                self._fault(location, key, f"{shown} must be text: quote it")
            elif BYTE_ORDER_MARK in key.value:
                self._fault(location, key, "the field name has an invisible byte order mark (U+FEFF); remove it")
            else:
                name, line = key.value, key.start_mark.line + 1
                if name in lines:
                    self._found.add_fault(repeated((*location, name), line, lines[name]))
                lines.setdefault(name, line)
                yield _Field(name, line, value)

    def _merged_fields(self, node: yaml.MappingNode, location: Location, depth: int) -> Iterator[_Field]:
        """Yield the fields of merge keys. If several fields have the same name, the first one counts."""
        for key, value in node.value:
            if key.tag != MERGE:
                continue
            for merged in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                self._found.count_part(depth, key.start_mark.line + 1)
                if isinstance(merged, yaml.MappingNode):
                    yield from self._own_fields(merged, location)
                    yield from self._merged_fields(merged, location, depth + 1)
                else:
                    self._fault(location, key, "a merge key (<<) needs a mapping, or a list of mappings")

    def _fault(self, location: Location, node: yaml.Node, message: str) -> None:
        self._found.add_fault(Fault(location, node.start_mark.line + 1, message))

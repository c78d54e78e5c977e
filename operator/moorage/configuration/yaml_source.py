"""Reads YAML with line numbers, and reports faults of the text itself.

It walks PyYAML's node tree: yaml.safe_load forgets the lines and silently takes the last of two equal fields.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from moorage.errors import ConfigurationError, Fault, Location

MAX_NODES = 50_000
"""Larger than any real file. The limit stops nested aliases, which grow exponentially."""
MAX_DEPTH = 64
"""Deeper than any real file. The limit stops an alias that contains itself."""

_MERGE_TAG = "tag:yaml.org,2002:merge"
_TEXT_TAGS = frozenset({"tag:yaml.org,2002:str", "tag:yaml.org,2002:timestamp"})


@dataclass(slots=True)
class YamlSource:
    """A parsed text, with the line of each part."""

    content: Any = None
    """Mappings, lists and scalars."""
    lines: dict[Location, int] = field(default_factory=dict)
    """The line of each field name, of each list element, and, under `()`, of the first part."""
    faults: list[Fault] = field(default_factory=list)
    """Repeated fields, and field names that are not text."""

    def line_of(self, location: Location) -> int | None:
        """Return the line of a part, or of the nearest part around it that the text has."""
        for end in range(len(location), -1, -1):
            if location[:end] in self.lines:
                return self.lines[location[:end]]
        return None

    def fault(self, location: Location, message: str) -> Fault:
        """Return a fault of the part at a location."""
        return Fault(location, self.line_of(location), message)


def read_yaml(text: str) -> YamlSource:
    """Parse one document. Raise ConfigurationError if the text is not valid YAML."""
    try:
        loader = yaml.SafeLoader(text)
        return _Reader(loader).read(loader.get_single_node())
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        message = f"this is not valid YAML: {error.problem or error}; check the indentation and the quotes"
        raise ConfigurationError([Fault((), line, message)]) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigurationError([Fault((), None, f"this is not valid YAML: {str(error).splitlines()[0]}")]) from error


def mappings_in(value: Any) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the elements of a list that are mappings, with their positions; nothing if `value` is not a list."""
    if not isinstance(value, list):
        return []
    return [(index, element) for index, element in enumerate(value) if isinstance(element, Mapping)]


class _Reader:
    """A walk over PyYAML's nodes that collects values, lines and faults."""

    def __init__(self, loader: yaml.SafeLoader) -> None:
        self._loader = loader
        self._source = YamlSource()
        self._nodes = 0

    def read(self, node: yaml.Node | None) -> YamlSource:
        if node is not None:
            self._source.lines[()] = node.start_mark.line + 1
            self._source.content = self._value(node, ())
        return self._source

    def _value(self, node: yaml.Node, location: Location) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES or len(location) > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem="too many or too deep parts", problem_mark=node.start_mark)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            return [self._element(child, (*location, index)) for index, child in enumerate(node.value)]
        return str(node.value) if node.tag in _TEXT_TAGS else self._loader.construct_object(node)

    def _element(self, node: yaml.Node, location: Location) -> Any:
        self._source.lines[location] = node.start_mark.line + 1
        return self._value(node, location)

    def _mapping(self, node: yaml.MappingNode, location: Location) -> Mapping[str, Any]:
        content: dict[str, Any] = {}
        for name, line, value in self._fields(node, location):
            where = (*location, name)
            if name in content:
                message = f"is repeated; line {self._source.lines[where]} has it already"
                self._source.faults.append(Fault(where, line, message))
            if content.get(name) is not None:
                continue
            self._source.lines[where] = line
            content[name] = self._value(value, where)
        return content

    def _fields(self, node: yaml.MappingNode, location: Location) -> Iterator[tuple[str, int, yaml.Node]]:
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.tag in _TEXT_TAGS:
                yield key.value, line, value
                continue
            message = f"the field name {key.value!r} must be text: quote it"
            if key.tag == _MERGE_TAG:
                message = "merge keys (<<) are not supported: write the fields out"
            self._source.faults.append(Fault(location, line, message))

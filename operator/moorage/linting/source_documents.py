"""Finds policies and configurations in a file. The file is JSON or YAML, and may contain Lists of objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from moorage.api.v1alpha1 import KIND as POLICY
from moorage.configuration.content_reader import read_content
from moorage.configuration.documents import document_texts
from moorage.configuration.located_content import LocatedContent, mappings_in
from moorage.configuration.scheduler_configuration import KIND as CONFIGURATION
from moorage.errors import ConfigurationError, Fault, Location

_RELEVANT = re.compile(rf"\b({POLICY}|{CONFIGURATION})\b")


@dataclass(frozen=True, slots=True)
class SourceObject:
    """One object in a file."""

    number: int
    """The number of the document that contains the object. The first document is 1."""
    text: str
    """The text of the document. Its line numbers are the line numbers of the file."""
    source: LocatedContent
    prefix: Location
    """The location of the object in the document. Empty if the object is the whole document."""
    content: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.content.get("kind", ""))

    @property
    def name(self) -> str:
        """The object's name; empty if it has none."""
        metadata = self.content.get("metadata")
        return str(metadata.get("name") or "") if isinstance(metadata, Mapping) else ""

    def line_of(self, location: Location) -> int | None:
        """Return the line of a part of the object. If the object lacks it, return the line of the part around it."""
        return self.source.line_of((*self.prefix, *location))

    @property
    def own_faults(self) -> list[Fault]:
        """The faults of the object's text, such as repeated fields. Their locations begin at the object."""
        depth = len(self.prefix)
        return [
            Fault(fault.location[depth:], fault.line, fault.message)
            for fault in self.source.faults
            if fault.location[:depth] == self.prefix
        ]


def objects_in(text: str) -> Iterator[SourceObject | tuple[int, ConfigurationError]]:
    """Yield the policies and configurations of a text. If a document cannot be parsed, yield its number and the error.

    Documents that contain neither a policy nor a configuration are not parsed, because they may use unknown tags.
    """
    for number, document in enumerate(document_texts(text), 1):
        if not _RELEVANT.search(document):
            continue
        try:
            source = read_content(document)
        except ConfigurationError as error:
            yield number, error
            continue
        for prefix, content in _objects(source.content, ()):
            if content.get("kind") in {POLICY, CONFIGURATION}:
                yield SourceObject(number, document, source, prefix, content)


def _objects(content: Any, prefix: Location) -> Iterator[tuple[Location, Mapping[str, Any]]]:
    """Yield an object, or the objects of a list."""
    if not isinstance(content, Mapping):
        return
    if str(content.get("kind", "")).endswith("List") and "items" in content:
        for index, item in mappings_in(content["items"]):
            yield from _objects(item, (*prefix, "items", index))
    else:
        yield prefix, content

"""Splits a YAML text into documents. The faults of each document have line numbers of the whole text."""

import re
from collections.abc import Iterator

from moorage.configuration.content_reader import read_content
from moorage.configuration.located_content import LocatedContent

_SEPARATOR = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_COMMENTS = re.compile(r"\s*(#[^\n]*\s*|\.\.\.\s*)*")


def document_texts(text: str) -> Iterator[str]:
    """Yield the documents that are not empty. Empty lines replace the text before each document.

    So the line numbers of a document are those of the whole text. A text in JSON is one document.
    """
    if text.lstrip().startswith("{"):
        yield text
        return
    starts = [match.end() for match in _SEPARATOR.finditer(text)]
    ends = [match.start() for match in _SEPARATOR.finditer(text)]
    for start, end in zip([0, *starts], [*ends, len(text)], strict=True):
        document = text[start:end]
        if not _COMMENTS.fullmatch(document.removeprefix("\ufeff")):
            yield "\n" * text.count("\n", 0, start) + document


def read_documents(text: str) -> list[LocatedContent]:
    """Parse all documents that are not empty. Raise ConfigurationError at the first document that is not valid."""
    return [read_content(document) for document in document_texts(text)]

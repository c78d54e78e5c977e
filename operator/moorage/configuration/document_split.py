"""Splits a text into its YAML documents; the line numbers of each document are those of the whole text."""

import re
from itertools import pairwise

_SEPARATOR = re.compile(r"^---(?=\s|$)", re.MULTILINE)


def split_documents(text: str) -> list[str]:
    """Return the documents of a text. Each one begins with as many empty lines as the text has lines before it."""
    starts = [match.start() for match in _SEPARATOR.finditer(text)]
    bounds = [0, *(start for start in starts if start), len(text)]
    return [
        "\n" * text.count("\n", 0, start) + text[start:end]
        for start, end in pairwise(bounds)
        if text[start:end].strip()
    ]

"""Explains faults of files that are templates: a tool such as Helm should have rendered them first."""

import re
from collections.abc import Iterable, Iterator

from moorage.errors import Fault

_ACTION = re.compile(r"\{\{.*?(\}\}|$)|\{%.*?(%\}|$)|<%.*?(%>|$)")
"""An action of Helm, Jinja or ERB. Outside quotes, an action makes YAML invalid."""
_VARIABLE = re.compile(r"\$\{.*?\}")
"""A variable for envsubst. A variable is valid YAML, so it can cause only faults on the same line."""
SHOWN_LENGTH = 60
"""The maximum length of an action or a variable in messages."""
_COMMENT = re.compile(r"(^|\s)#")


def explain(text: str, faults: Iterable[Fault]) -> list[Fault]:
    """Return the faults. If a line has an action or a variable, one fault that names it replaces the line's faults."""
    lines = text.splitlines()
    explained: dict[int, Fault] = {}
    rest = []
    for fault in faults:
        found = _first(lines[fault.line - 1 : fault.line], _ACTION, _VARIABLE) if fault.line else None
        if found and fault.line:
            explained.setdefault(fault.line, Fault(fault.location, fault.line, _message(found[1])))
        else:
            rest.append(fault)
    return [*rest, *explained.values()]


def template_fault(text: str) -> Fault | None:
    """Return a fault at the first action of a text that is not valid YAML; None if the text has no action."""
    found = _first(text.splitlines(), _ACTION)
    return Fault((), found[0], _message(found[1])) if found else None


def _first(lines: Iterable[str], *patterns: re.Pattern[str]) -> tuple[int, str] | None:
    return next(_matches(lines, patterns), None)


def _matches(lines: Iterable[str], patterns: tuple[re.Pattern[str], ...]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, start=1):
        for pattern in patterns:
            match = pattern.search(line)
            if match and not _COMMENT.search(line, 0, match.start()):
                yield number, match[0]


def _message(found: str) -> str:
    shown = found if len(found) <= SHOWN_LENGTH else f"{found[:SHOWN_LENGTH]}..."
    return f"{shown} is a template that was not rendered; render the file first, for example with `helm template`"

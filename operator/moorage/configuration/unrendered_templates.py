"""Explains faults of files that are templates: a tool such as Helm should have rendered them first."""

import re
from collections.abc import Iterable, Iterator

from moorage.errors import Fault

_ACTION = re.compile(r"\{\{.*?(\}\}|$)|\{%.*?(%\}|$)|<%.*?(%>|$)")
"""An action of Helm, Jinja or ERB. YAML can contain it only in quotes."""
_VARIABLE = re.compile(r"\$\{.*?\}")
"""A variable for envsubst. It is valid YAML, so it explains only faults of its own line."""
SHOWN_LENGTH = 60
"""Longer actions are cut in messages."""
_COMMENT = re.compile(r"(^|\s)#")


def explain(text: str, faults: Iterable[Fault]) -> list[Fault]:
    """Return the faults. On a line with an action or a variable, one fault that names it replaces all others."""
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
    """Return a fault at the first action; None if the text has none. Use it for texts that are not valid YAML."""
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

"""Reads the commands in code blocks and between backticks of the documentation."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "examples/**/*.md", "charts/*/*.md")
    for path in ROOT.glob(pattern)
)
_BLOCK = re.compile(r"^[ ]*```(\w+)\n(.*?)^[ ]*```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_PROMPT = "$ "


class Block(NamedTuple):
    """A code block of a page."""

    page: str
    language: str
    text: str


def blocks(page: str) -> list[Block]:
    """Return the code blocks of a page, in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [Block(page, match[1], match[2]) for match in _BLOCK.finditer(text)]


def scripts(page: str) -> list[str]:
    """Return the text of the shell blocks of a page. Of a console block, return only the commands."""
    return [
        block.text if block.language == "sh" else _typed(block.text)
        for block in blocks(page)
        if block.language in {"sh", "console"}
    ]


def commands(page: str, program: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of a program in shell blocks and inline code."""
    text = (ROOT / page).read_text(encoding="utf-8")
    inline = [match[1] for match in _INLINE.finditer(_BLOCK.sub("", text))]
    for script in (*scripts(page), *inline):
        for line in script.replace("\\\n", " ").splitlines():
            for part in re.split(r"\||&&|;", line.partition(" #")[0]):
                if part.split()[:1] == [program]:
                    yield shlex.split(part.partition(" > ")[0].removesuffix(" &"))[1:]


def _typed(console: str) -> str:
    return "".join(f"{line.removeprefix(_PROMPT)}\n" for line in console.splitlines() if line.startswith(_PROMPT))

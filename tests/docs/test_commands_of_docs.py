"""Every command in the documentation exists, and has the flags that the documentation shows.

The tests do not run the commands.
"""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
import typer

from docs.shell_blocks import PAGES, ROOT, commands, scripts
from moorage.cli.application import build_app

MOORAGE = typer.main.get_command(build_app())


@pytest.mark.parametrize("page", PAGES)
def test_shell_blocks_are_valid_bash(page: str) -> None:
    for script in scripts(page):
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stderr}in:\n{script}"


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_moorage_exist_with_their_flags(page: str) -> None:
    for words in commands(page, "moorage"):
        known, rest = _command_of(words)
        flags = {name for parameter in known.params for name in (*parameter.opts, *parameter.secondary_opts)}
        unknown = [word for word in rest if word.startswith("-") and word.partition("=")[0] not in flags | {"--help"}]
        assert not unknown, f"moorage {' '.join(words)}: no such flag: {unknown}"


@pytest.mark.parametrize("page", PAGES)
def test_targets_of_make_exist(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for words in commands(page, "make"):
        assert {word for word in words if "=" not in word} <= targets, f"make {' '.join(words)}"


@pytest.mark.parametrize("page", PAGES)
def test_files_of_examples_exist(page: str) -> None:
    for script in scripts(page):
        for path in re.findall(r"\bexamples/[\w./-]+", script):
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", PAGES)
def test_pages_call_programs_of_the_virtual_environment_by_name(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert set(re.findall(r"\.venv/bin/[\w-]+", text)) <= {".venv/bin/activate"}


def _command_of(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that the first words name, and the other words. Fail the test if there is no such command."""
    command: Any = MOORAGE
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        name, *words = words
        assert name in command.commands, f"moorage has no command {name}"
        command = command.commands[name]
    return command, words

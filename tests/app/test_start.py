"""The start of a leader: the first binding must not wait for imports of libraries that are needed only later."""

from __future__ import annotations

import subprocess
import sys

import pytest

IMPORTED_LATER = ("kopf", "kubernetes", "cryptography", "requests", "jinja2")
"""Libraries that take long to import, and that no binding needs."""
UNTIL_FIRST_BINDING = ("moorage.cli", "moorage.app", "moorage.app.logs", "moorage.app.operator")


@pytest.fixture(scope="module")
def imported() -> frozenset[str]:
    """The modules that a process has imported when it is ready to bind."""
    source = f"import sys, {', '.join(UNTIL_FIRST_BINDING)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


@pytest.mark.parametrize("library", IMPORTED_LATER)
def test_the_operator_does_not_import_the_library_before_its_first_binding(
    imported: frozenset[str], library: str
) -> None:
    assert library not in imported


def test_the_operator_does_not_import_the_sandbox(imported: frozenset[str]) -> None:
    assert not [name for name in imported if name.startswith("moorage.sandbox")]

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.command_line import Ended, Run
from moorage.cli.application import main


@pytest.fixture
def moorage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command line and returns its exit status, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str | Path) -> Ended:
        monkeypatch.setattr(sys, "argv", ["moorage", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(int(ended.value.code or 0), *capsys.readouterr())

    return run

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command_line import Ended, Run
from inventory.clusters import web_cluster
from loops import loop_in_thread
from moorage.api.crd import crd
from moorage.cli.application import main
from moorage.inventory import Inventory
from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.simulation.dumped_objects import create_dumped_objects


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


@pytest.fixture
def server() -> Iterator[SandboxServer]:
    """A sandbox that runs in another thread and has some objects."""
    server = SandboxServer(crds=[crd()])
    create_dumped_objects(server.registry, Inventory.of(web_cluster()))
    with loop_in_thread("sandbox") as loop:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
        yield server
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)


@pytest.fixture
def kubeconfig(server: SandboxServer, tmp_path: Path) -> Path:
    path = tmp_path / "kubeconfig"
    path.write_text(server.kubeconfig())
    return path

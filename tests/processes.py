"""moorage as users run it: a process of its own, to be started, killed and frozen like any other component."""

from __future__ import annotations

import sys
from pathlib import Path

from controlplane.component import Component, Endpoint
from controlplane.ports import Ports


def moorage(kubeconfig: Path, directory: Path, ports: Ports, *flags: str, name: str = "moorage") -> Component:
    """Return an operator that is yet to be started; its log is `NAME.log` in `directory`."""
    port = ports.take()
    command = [sys.executable, "-m", "moorage", "run", f"--kubeconfig={kubeconfig}", f"--port={port}", *flags]
    return Component(command, directory / f"{name}.log", Endpoint(f"http://127.0.0.1:{port}", ("/readyz",)))

"""moorage as users run it: a process of its own, to be started, killed and frozen like any other component."""

from __future__ import annotations

import sys
from pathlib import Path

from controlplane.component import Component, Endpoint
from controlplane.ports import Ports


def moorage(kubeconfig: Path, directory: Path, ports: Ports, *flags: str, name: str = "moorage") -> Component:
    """Start an operator and return it once it is ready; its log is `NAME.log` in `directory`."""
    return started(operator(kubeconfig, directory, ports, *flags, name=name))


def operator(
    kubeconfig: Path, directory: Path, ports: Ports, *flags: str, name: str = "moorage", ready: str = "/readyz"
) -> Component:
    """Prepare an operator; it counts as started once it answers under `ready`."""
    port = ports.take()
    command = [sys.executable, "-m", "moorage", "run", f"--kubeconfig={kubeconfig}", f"--port={port}", *flags]
    return Component(command, directory / f"{name}.log", Endpoint(f"http://127.0.0.1:{port}", (ready,)))


def sandbox(kubeconfig: Path, ports: Ports) -> Component:
    """Start the embedded API server with its default nodes; it writes `kubeconfig` before it is ready."""
    port = ports.take()
    command = [sys.executable, "-m", "moorage", "sandbox", f"--port={port}", f"--kubeconfig={kubeconfig}"]
    endpoint = Endpoint(f"http://127.0.0.1:{port}", ("/readyz",))
    return started(Component(command, kubeconfig.with_suffix(".log"), endpoint))


def started(component: Component) -> Component:
    """Start a component, and return it."""
    component.start()
    return component

"""Runs moorage as a separate process, as users do, so that tests can start, kill and freeze it."""

from __future__ import annotations

import sys
from pathlib import Path

from controlplane.component import Component, Endpoint
from controlplane.ports import Ports

EXTENDER_HOSTS = "--policy-extenders=127.0.0.1,localhost,extender,*.example.com"
"""Lets the tests' policies have extenders."""


def moorage(kubeconfig: Path, directory: Path, ports: Ports, *flags: str, name: str = "moorage") -> Component:
    """Start an operator and return it when it is ready; its log is `NAME.log` in `directory`."""
    return started(operator(kubeconfig, directory, ports, *flags, name=name))


def operator(
    kubeconfig: Path, directory: Path, ports: Ports, *flags: str, name: str = "moorage", ready: str = "/readyz"
) -> Component:
    """Return an operator that is not started yet; `start` will wait until the path `ready` answers."""
    port = ports.take()
    command = [sys.executable, "-m", "moorage", "run", f"--kubeconfig={kubeconfig}", f"--port={port}"]
    command += [EXTENDER_HOSTS, *flags]
    return Component(command, directory / f"{name}.log", Endpoint(f"http://127.0.0.1:{port}", (ready,)))


def sandbox(kubeconfig: Path, ports: Ports) -> Component:
    """Start the embedded API server with its default nodes; `kubeconfig` exists when it is ready."""
    port = ports.take()
    command = [sys.executable, "-m", "moorage", "sandbox", f"--port={port}", f"--kubeconfig={kubeconfig}"]
    endpoint = Endpoint(f"http://127.0.0.1:{port}", ("/readyz",))
    return started(Component(command, kubeconfig.with_suffix(".log"), endpoint))


def started(component: Component) -> Component:
    """Start a component and return it."""
    component.start()
    return component

"""Clusters in which tests run the operator: the embedded API server, and a real API server with the same nodes.

Tests use both clusters through kubectl, as a user does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.component import Component
from controlplane.launcher import ControlPlane
from controlplane.objects import create_nodes
from controlplane.ports import Ports
from loops import run
from moorage.api.crd import render
from moorage.sandbox.simulation.node_groups import load_node_groups
from processes import sandbox

WAIT_SECONDS = 60.0
POLL_SECONDS = 0.1
KUBECTL = Path(sysconfig.get_path("scripts")) / "kubectl"

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cluster:
    """An API server with nodes and the CRD, but no operator."""

    kubeconfig: Path
    directory: Path
    ports: Ports
    apiserver: Component | None = None
    """The API server's process; None if the API server runs in the test's process."""
    control_plane: ControlPlane | None = None
    """The control plane of a real API server; None for the embedded one."""

    def run(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run kubectl. Return its result, even if kubectl fails."""
        return subprocess.run(
            [KUBECTL, *arguments],
            input=text,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        """Run kubectl and return its output. If kubectl fails, raise AssertionError with the error output."""
        done = self.run(*arguments, text=text)
        if done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def refusal(self, *arguments: str, text: str | None = None) -> str:
        """Run a kubectl command that must fail. Return its error output."""
        done = self.run(*arguments, text=text)
        assert done.returncode, f"kubectl {' '.join(arguments)} was not refused: {done.stdout}"
        return done.stderr

    def get(self, *arguments: str) -> Any:
        """Return the object or list that `kubectl get` prints."""
        return json.loads(self.kubectl("get", *arguments, "--output=json"))

    def items(self, *arguments: str) -> list[Manifest]:
        """Return the items of the list that `kubectl get` prints."""
        found: list[Manifest] = self.get(*arguments)["items"]
        return found

    def apply(self, *manifests: Manifest | str) -> None:
        """Apply objects; a string is YAML text."""
        self.kubectl("apply", "--filename=-", text=as_text(*manifests))


def as_text(*manifests: Manifest | str) -> str:
    """Return objects as text for kubectl."""
    return "\n---\n".join(each if isinstance(each, str) else json.dumps(each) for each in manifests)


@contextmanager
def sandbox_cluster(directory: Path) -> Iterator[Cluster]:
    """Run `moorage sandbox` with its default nodes."""
    with closing(Ports()) as ports:
        kubeconfig = directory / "sandbox.kubeconfig"
        with sandbox(kubeconfig, ports) as apiserver:
            eventually(kubeconfig.exists)
            yield Cluster(kubeconfig, directory, ports, apiserver)


@contextmanager
def real_cluster(directory: Path, prepared: ControlPlane | None = None) -> Iterator[Cluster]:
    """Run a kube-apiserver with the sandbox's default nodes, but without kubelets."""
    with closing(Ports()) as ports, prepared or ControlPlane() as control_plane:
        run(create_nodes(control_plane, (node for group in load_node_groups() for node in group.nodes())))
        cluster = Cluster(control_plane.kubeconfig, directory, ports, control_plane.apiserver, control_plane)
        control_plane.install(render())
        yield cluster


def eventually(holds: Callable[[], object], seconds: float = WAIT_SECONDS) -> None:
    """Call `holds` until it returns something other than False.

    An AssertionError or a LookupError (a missing field) in `holds` counts as False. After `seconds`, the last error is
    raised.
    """
    deadline = time.monotonic() + seconds
    failure: Exception
    while True:
        try:
            if holds() is not False:
                return
            failure = AssertionError(f"{getattr(holds, '__name__', holds)} did not hold within {seconds:.0f} s")
        except (AssertionError, LookupError) as error:
            failure = error
        if time.monotonic() > deadline:
            raise failure
        time.sleep(POLL_SECONDS)

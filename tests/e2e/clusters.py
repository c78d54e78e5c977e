"""Clusters that an operator can be run against: the embedded API server, and a real one with the same nodes.

Both are used through kubectl alone, as a user would.
"""

from __future__ import annotations

import asyncio
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
    """The API server's process; None where it runs in the test's own."""
    control_plane: ControlPlane | None = None
    """What a real API server belongs to."""

    def run(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run kubectl, whatever comes of it."""
        return subprocess.run(
            [KUBECTL, *arguments],
            input=text,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        """Run kubectl and return what it prints; its complaint is the error's message."""
        done = self.run(*arguments, text=text)
        if done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def refusal(self, *arguments: str, text: str | None = None) -> str:
        """Return what kubectl complains of; it must."""
        done = self.run(*arguments, text=text)
        assert done.returncode, f"kubectl {' '.join(arguments)} was not refused: {done.stdout}"
        return done.stderr

    def get(self, *arguments: str) -> Any:
        """Return what `kubectl get` knows, as JSON."""
        return json.loads(self.kubectl("get", *arguments, "--output=json"))

    def items(self, *arguments: str) -> list[Manifest]:
        """Return the items of a list."""
        found: list[Manifest] = self.get(*arguments)["items"]
        return found

    def apply(self, *manifests: Manifest | str) -> None:
        """Apply objects, or YAML text."""
        self.kubectl("apply", "--filename=-", text=as_text(*manifests))


def as_text(*manifests: Manifest | str) -> str:
    """Write objects as kubectl reads them."""
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
    """Run a kube-apiserver with the sandbox's default nodes, and nothing that makes pods run."""
    with closing(Ports()) as ports, prepared or ControlPlane() as control_plane:
        asyncio.run(create_nodes(control_plane, (node for group in load_node_groups() for node in group.nodes())))
        cluster = Cluster(control_plane.kubeconfig, directory, ports, control_plane.apiserver, control_plane)
        cluster.apply(render())
        # A definition that has no status yet is an error to `kubectl wait`.
        eventually(lambda: cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"))
        yield cluster


def eventually(holds: Callable[[], object], seconds: float = WAIT_SECONDS) -> None:
    """Wait until something holds; what it last complained of, an object's missing field included, says what did not."""
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

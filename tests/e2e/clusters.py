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

from controlplane.launcher import ControlPlane
from controlplane.objects import create_nodes
from controlplane.ports import Ports
from moorage.api.crd import render
from moorage.sandbox.nodes import load_node_groups
from processes import sandbox

WAIT_SECONDS = 30.0
POLL_SECONDS = 0.1
KUBECTL = Path(sysconfig.get_path("scripts")) / "kubectl"

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cluster:
    """An API server with nodes and the CRD, but no operator."""

    kubeconfig: Path
    directory: Path
    ports: Ports

    def kubectl(self, *arguments: str, text: str | None = None, check: bool = True) -> str:
        """Run kubectl; its complaint is the error's message."""
        done = subprocess.run(
            [KUBECTL, *arguments],
            input=text,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout if check else done.stdout + done.stderr

    def get(self, *arguments: str) -> Any:
        """Return what `kubectl get` knows, as JSON."""
        return json.loads(self.kubectl("get", *arguments, "--output=json"))

    def items(self, *arguments: str) -> list[Manifest]:
        """Return the items of a list."""
        found: list[Manifest] = self.get(*arguments)["items"]
        return found

    def apply(self, manifest: Manifest | str) -> None:
        """Apply an object, or YAML text."""
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        self.kubectl("apply", "--filename=-", text=text)


@contextmanager
def sandbox_cluster(directory: Path) -> Iterator[Cluster]:
    """Run `moorage sandbox` with its default nodes."""
    with closing(Ports()) as ports:
        kubeconfig = directory / "sandbox.kubeconfig"
        with sandbox(kubeconfig, ports):
            eventually(kubeconfig.exists)
            yield Cluster(kubeconfig, directory, ports)


@contextmanager
def real_cluster(directory: Path) -> Iterator[Cluster]:
    """Run a kube-apiserver with the sandbox's default nodes, and nothing that makes pods run."""
    with closing(Ports()) as ports, ControlPlane() as control_plane:
        asyncio.run(create_nodes(control_plane, (node for group in load_node_groups() for node in group.nodes())))
        cluster = Cluster(control_plane.kubeconfig, directory, ports)
        cluster.apply(render())
        cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        yield cluster


def eventually(holds: Callable[[], object], seconds: float = WAIT_SECONDS) -> None:
    """Wait until something holds; the last AssertionError, or a plain one, says what did not."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if holds() is not False:
                return
            failure = AssertionError(f"{getattr(holds, '__name__', holds)} did not hold within {seconds:.0f} s")
        except AssertionError as error:
            failure = error
        if time.monotonic() > deadline:
            raise failure
        time.sleep(POLL_SECONDS)

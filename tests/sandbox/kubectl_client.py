"""Runs kubectl as a subprocess. The module has the manifests for the tests of kubectl."""

from __future__ import annotations

import asyncio
import os
import sysconfig
from pathlib import Path

from moorage.sandbox.api_server import SandboxServer
from sandbox.api_objects import binding
from sandbox.kube_api import connect

KUBECTL = Path(sysconfig.get_path("scripts")) / "kubectl"
NODES = """
nodeGroups:
  - {name: m5, count: 2, instanceType: m5.xlarge, cpu: "4", memory: 16Gi}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers: [{name: main, image: "nginx:1", resources: {requests: {cpu: 100m}}}]
"""
WIDGET = """
apiVersion: example.dev/v1
kind: Widget
metadata: {name: w}
spec: {weight: %d}
"""


class Kubectl:
    """kubectl with its own home directory."""

    def __init__(self, home: Path, server: SandboxServer) -> None:
        self.server = server
        self._environment = {**os.environ, "HOME": str(home), "KUBECONFIG": str(home / "config")}
        (home / "config").write_text(server.kubeconfig())

    async def __call__(self, *arguments: str, stdin: str = "", fails: bool = False, **environment: str) -> str:
        process = await asyncio.create_subprocess_exec(
            KUBECTL,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment | environment,
        )
        output, _ = await process.communicate(stdin.encode())
        text = output.decode()
        assert bool(process.returncode) is fails, text
        return text

    async def apply(self, manifest: str, *arguments: str, fails: bool = False) -> str:
        return await self("apply", "-f", "-", *arguments, stdin=manifest, fails=fails)

    async def bind(self, pod: str, node: str) -> None:
        """Bind a pod, and wait until it runs."""
        async with connect(self.server.url, self.server.token, "default") as api:
            await api.create(f"{api.pods}/{pod}/binding", binding(pod, node))
        await self("wait", "--for=condition=Ready", f"pod/{pod}", "--timeout=60s")

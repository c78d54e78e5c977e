"""Runs kubectl as a subprocess, so that the demo uses the same commands as a user."""

import asyncio
import json
import os
import shutil
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moorage.sandbox.demo.demo_error import DemoError


@dataclass(frozen=True, slots=True)
class Kubectl:
    """The kubectl program, with the kubeconfig of the demo's API server."""

    program: str
    kubeconfig: Path

    async def run(self, *arguments: str) -> str:
        """Run kubectl and return its output. If kubectl fails, raises DemoError with kubectl's error output."""
        process = await asyncio.create_subprocess_exec(
            self.program,
            *arguments,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
        if process.returncode:
            raise DemoError(f"kubectl {' '.join(arguments)} failed: {errors.decode().strip()}")
        return output.decode()

    async def json(self, *arguments: str) -> Any:
        """Run kubectl with JSON output and return the decoded value."""
        return json.loads(await self.run(*arguments, "--output=json"))


def find_kubectl() -> str:
    """Return the path of kubectl, from the PATH or else from the `sandbox` extra. Raises DemoError if there is none."""
    beside_python = Path(sysconfig.get_path("scripts")) / "kubectl"
    found = shutil.which("kubectl") or (str(beside_python) if beside_python.exists() else None)
    if found is None:
        raise DemoError("kubectl is missing; install it with: pip install 'moorage[sandbox]'")
    return found

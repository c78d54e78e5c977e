"""The command `moorage sandbox`: runs the embedded API server in the foreground."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from moorage.errors import MoorageError
from moorage.sandbox.api_server import CONTEXT, SandboxServer
from moorage.sandbox.signals import sigterm_as_interrupt
from moorage.sandbox.simulation.node_groups import load_node_groups


class SandboxError(MoorageError):
    """The sandbox cannot start. The message says why, and names the next step."""


async def serve(
    *,
    port: int = 0,
    nodes: Path | None = None,
    kubeconfig: Path = Path("sandbox.kubeconfig"),
    crds: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Serve simulated nodes until cancelled.

    Writes a kubeconfig, prints the line that points kubectl at it, and removes it at the end. `nodes` is a file of node
    groups; None means the built-in cluster. `crds` are CustomResourceDefinitions to install. Raises NodeGroupsError,
    SandboxError and OSError.
    """
    groups = load_node_groups(nodes)
    kubeconfig = kubeconfig.absolute()  # noqa: ASYNC240 - does not read the file system
    server = SandboxServer(port=port, node_groups=groups, crds=crds)
    with sigterm_as_interrupt():
        async with _listening(server, port), _kubeconfig_file(kubeconfig, server):
            count = sum(group.count for group in groups)
            print(f"{count} simulated nodes at {server.url}")  # noqa: T201 - a command's output
            print(f"export KUBECONFIG={kubeconfig}", flush=True)  # noqa: T201
            await asyncio.Event().wait()


@asynccontextmanager
async def _listening(server: SandboxServer, port: int) -> AsyncIterator[None]:
    try:
        await server.start()
    except OSError as error:
        raise SandboxError(f"cannot listen on port {port}: {error.strerror}; choose another --port") from error
    try:
        yield
    finally:
        await server.stop()


@asynccontextmanager
async def _kubeconfig_file(path: Path, server: SandboxServer) -> AsyncIterator[None]:
    """Write the kubeconfig and remove it at the end. Raises SandboxError instead of overwriting another cluster's."""
    await asyncio.to_thread(_write, path, server.kubeconfig())
    try:
        yield
    finally:
        await asyncio.to_thread(_remove, path, server.token)


def _write(path: Path, text: str) -> None:
    if path.exists() and not _is_sandbox_kubeconfig(path):
        raise SandboxError(f"{path} exists and is not a sandbox's kubeconfig; name another file with --kubeconfig")
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")


def _is_sandbox_kubeconfig(path: Path) -> bool:
    """Return whether a file is empty or a kubeconfig whose only cluster is a sandbox."""
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        return False
    match config:
        case None:
            return True
        case {"clusters": [{"name": name}]}:
            return bool(name == CONTEXT)
        case _:
            return False


def _remove(path: Path, token: str) -> None:
    """Remove a kubeconfig that holds `token`. Any other one belongs to another process by now."""
    if path.exists() and token in path.read_text(encoding="utf-8", errors="replace"):
        path.unlink()

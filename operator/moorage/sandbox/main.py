"""`moorage sandbox`: the embedded API server in the foreground."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from moorage.errors import MoorageError
from moorage.sandbox.server import CONTEXT, SandboxServer
from moorage.sandbox.signals import sigterm_as_interrupt
from moorage.sandbox.simulation.nodes import load_node_groups


class SandboxError(MoorageError):
    """The sandbox cannot start; the message says why, and what to do."""


async def serve(
    *,
    port: int = 0,
    nodes: Path | None = None,
    kubeconfig: Path = Path("sandbox.kubeconfig"),
    crds: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Serve simulated nodes until cancelled.

    Writes a kubeconfig, which is removed at the end, and prints the line that makes kubectl use it. `nodes` is a file
    of node groups (None: the built-in cluster), `crds` are CustomResourceDefinitions to install. Raises
    NodeGroupsError, SandboxError and OSError.
    """
    groups = load_node_groups(nodes)
    kubeconfig = kubeconfig.absolute()  # noqa: ASYNC240 - reads nothing
    server = SandboxServer(port=port, node_groups=groups, crds=crds)
    with sigterm_as_interrupt():
        async with _listening(server, port), _written(kubeconfig, server):
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
async def _written(kubeconfig: Path, server: SandboxServer) -> AsyncIterator[None]:
    """Keep a kubeconfig in place; never in that of another cluster, which is refused."""
    await asyncio.to_thread(_write, kubeconfig, server.kubeconfig())
    try:
        yield
    finally:
        await asyncio.to_thread(_remove, kubeconfig, server.token)


def _write(path: Path, text: str) -> None:
    if path.exists() and not _is_of_a_sandbox(path):
        raise SandboxError(f"{path} is there, and no sandbox wrote it; name another file with --kubeconfig")
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")


def _is_of_a_sandbox(path: Path) -> bool:
    """Whether a file is a kubeconfig that knows nothing but a sandbox; an empty one is in nobody's way."""
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
    """Remove a kubeconfig, unless another sandbox or somebody else has made it theirs."""
    if path.exists() and token in path.read_text(encoding="utf-8", errors="replace"):
        path.unlink()

"""`moorage sandbox`: the embedded API server in the foreground."""

import asyncio
from pathlib import Path

import yaml

from moorage.sandbox.nodes import load_node_groups
from moorage.sandbox.server import SandboxServer


async def serve(
    *,
    port: int = 0,
    nodes: Path | None = None,
    kubeconfig: Path = Path("sandbox.kubeconfig"),
    crds: tuple[Path, ...] = (),
) -> None:
    """Serve simulated nodes until cancelled.

    Writes a kubeconfig and prints the line that makes kubectl use it. `nodes` is a file of node groups (None: the
    built-in cluster), `crds` are files of CustomResourceDefinitions to install. Raises NodeGroupsError and OSError.
    """
    groups = load_node_groups(nodes)
    definitions = [document for path in crds for document in yaml.safe_load_all(path.read_text()) if document]
    async with SandboxServer(port=port, node_groups=groups, crds=definitions) as server:
        await asyncio.to_thread(_write_private, kubeconfig, server.kubeconfig())
        count = sum(group.count for group in groups)
        print(f"{count} simulated nodes at {server.url}")  # noqa: T201 - a command's output
        print(f"export KUBECONFIG={kubeconfig.resolve()}", flush=True)  # noqa: T201
        await asyncio.Event().wait()


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)

"""`moorage sandbox`: the embedded API server in the foreground."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moorage.sandbox.nodes import load_node_groups
from moorage.sandbox.server import SandboxServer


async def serve(
    *,
    port: int = 0,
    nodes: Path | None = None,
    kubeconfig: Path = Path("sandbox.kubeconfig"),
    crds: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Serve simulated nodes until cancelled.

    Writes a kubeconfig and prints the line that makes kubectl use it. `nodes` is a file of node groups (None: the
    built-in cluster), `crds` are CustomResourceDefinitions to install. Raises NodeGroupsError and OSError.
    """
    groups = load_node_groups(nodes)
    kubeconfig = kubeconfig.absolute()  # noqa: ASYNC240 - reads nothing
    async with SandboxServer(port=port, node_groups=groups, crds=crds) as server:
        await asyncio.to_thread(_write_private, kubeconfig, server.kubeconfig())
        count = sum(group.count for group in groups)
        print(f"{count} simulated nodes at {server.url}")  # noqa: T201 - a command's output
        print(f"export KUBECONFIG={kubeconfig}", flush=True)  # noqa: T201
        await asyncio.Event().wait()


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)

"""The command `moorage sandbox`: runs the embedded API server in the foreground."""

import asyncio
import http.client
import os
import urllib.request
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from moorage.errors import MoorageError
from moorage.inventory import check_objects, read_dump
from moorage.sandbox.api_server import CONTEXT, SandboxServer
from moorage.sandbox.signals import interruptible
from moorage.sandbox.simulation.dumped_objects import create_dumped_objects
from moorage.sandbox.simulation.node_groups import load_node_groups

PROBE_SECONDS = 2.0
"""The time limit for the answer of another sandbox. A sandbox that does not answer in time counts as running."""


class SandboxError(MoorageError):
    """An error that keeps the sandbox from starting. The message gives the reason and the next step."""


async def serve(
    *,
    port: int = 0,
    nodes: Path | None = None,
    dump: Path | None = None,
    kubeconfig: Path = Path("sandbox.kubeconfig"),
    crds: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Serve the API with simulated nodes until the task is cancelled.

    Writes a kubeconfig, prints the `export KUBECONFIG=...` line for kubectl, and removes the file at the end. `nodes`
    is a file of node groups; None means the built-in cluster. `dump` is a dump file whose objects replace the simulated
    nodes. `crds` are CustomResourceDefinitions to install. Raises NodeGroupsError, UnusableDump, SandboxError and
    OSError.
    """
    groups = [] if dump else load_node_groups(nodes)
    kubeconfig = kubeconfig.absolute()  # noqa: ASYNC240 - does not read the file system
    server = SandboxServer(port=port, node_groups=groups, crds=crds)
    count = sum(group.count for group in groups)
    if dump:
        inventory = read_dump(dump)
        check_objects(inventory)
        create_dumped_objects(server.registry, inventory)
        count = inventory.counts.get("Node", 0)
    with interruptible():
        async with _listening(server, port), _kubeconfig_file(kubeconfig, server):
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
    """Write the kubeconfig, and remove it at the end.

    Raises SandboxError if the path holds the kubeconfig of a running sandbox, or any other file.
    """
    await asyncio.to_thread(_write, path, server.kubeconfig())
    try:
        yield
    finally:
        await asyncio.to_thread(_remove, path, server.token)


def _write(path: Path, text: str) -> None:
    try:
        _create(path, text)
    except FileExistsError:
        _check_may_overwrite(path)
        path.unlink(missing_ok=True)
        _create(path, text)


def _create(path: Path, text: str) -> None:
    """Write a new file that only the user can read. Raises FileExistsError if the file exists."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _check_may_overwrite(path: Path) -> None:
    """Raise SandboxError, except if the file is empty or is the kubeconfig of a sandbox that has ended."""
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        config = "no kubeconfig"
    match config:
        case None:
            return
        case {
            "clusters": [{"name": name, "cluster": {"server": str(url)}}],
            "users": [{"user": {"token": str(token)}}],
        } if name == CONTEXT:
            if _answers(url, token):
                raise SandboxError(
                    f"{path} is the kubeconfig of a sandbox that runs at {url}; "
                    "name another file with --kubeconfig, or stop that sandbox"
                )
        case _:
            raise SandboxError(f"{path} exists and is not a sandbox's kubeconfig; name another file with --kubeconfig")


def _answers(url: str, token: str) -> bool:
    """Return whether the sandbox with this token runs. Another sandbox that has the same port refuses the token."""
    request = urllib.request.Request(f"{url}/api", headers={"Authorization": f"Bearer {token}"})  # noqa: S310
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=PROBE_SECONDS):
            return True
    except TimeoutError:
        return True  # the sandbox listens but does not answer, for example because a debugger has stopped it
    except (OSError, ValueError, http.client.HTTPException):
        return False


def _remove(path: Path, token: str) -> None:
    """Remove the kubeconfig if it contains `token`. If it does not, another process has replaced the file."""
    if path.exists() and token in path.read_text(encoding="utf-8", errors="replace"):
        path.unlink()

"""Forwards a port to a pod with `kubectl port-forward`, which supports all kinds of credentials in a kubeconfig."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from moorage.errors import NoOperator

if TYPE_CHECKING:
    from moorage.runtime.asking.lease_holder import OperatorPod

FORWARDING = re.compile(rb"Forwarding from 127\.0\.0\.1:(\d+) ->")
START_SECONDS = 15.0
MAX_ERROR_BYTES = 2000


@asynccontextmanager
async def forward_port(
    pod: OperatorPod, port: int, kubeconfig: Path | None, context: str | None, *, kubectl: str | None = None
) -> AsyncIterator[int]:
    """Forward a local port to the pod's `port`, and yield the local port. Stop forwarding when the block ends.

    `kubectl` is the path of the program; None means that the program is on the PATH. Raise NoOperator if the port
    cannot be forwarded.
    """
    program = kubectl or shutil.which("kubectl")
    if program is None:
        raise NoOperator("kubectl is not on the PATH; moorage needs it to reach the operator by `kubectl port-forward`")
    flags = [f"--kubeconfig={kubeconfig}"] if kubeconfig else []
    flags += [f"--context={context}"] if context else []
    process = await asyncio.create_subprocess_exec(
        program,
        *flags,
        "port-forward",
        f"--namespace={pod.namespace}",
        "--address=127.0.0.1",
        f"pod/{pod.name}",
        f":{port}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield await _local_port(process, pod)
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


async def _local_port(process: asyncio.subprocess.Process, pod: OperatorPod) -> int:
    assert process.stdout is not None
    assert process.stderr is not None
    reason = f"kubectl did not start within {START_SECONDS:.0f} s"
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            async for line in process.stdout:
                if found := FORWARDING.match(line):
                    return int(found[1])
            reason = (await process.stderr.read(MAX_ERROR_BYTES)).decode(errors="replace").strip()
    raise NoOperator(f"no port can be forwarded to the operator's pod {pod.namespace}/{pod.name}: {reason}")

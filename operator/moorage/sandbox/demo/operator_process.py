"""Runs the operator in a separate process, as users run it."""

import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from moorage.sandbox.demo.demo_error import DemoError

READY_SECONDS = 20.0
"""The time limit for the start of the operator, and for the policies to become Ready."""

POLL_SECONDS = 0.25
STOP_SECONDS = 10.0
SERVING = re.compile(r"serving on (\S+)")
"""Matches the log line that the operator writes after its start."""


@contextlib.asynccontextmanager
async def running_operator(kubeconfig: Path, log: Path) -> AsyncIterator[None]:
    """Run the operator until the context ends. If it does not start, raises DemoError with its log."""
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "moorage", "run", f"--kubeconfig={kubeconfig}", "--port=0"),
            stdout=output,
            stderr=output,
        )
    try:
        await _wait_for_start(process, log)
        yield
    finally:
        await _stop(process)


async def _wait_for_start(process: asyncio.subprocess.Process, log: Path) -> None:
    text = ""
    for _ in range(int(READY_SECONDS / POLL_SECONDS)):
        text = _read(log)
        if SERVING.search(text):
            return
        if process.returncode is not None:
            raise DemoError(f"the operator exited with status {process.returncode}:\n{text}")
        await asyncio.sleep(POLL_SECONDS)
    raise DemoError(f"the operator did not start within {READY_SECONDS:.0f} s:\n{text}")


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

"""Reads files with limits on size and time, because a path may name a device, a pipe or a file of gigabytes."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from select import POLLIN, poll
from time import monotonic

CHUNK_BYTES = 1 << 16
MILLISECONDS = 1000


def read_limited(path: Path | str, max_bytes: int, pipe_seconds: float = 0.0) -> bytes:
    """Return the content of a file.

    Raise OSError if the file cannot be read or is larger than `max_bytes`. A pipe, such as a shell's `<(command)`, may
    take `pipe_seconds` until its end. Other files never block.
    """
    deadline = monotonic() + pipe_seconds
    content = bytearray()
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0) as file:
        readable = poll()
        readable.register(file, POLLIN)
        while True:
            if not readable.poll(max(deadline - monotonic(), 0.0) * MILLISECONDS):
                raise OSError(errno.ETIMEDOUT, f"it is a pipe that did not end within {pipe_seconds:g} s", str(path))
            chunk = file.read(CHUNK_BYTES)
            if not chunk:
                return bytes(content)
            content += chunk
            if len(content) > max_bytes:
                raise OSError(errno.EFBIG, f"it is larger than {max_bytes} bytes", str(path))

"""Reads files that a policy's author names, but only below the directory that the administrator chose for them.

The kubelet mounts Secrets as symbolic links (`tls.crt -> ..data/tls.crt -> ..2026_12_01/tls.crt`). So links are
followed if they end below the directory. All failures look the same, so that an author cannot find out which other
files exist.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePath

MAX_FILE_BYTES = 64 * 1024
"""The size of the largest file that is read, enough for about forty certificates."""


def path_below(directory: Path, path: str) -> Path | None:
    """Join `path` to `directory`, unless `path` is absolute.

    Return the result if it is below `directory`, otherwise None. Does not follow links.
    """
    if "\0" in path or ".." in PurePath(path).parts:
        return None
    joined = directory / path
    return joined if joined != directory and joined.is_relative_to(directory) else None


def read_confined(directory: Path, path: str) -> bytes | None:
    """Return the content of a file below `directory`; None if the file must not be read or cannot be read.

    Only a regular file of at most MAX_FILE_BYTES is read. Never blocks on a FIFO or a device.
    """
    below = path_below(directory, path)
    if below is None:
        return None
    try:
        real = below.resolve(strict=True)
        if real.is_relative_to(directory.resolve(strict=True)) and real.is_file():
            return _read_regular_file(real)
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of links, before Python 3.13
        return None
    return None


def _read_regular_file(path: Path) -> bytes | None:
    # The path has no links now. O_NOFOLLOW and O_NONBLOCK protect against a link or a FIFO that has just replaced the
    # file.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = file.read(MAX_FILE_BYTES + 1)
    return content if len(content) <= MAX_FILE_BYTES else None

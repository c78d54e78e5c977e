"""The lock of a directory: one process at a time records to it."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

LOCK_NAME = ".lock"
_OWNER_ONLY = 0o600


class DirectoryInUse(OSError):  # noqa: N818 - reads as a sentence
    """The error that another process records to the directory."""


class DirectoryLock:
    """A lock on a directory. The system releases the lock when the process ends, even after a crash."""

    def __init__(self, directory: Path) -> None:
        """Prepare the lock; `take` acquires it."""
        self._directory = directory
        self._descriptor: int | None = None

    def take(self) -> None:
        """Create the directory if it does not exist, and take its lock. Raise OSError if that is not possible."""
        self._directory.mkdir(parents=True, exist_ok=True)
        if self._descriptor is not None:
            return
        path = self._directory / LOCK_NAME
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 1000).decode(errors="replace").strip()
            os.close(descriptor)
            raise DirectoryInUse(
                error.errno, f"{holder or 'another process'} records there; give each operator its own directory"
            ) from error
        except BaseException:
            os.close(descriptor)
            raise
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Release the lock if this process holds it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

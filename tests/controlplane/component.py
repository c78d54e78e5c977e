"""Runs one program as a process. Tests can start, stop, kill, pause and resume it by its process id.

    stopped --start--> running --stop, kill--> stopped
                        |   ^
                      pause resume             (SIGSTOP: connections stay open, but get no answers)

The process stays in the caller's process group, so that Ctrl-C or a closed terminal ends it with the test run. A
`Guard` kills the process if the test run is killed.
"""

import http.client
import ssl
import subprocess
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM, Signals
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from controlplane.guard import Guard

LOG_TAIL_LINES = 25
POLL_SECONDS = 0.02
START_TIMEOUT_SECONDS = 60.0
STOP_TIMEOUT_SECONDS = 30.0
PROBE_TIMEOUT_SECONDS = 2.0
READ_TIMEOUT_SECONDS = 30.0


class ControlPlaneError(Exception):
    """A program failed to start, to get ready or to run. The message has the output of the program."""


@dataclass(frozen=True)
class Endpoint:
    """A program's URL, and the paths that answer 200 when it is ready."""

    url: str
    ready_paths: tuple[str, ...]
    ca_file: Path | None = None
    token: str | None = None

    def ready(self) -> bool:
        """Return whether every path answers 200. Return False if there is no connection or no certificate yet."""
        try:
            return all(self._get(path, PROBE_TIMEOUT_SECONDS)[0] == http.HTTPStatus.OK for path in self.ready_paths)
        except (OSError, http.client.HTTPException):
            return False

    def read(self, path: str) -> str:
        """Return the body of the answer to a GET of a path, such as `/metrics`."""
        status, body = self._get(path)
        if status != http.HTTPStatus.OK:
            raise ControlPlaneError(f"GET {self.url}{path}: {status}: {body}")
        return body

    def _get(self, path: str, timeout_seconds: float = READ_TIMEOUT_SECONDS) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        with closing(self._connection(timeout_seconds)) as connection:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return response.status, response.read().decode()

    def _connection(self, timeout_seconds: float) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        host, port = parts.hostname or "", parts.port
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=timeout_seconds)
        context = ssl.create_default_context(cafile=self.ca_file)
        return http.client.HTTPSConnection(host, port, timeout=timeout_seconds, context=context)


class Component:
    """A program with its command line, log file, endpoint and process.

    The end of a `with` block stops the program: `with control_plane.start_scheduler(): ...`
    """

    def __init__(self, command: Sequence[str | Path], log: Path, endpoint: Endpoint) -> None:
        self.name = Path(command[0]).name
        self.command = [str(part) for part in command]
        self.log = log
        self.endpoint = endpoint
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Whether the process exists, even if it is paused."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of the last start."""
        if self._process is None:
            raise ControlPlaneError(f"{self.name} was never started")
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while the process runs, negative after a signal."""
        return None if self._process is None else self._process.poll()

    def start(self, timeout_seconds: float = START_TIMEOUT_SECONDS) -> None:
        """Start the program, and return when it is ready."""
        if self.running:
            raise ControlPlaneError(f"{self.name} is running already")
        with self.log.open("ab") as log:
            process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._end_guard()
        self._process, self._guard = process, Guard(process.pid)
        deadline = time.monotonic() + timeout_seconds
        while not self.endpoint.ready():
            if process.poll() is not None:
                self._reap()
                raise self._failure(f"ended with exit code {process.returncode} before it was ready")
            if time.monotonic() > deadline:
                self.kill()
                raise self._failure(f"was not ready after {timeout_seconds:.0f} s")
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """Send SIGTERM, and kill the program if it still runs after STOP_TIMEOUT_SECONDS."""
        self._signal(SIGTERM)
        self.resume()
        try:
            self._reap()
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill the program at once, like a crash."""
        self._signal(SIGKILL)
        self._reap()

    def pause(self) -> None:
        """Freeze the program: its connections stay open, but it does not answer."""
        self._signal(SIGSTOP)

    def resume(self) -> None:
        """Resume a frozen program."""
        self._signal(SIGCONT)

    def log_tail(self) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:])

    def _signal(self, number: Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def _reap(self) -> None:
        if self._process is not None:
            self._process.wait(STOP_TIMEOUT_SECONDS)
        self._end_guard()

    def _end_guard(self) -> None:
        if self._guard is not None:
            self._guard.end()
            self._guard = None

    def _failure(self, what: str) -> ControlPlaneError:
        return ControlPlaneError(f"{self.name} {what}; the end of its log:\n{self.log_tail()}")

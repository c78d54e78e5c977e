"""The class Component, with small programs instead of the programs of a control plane."""

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from controlplane.component import POLL_SECONDS, Component, ControlPlaneError, Endpoint
from controlplane.ports import LOOPBACK, Ports


@pytest.fixture
def port() -> Iterator[int]:
    ports = Ports()
    yield ports.take()
    ports.close()


@pytest.fixture
def server(tmp_path: Path, port: int) -> Iterator[Component]:
    """A web server for a folder of logs."""
    command = [sys.executable, "-m", "http.server", "--bind", LOOPBACK, "--directory", str(tmp_path), str(port)]
    component = Component(command, tmp_path / "server.log", Endpoint(f"http://{LOOPBACK}:{port}", ("/",)))
    yield component
    component.stop()


def test_start_returns_when_the_program_answers(server: Component) -> None:
    server.start()

    assert server.running
    assert server.endpoint.ready()


def test_a_killed_program_can_be_started_again(server: Component) -> None:
    server.start()
    first = server.pid
    server.kill()
    stopped = server.running
    server.start()

    assert not stopped
    assert server.pid != first
    assert server.endpoint.ready()


def test_a_paused_program_does_not_answer_until_it_is_resumed(server: Component) -> None:
    server.start()
    server.pause()
    paused = server.endpoint.ready()
    server.resume()

    assert server.running
    assert not paused
    assert server.endpoint.ready()


def test_a_paused_program_can_be_stopped(server: Component) -> None:
    server.start()
    server.pause()
    server.stop()

    assert not server.running


def test_a_second_start_is_refused(server: Component) -> None:
    server.start()

    with pytest.raises(ControlPlaneError, match="running already"):
        server.start()


def test_the_error_of_a_program_that_ends_early_has_its_output(tmp_path: Path, port: int) -> None:
    command = ["/bin/sh", "-c", "echo no such flag; exit 3"]
    component = Component(command, tmp_path / "log", Endpoint(f"http://{LOOPBACK}:{port}", ("/",)))

    with pytest.raises(ControlPlaneError, match=r"ended with exit code 3 .*\n.*no such flag"):
        component.start()


@dataclass(frozen=True)
class UnreadyEndpoint(Endpoint):
    """The endpoint of a program that prints something, but never gets ready."""

    log: Path = Path()

    def ready(self) -> bool:
        """Wait until the program has printed something, and return False."""
        while not self.log.stat().st_size:
            time.sleep(POLL_SECONDS)
        return False


def test_a_program_that_never_gets_ready_is_killed_and_the_error_has_its_output(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "echo still thinking; exec sleep 60"]
    component = Component(command, tmp_path / "log", UnreadyEndpoint("", (), log=tmp_path / "log"))

    with pytest.raises(ControlPlaneError, match=r"not ready after .*\n.*still thinking"):
        component.start(timeout_seconds=0.0)
    assert not component.running


def test_stopping_a_program_that_never_started_does_nothing(server: Component) -> None:
    server.stop()

    assert not server.running


TEST_RUN = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from controlplane.component import Component, Endpoint
Component({command!r}, Path({log!r}), Endpoint({url!r}, ("/",))).start()
print("started", flush=True)
time.sleep(60)
"""


def test_a_program_is_killed_if_its_test_run_is_killed(server: Component) -> None:
    tests, url = str(Path(__file__).parents[1]), server.endpoint.url
    code = TEST_RUN.format(tests=tests, command=server.command, log=str(server.log), url=url)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as test_run:
        assert test_run.stdout
        assert test_run.stdout.readline() == "started\n"
        assert server.endpoint.ready()
        test_run.kill()
    while server.endpoint.ready():
        time.sleep(POLL_SECONDS)

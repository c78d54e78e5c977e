"""The class Component, with small programs instead of the programs of a control plane."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.component import Component, ControlPlaneError, Endpoint
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


def test_a_program_that_never_answers_is_killed_and_the_error_has_its_output(tmp_path: Path, port: int) -> None:
    command = ["/bin/sh", "-c", "echo still thinking; exec sleep 60"]
    component = Component(command, tmp_path / "log", Endpoint(f"http://{LOOPBACK}:{port}", ("/",)))

    with pytest.raises(ControlPlaneError, match=r"not ready after .*\n.*still thinking"):
        component.start(timeout_seconds=0.2)
    assert not component.running


def test_stopping_a_program_that_never_started_does_nothing(server: Component) -> None:
    server.stop()

    assert not server.running

"""The command `moorage sandbox`: its kubeconfig, its errors and its end."""

# ruff: noqa: ASYNC240 - the files are small, so blocking reads delay no other task

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.main import SandboxError, serve
from moorage.sandbox.simulation.node_groups import load_node_groups
from sandbox.kube_api import connect, until

OTHER_CLUSTER = "clusters: [{name: production}]\ncurrent-context: production\n"
NODES = 'nodeGroups: [{name: a, count: 1, instanceType: m5.xlarge, cpu: "4", memory: 16Gi}]\n'


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return tmp_path / "config"


@asynccontextmanager
async def serving(kubeconfig: Path, **options: Any) -> AsyncIterator[Callable[[], str]]:
    """Serve until the context ends. Yields a function that reads the written kubeconfig."""
    before = kubeconfig.read_text() if kubeconfig.exists() else ""
    task = asyncio.create_task(serve(kubeconfig=kubeconfig, **options))

    async def written() -> bool:
        return task.done() or (kubeconfig.exists() and kubeconfig.read_text() not in {"", before})

    await until(written)
    if task.done():
        await task
    yield kubeconfig.read_text
    task.cancel()
    await asyncio.wait([task])


async def test_serve_writes_a_private_kubeconfig_and_prints_its_path(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with serving(kubeconfig) as read:
        config = yaml.safe_load(read())
        token = config["users"][0]["user"]["token"]
        async with connect(config["clusters"][0]["cluster"]["server"], token, "default") as api:
            nodes = await api.names("/api/v1/nodes")
        assert kubeconfig.stat().st_mode & 0o077 == 0
    assert len(nodes) == sum(group.count for group in load_node_groups())
    assert capsys.readouterr().out.splitlines()[1] == f"export KUBECONFIG={kubeconfig}"


async def test_serve_removes_the_kubeconfig_at_the_end(kubeconfig: Path) -> None:
    async with serving(kubeconfig):
        assert kubeconfig.exists()
    assert not kubeconfig.exists()


async def test_serve_does_not_remove_the_kubeconfig_of_another_cluster(kubeconfig: Path) -> None:
    async with serving(kubeconfig):
        kubeconfig.write_text(OTHER_CLUSTER)
    assert kubeconfig.read_text() == OTHER_CLUSTER


@pytest.mark.parametrize("text", [OTHER_CLUSTER, "no: kubeconfig\n", "{", "[]", "clusters: 1"])
async def test_serve_does_not_overwrite_a_file_that_is_not_a_kubeconfig_of_a_sandbox(
    kubeconfig: Path, text: str
) -> None:
    kubeconfig.write_text(text)
    with pytest.raises(SandboxError, match=r"is not a sandbox's kubeconfig; name another file with --kubeconfig"):
        await serve(kubeconfig=kubeconfig)
    assert kubeconfig.read_text() == text


async def test_serve_overwrites_the_kubeconfig_of_a_killed_sandbox(kubeconfig: Path) -> None:
    kubeconfig.write_text(SandboxServer(port=1).kubeconfig())
    async with serving(kubeconfig) as read:
        assert "http://127.0.0.1:1\n" not in read()


async def test_second_sandbox_does_not_overwrite_the_kubeconfig_of_a_running_sandbox(kubeconfig: Path) -> None:
    async with serving(kubeconfig) as read:
        first = read()
        with pytest.raises(SandboxError, match=r"of a sandbox that runs at http://127\.0\.0\.1:\d+; name another file"):
            await serve(kubeconfig=kubeconfig)
        assert read() == first
        async with serving(kubeconfig.with_name("second")) as read_second:
            assert read_second() != first


async def test_serve_overwrites_the_kubeconfig_if_another_sandbox_has_its_port(kubeconfig: Path) -> None:
    async with SandboxServer() as other:
        kubeconfig.write_text(other.kubeconfig().replace(other.token, "x" * 32))
        async with serving(kubeconfig) as read:
            assert other.url not in read()


async def test_error_for_a_port_in_use_names_the_next_step(kubeconfig: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SandboxError, match=f"cannot listen on port {port}: .*; choose another --port"):
            await serve(port=port, kubeconfig=kubeconfig)
    assert not kubeconfig.exists()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    "shell", [[], ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]], ids=["terminal", "background job"]
)
def test_sigterm_and_sigint_remove_the_kubeconfig(
    tmp_path: Path, kubeconfig: Path, ending: signal.Signals, shell: list[str]
) -> None:
    """A background job of a shell script ignores SIGINT."""
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text(NODES)
    command = [*shell, sys.executable, "-m", "moorage", "sandbox", f"--kubeconfig={kubeconfig}", f"--nodes={nodes}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("1 simulated nodes at ")
        process.send_signal(ending)
        assert process.wait(timeout=60) == 130
    assert not kubeconfig.exists()

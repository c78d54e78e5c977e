import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from moorage.errors import CredentialsError
from moorage.runtime.client.exec_plugin import run_plugin

VERSION = "client.authentication.k8s.io/v1"


def script(body: str) -> dict[str, Any]:
    """Configure a plugin that is a line of Python."""
    return {"apiVersion": VERSION, "command": sys.executable, "args": ["-c", body]}


def answering(status: str) -> dict[str, Any]:
    return script(f"""print('{{"apiVersion": "{VERSION}", "status": {status}}}')""")


def hanging(pid_file: Path) -> dict[str, Any]:
    return script(
        f"import os, time; t = open('{pid_file}.new', 'w'); t.write(str(os.getpid())); t.close(); "
        f"os.rename('{pid_file}.new', '{pid_file}'); time.sleep(100)"
    )


def is_running(pid_file: Path) -> bool:
    try:
        os.kill(int(pid_file.read_text()), 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_plugin_that_hangs_is_killed_and_named(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    with pytest.raises(CredentialsError, match="gave no credential within 1 s"):
        await run_plugin(hanging(pid_file), seconds=1)
    assert not is_running(pid_file)


async def test_a_plugin_does_not_outlive_who_waits_for_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    task = asyncio.create_task(run_plugin(hanging(pid_file)))
    while not pid_file.exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not is_running(pid_file)


async def test_what_a_plugin_has_started_ends_with_it() -> None:
    plugin = {"apiVersion": VERSION, "command": "sh", "args": ["-c", "sleep 100; true"]}
    async with asyncio.timeout(5):
        with pytest.raises(CredentialsError, match="no credential within"):
            await run_plugin(plugin, seconds=0.2)


async def test_a_client_certificate_becomes_the_user_s() -> None:
    found = await run_plugin(answering('{"clientCertificateData": "a", "clientKeyData": "b"}'))
    assert found.as_user() == {"client-certificate-data": "YQ==", "client-key-data": "Yg=="}
    assert found.expires_at is None


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        ({"apiVersion": VERSION}, "command and apiVersion must be set"),
        ({"apiVersion": VERSION, "command": "/nowhere/plugin"}, "'/nowhere/plugin' cannot be run: .*No such file"),
        (script("raise SystemExit('log in first')"), "ended with status 1: log in first"),
        (script("print('hello')"), "printed no ExecCredential"),
        (answering("{}"), "neither a token nor a client certificate"),
        (answering('{"token": "a"}') | {"apiVersion": "other/v1"}, "answers in .*/v1, not in other/v1"),
    ],
)
async def test_what_a_plugin_does_wrong_is_said(plugin: dict[str, Any], words: str) -> None:
    with pytest.raises(CredentialsError, match=words):
        await run_plugin(plugin)

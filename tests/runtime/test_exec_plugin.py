"""Credential plugins: their time limit, their processes and their faults."""

import asyncio
import os
import sys
from pathlib import Path

import msgspec
import pytest

from kubeconfigs import EXEC_VERSION
from moorage.errors import CredentialsError
from moorage.runtime.client.exec_plugin import run_plugin
from moorage.runtime.client.kubeconfig import ExecConfig

END_SECONDS = 60.0
"""Enough on a busy machine, but shorter than the plugins sleep."""


def script(body: str) -> ExecConfig:
    """Return the configuration of a plugin that runs one line of Python."""
    return ExecConfig(api_version=EXEC_VERSION, command=sys.executable, args=("-c", body))


def answering(status: str) -> ExecConfig:
    return script(f"""print('{{"apiVersion": "{EXEC_VERSION}", "kind": "ExecCredential", "status": {status}}}')""")


def hanging(pid_file: Path) -> ExecConfig:
    return script(
        f"import os, time; t = open('{pid_file}.new', 'w'); t.write(str(os.getpid())); t.close(); "
        f"os.rename('{pid_file}.new', '{pid_file}'); time.sleep(100)"
    )


def is_running(pid_file: Path) -> bool:
    """Return whether the plugin runs. A plugin that was killed before it wrote its process id does not run."""
    try:
        os.kill(int(pid_file.read_text()), 0)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return True


async def test_a_hanging_plugin_is_killed_and_named(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    with pytest.raises(CredentialsError, match="gave no credential within 1 s"):
        await run_plugin(hanging(pid_file), seconds=1)
    assert not is_running(pid_file)


async def test_a_plugin_that_answers_late_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    await run_plugin(answering('{"token": "quick"}'), slow_seconds=60)
    quick = caplog.messages[:]
    with pytest.raises(CredentialsError):
        await run_plugin(script("import time; time.sleep(100)"), seconds=0.5, slow_seconds=0.1)
    assert quick == []
    assert [message.partition(";")[0] for message in caplog.messages] == [
        f"The credential plugin {sys.executable} has not answered for 0.1 s"
    ]


async def test_a_plugin_is_killed_when_its_caller_is_cancelled(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    task = asyncio.create_task(run_plugin(hanging(pid_file)))
    while not pid_file.exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not is_running(pid_file)


async def test_the_children_of_a_plugin_are_killed_with_it() -> None:
    plugin = ExecConfig(api_version=EXEC_VERSION, command="sh", args=("-c", "sleep 100; true"))
    async with asyncio.timeout(END_SECONDS):
        with pytest.raises(CredentialsError, match="no credential within"):
            await run_plugin(plugin, seconds=0.2)


async def test_an_answer_in_yaml_is_read_as_kubectl_reads_it() -> None:
    text = f"apiVersion: {EXEC_VERSION}\\nkind: ExecCredential\\nstatus:\\n  token: a"
    expiry = "\\n  expirationTimestamp: 2030-01-01T00:00:00Z"
    assert (await run_plugin(script(f"print('{text}{expiry}')"))).expires_at == 1_893_456_000.0


async def test_a_client_certificate_is_returned_with_its_key() -> None:
    found = await run_plugin(answering('{"clientCertificateData": "a", "clientKeyData": "b"}'))
    assert (found.token, found.certificate, found.key, found.expires_at) == (None, "a", "b", None)


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (ExecConfig(command="/nowhere/plugin"), "'/nowhere/plugin' cannot be run: .*No such file"),
        (script("raise SystemExit('log in first')"), "ended with status 1: log in first"),
        (script("print('hello')"), "printed no ExecCredential"),
        (answering("{}"), "neither a token nor a client certificate"),
        (answering('{"token": "a", "expirationTimestamp": "2030-01-01T00:00:00"}'), "no ExecCredential: .*timezone"),
        (script(f"""print('{{"apiVersion": "{EXEC_VERSION}", "status": {{}}}}')"""), "no ExecCredential: .*`kind`"),
        (answering('{"token": "a", "clientKeyData": "b"}'), "gave only one of a client certificate and its key"),
        (msgspec.structs.replace(answering('{"token": "a"}'), api_version="other/v1"), "answers in .*/v1, not in othe"),
    ],
)
async def test_a_fault_of_a_plugin_is_named(plugin: ExecConfig, message: str) -> None:
    with pytest.raises(CredentialsError, match=message):
        await run_plugin(plugin)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_plugin_that_never_stops_printing_is_killed(stream: str) -> None:
    plugin = script(f"import sys\nwhile True: sys.{stream}.write('x' * 100_000)")
    message = "printed more than 1048576 bytes" if stream == "stdout" else "no credential within 0.5 s"
    async with asyncio.timeout(END_SECONDS):
        with pytest.raises(CredentialsError, match=message):
            await run_plugin(plugin, seconds=0.5 if stream == "stderr" else END_SECONDS)


async def test_the_text_of_a_plugin_cannot_forge_log_lines() -> None:
    with pytest.raises(CredentialsError) as caught:
        await run_plugin(script(r"import sys; sys.exit('one\ntwo\x1b[1m' + 'x' * 10_000)"))
    message = str(caught.value)
    assert "one two[1mxxx" in message
    assert message.isprintable()
    assert len(message) < 1_200

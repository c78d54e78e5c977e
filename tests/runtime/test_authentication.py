"""Tokens in files that other processes rotate."""

import logging
import os
from pathlib import Path

import pytest

from fakes import FakeClock
from moorage.errors import CredentialsError
from moorage.runtime.client.authentication import RENEWAL_PAUSE_SECONDS, REREAD_SECONDS, FileTokens


async def test_a_token_file_is_read_again_each_minute_and_right_after_a_401(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", FakeClock()
    path.write_text("one\n")
    tokens = FileTokens(path, clock)
    path.write_text("two")
    assert await tokens.current() == "Bearer one"
    clock.now += RENEWAL_PAUSE_SECONDS
    await tokens.renew()
    assert await tokens.current() == "Bearer two"
    path.write_text("three")
    await tokens.renew()
    assert await tokens.current() == "Bearer two"
    clock.now += REREAD_SECONDS
    assert await tokens.current() == "Bearer three"


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff\xfe", "tök".encode(), b"two\nlines"])
async def test_an_unusable_token_file_leaves_the_last_token_in_use_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    caplog.set_level(logging.INFO)
    path, clock = tmp_path / "token", FakeClock()
    path.write_text("one")
    tokens = FileTokens(path, clock)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    for _ in range(3):
        clock.now += REREAD_SECONDS
        assert await tokens.current() == "Bearer one"
    path.write_text("two")
    clock.now += RENEWAL_PAUSE_SECONDS
    await tokens.renew()
    assert await tokens.current() == "Bearer two"
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert caplog.messages[0].startswith(f"The token file {path} cannot be used; its last good state stays in use")
    assert caplog.messages[1] == f"The token file {path} can be used again"


def test_a_token_file_that_is_a_device_or_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (("/dev/zero", "it is larger than 65536 bytes"), ("pipe", "it is a pipe that did not end")):
        with pytest.raises(CredentialsError, match=f"cannot be read: {reason}"):
            FileTokens(tmp_path / path, FakeClock())


def test_the_first_token_must_be_readable(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=f"{tmp_path}/token cannot be read: No such file"):
        FileTokens(tmp_path / "token", FakeClock())

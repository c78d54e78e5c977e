import os
import threading
from pathlib import Path

import pytest

from moorage.limited_file import read_limited


def test_a_file_up_to_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    assert read_limited(tmp_path / "file", 100_000) == b"x" * 100_000
    assert read_limited(os.devnull, 10) == b""


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom"])
def test_a_device_without_end_is_refused(path: str) -> None:
    with pytest.raises(OSError, match="it is larger than 1000000 bytes"):
        read_limited(path, 1_000_000)


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="it is larger than 1000 bytes"):
        read_limited(tmp_path / "sparse", 1000)


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_a_pipe_that_nothing_writes_to_is_refused(tmp_path: Path, seconds: float) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=f"it is a pipe that did not end within {seconds:g} s"):
        read_limited(tmp_path / "pipe", 1000, seconds)


def test_a_pipe_that_does_not_end_is_refused() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x")
    try:
        with pytest.raises(OSError, match="it is a pipe that did not end"):
            read_limited(f"/dev/fd/{reading}", 1000)
    finally:
        os.close(reading)
        os.close(writing)


def test_a_pipe_is_read_to_its_end() -> None:
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(b"x" * 200_000)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert read_limited(f"/dev/fd/{reading}", 1_000_000, 10) == b"x" * 200_000
    finally:
        writer.join()
        os.close(reading)


def test_a_directory_and_a_missing_file_are_named_by_the_system(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_limited(tmp_path, 10)
    with pytest.raises(FileNotFoundError):
        read_limited(tmp_path / "missing", 10)

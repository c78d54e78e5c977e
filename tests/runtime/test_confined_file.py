"""read_confined: reads only files below one directory."""

import os
from pathlib import Path

import pytest

from moorage.errors import UnusableTls
from moorage.runtime.tls.confined_file import MAX_FILE_BYTES, read_confined
from moorage.runtime.tls.pem import Pem


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """A directory with a Secret as the kubelet mounts it, next to a file that policies must not read."""
    directory = tmp_path / "policies"
    version = directory / "team-a" / "..2026_12_01"
    version.mkdir(parents=True)
    (version / "ca.crt").write_bytes(b"-----BEGIN CERTIFICATE-----")
    (directory / "team-a" / "..data").symlink_to("..2026_12_01")
    (directory / "team-a" / "ca.crt").symlink_to("..data/ca.crt")
    (tmp_path / "token").write_bytes(b"-----BEGIN SECRET-----")
    return directory


@pytest.mark.parametrize("path", ["team-a/ca.crt", "{}/team-a/ca.crt", "./team-a//ca.crt"])
def test_a_mounted_secret_is_read_through_its_links(mounted: Path, path: str) -> None:
    assert read_confined(mounted, path.format(mounted)) == b"-----BEGIN CERTIFICATE-----"


def test_the_directory_itself_may_be_a_link(mounted: Path) -> None:
    link = mounted.parent / "link"
    link.symlink_to(mounted)
    assert read_confined(link, str(link / "team-a" / "ca.crt")) is not None


@pytest.mark.parametrize(
    "path", ["../token", "{}/../token", "/etc/hostname", "team-a/../../token", "", ".", "a\0b", "{}"]
)
def test_a_path_outside_is_not_read(mounted: Path, path: str) -> None:
    assert read_confined(mounted, path.format(mounted)) is None


@pytest.mark.parametrize("target", ["../token", "/dev/zero", "/proc/self/environ", "loop", "missing"])
def test_a_link_that_does_not_end_at_a_file_below_the_directory_is_not_read(mounted: Path, target: str) -> None:
    (mounted / "loop").symlink_to(target)
    assert read_confined(mounted, "loop") is None


def test_only_a_regular_file_of_limited_size_is_read(mounted: Path) -> None:
    os.mkfifo(mounted / "fifo")
    (mounted / "large").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (mounted / "limit").write_bytes(b"x" * MAX_FILE_BYTES)
    assert read_confined(mounted, "fifo") is None
    assert read_confined(mounted, "large") is None
    assert read_confined(mounted, "team-a") is None
    assert len(read_confined(mounted, "limit") or b"") == MAX_FILE_BYTES


def test_all_unusable_files_cause_the_same_error(mounted: Path) -> None:
    (mounted / "no-pem").write_bytes(b"hello")
    (mounted / "outside").symlink_to("../token")
    os.mkfifo(mounted / "fifo")
    errors = set()
    for path in ("missing", "no-pem", "outside", "fifo", "team-a", "../token", "/etc/shadow", "no-pem/below"):
        with pytest.raises(UnusableTls) as error:
            Pem("tlsConfig.caFile", path=path, below=mounted).read()
        errors.add(str(error.value))
    assert errors == {
        f"tlsConfig.caFile names no readable PEM file; it must be a regular file of at most 64 KiB below {mounted}"
    }

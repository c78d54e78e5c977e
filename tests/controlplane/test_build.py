"""The build script with a fake Go, because a real build takes minutes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.build import GO_MODULE, Binaries, kubernetes_version

SCRIPT = GO_MODULE.parent / "build.py"
WORKING_GO = """#!/bin/sh
[ "$1" = build ] || exit 0
while [ "$1" != -o ]; do shift; done
echo program > "$2"
"""
FAILING_GO = f"{WORKING_GO}echo 'main.go:1: syntax error' >&2; exit 1\n"


class Machine:
    """An environment with an empty cache. `install_go` adds a fake Go."""

    def __init__(self, root: Path) -> None:
        self.path = root / "path"
        self.path.mkdir()
        self.cache = root / "cache"

    def install_go(self, script: str) -> None:
        go = self.path / "go"
        go.write_text(script)
        go.chmod(0o755)

    def build(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": f"{self.path}:/usr/bin:/bin", "XDG_CACHE_HOME": str(self.cache)}
        command = [sys.executable, str(SCRIPT), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def built(self) -> list[str]:
        """Return the files of the cache."""
        return sorted(path.name for path in self.cache.rglob("*") if path.is_file())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if any((Path(folder) / "go").exists() for folder in ("/usr/bin", "/bin")):
        pytest.skip("a system-wide Go cannot be hidden from the script")
    return Machine(tmp_path)


def test_the_build_without_go_says_how_to_install_it(machine: Machine) -> None:
    result = machine.build()

    assert result.returncode == 1
    assert "install Go 1.26 or later" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_build_with_an_old_go_shows_its_message_and_the_next_step(machine: Machine) -> None:
    machine.install_go("#!/bin/sh\necho 'go.mod requires go >= 1.26.0 (running go 1.22.1)' >&2; exit 1\n")

    result = machine.build()

    assert result.returncode == 1
    assert "running go 1.22.1" in result.stderr
    assert "install Go 1.26 or later" in result.stderr


def test_each_program_is_built_once_and_reported(machine: Machine) -> None:
    machine.install_go(WORKING_GO)

    first, second = machine.build(), machine.build()

    count = len(Binaries().names())
    assert "building kube-apiserver (" in first.stdout
    assert f"({count} of {count})" in first.stdout
    assert machine.built() == sorted(Binaries().names())
    assert second.returncode == 0
    assert "building" not in second.stdout


def test_a_failed_build_leaves_no_file(machine: Machine) -> None:
    machine.install_go(FAILING_GO)

    result = machine.build()

    assert result.returncode == 1
    assert "syntax error" in result.stderr
    assert "building etcd failed" in result.stderr
    assert machine.built() == []


def test_check_flag_prints_missing_programs_and_builds_nothing(machine: Machine) -> None:
    machine.install_go(WORKING_GO)

    before = machine.build("--check")
    nothing = machine.built()
    machine.build()
    after = machine.build("--check")

    assert before.returncode == 1
    assert "kube-apiserver" in before.stderr
    assert nothing == []
    assert after.returncode == 0


def test_print_flag_shows_a_cache_folder_with_the_version_in_its_path(machine: Machine) -> None:
    folder = Path(machine.build("--print").stdout.strip())

    assert folder.is_relative_to(machine.cache / "moorage" / "controlplane")
    assert folder.parent.name.startswith(f"{kubernetes_version()}-")


def test_a_program_in_the_assets_folder_is_used_before_a_built_program(tmp_path: Path) -> None:
    ours, assets = tmp_path / "ours", tmp_path / "assets"
    for folder, names in ((assets, ["etcd", "kube-apiserver"]), (ours, ["etcd", "kube-scheduler"])):
        folder.mkdir()
        for name in names:
            (folder / name).touch()

    binaries = Binaries(folder=ours, assets=assets)

    assert binaries.path("etcd") == assets / "etcd"
    assert binaries.path("kube-scheduler") == ours / "kube-scheduler"
    assert "kubectl" in binaries.missing()
    assert not {"etcd", "kube-apiserver", "kube-scheduler"} & set(binaries.missing())


def test_an_assets_folder_without_an_api_server_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "etcd").touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    half = Binaries()
    (tmp_path / "kube-apiserver").touch()
    whole = Binaries()

    assert half.assets is None
    assert whole.assets == tmp_path


def test_the_go_module_contains_no_registry_address() -> None:
    for name in ("go.mod", "go.sum"):
        assert "://" not in (GO_MODULE / name).read_text()
        assert "proxy." not in (GO_MODULE / name).read_text()


def test_the_script_needs_only_the_standard_library() -> None:
    result = subprocess.run([sys.executable, "-I", "-S", str(SCRIPT), "--print"], env=os.environ, check=False)

    assert result.returncode == 0

"""The pytest plugin in a separate session without built binaries."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.build import GO_MODULE

TESTS = GO_MODULE.parent.parent
SUITE = """
import pytest

@pytest.mark.controlplane
def test_first(): raise AssertionError

@pytest.mark.controlplane
def test_second(): raise AssertionError

def test_third(): pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = controlplane: needs binaries\n")
    return tmp_path


def run(suite: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"KUBEBUILDER_ASSETS", "PYTEST_ADDOPTS"}}
    own = {"PYTHONPATH": str(TESTS), "XDG_CACHE_HOME": str(suite / "cache"), "MOORAGE_REQUIRE_CONTROLPLANE": "0"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-ra",
        "-p",
        "controlplane.fixtures",
        "-p",
        "no:cacheprovider",
        str(suite),
    ]
    return subprocess.run(command, env={**kept, **own, **environment}, capture_output=True, text=True, check=False)


def test_one_line_reports_the_tests_that_are_left_out_and_the_build_command(suite: Path) -> None:
    result = run(suite)

    about = [line for line in result.stdout.splitlines() if "control-plane" in line or "not built" in line]
    assert result.returncode == 0
    assert about == ["2 control-plane tests left out: build the binaries with `make controlplane`"]
    assert "1 passed, 2 left out" in result.stdout


def test_a_run_that_requires_the_binaries_fails_if_they_are_missing(suite: Path) -> None:
    result = run(suite, MOORAGE_REQUIRE_CONTROLPLANE="1")

    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "make controlplane" in result.stderr
    assert "kube-apiserver" in result.stderr

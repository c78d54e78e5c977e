"""`moorage test`: its output and exit status."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from cli.command_line import Run

TESTS = """\
cluster:
  nodeGroups: [{name: pool, count: 2, instanceType: m5.large, cpu: "4", memory: 16Gi}]
tests:
  - name: a test
    pods: [{name: web, count: 2, cpu: 1}]
    expect: [{scheduled: 2}]
"""
FAILING = (
    TESTS
    + """\
  - name: b
    pods: [{name: web, count: 2, cpu: 1}]
    expect: [{scheduled: 7}]
"""
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "some.test.yaml").write_text(TESTS)
    return tmp_path


def test_command_prints_results_and_exits_with_1(moorage: Run, directory: Path) -> None:
    (directory / "some.test.yaml").write_text(FAILING)
    junit = directory / "junit.xml"
    ended = moorage("test", directory, "--junit", junit)
    assert ended.status == 1
    assert "a test" in ended.out
    assert "scheduled must be 7, but is 2" in ended.out
    assert ended.err == "1 passed, 1 failed\n"
    assert ET.parse(junit).getroot().tag == "testsuites"


def test_control_characters_in_names_do_not_reach_the_terminal(moorage: Run, directory: Path) -> None:
    (directory / "some.test.yaml").write_text(FAILING.replace("name: b", r'name: "\e[31mb\n::error::c"'))
    junit = directory / "junit.xml"
    ended = moorage("test", directory, "--junit", junit)
    assert "b ::error::c" in ended.out
    assert ET.parse(junit).getroot().tag == "testsuites"
    assert "\x1b" not in ended.out


def test_command_prints_json(moorage: Run, directory: Path) -> None:
    ended = moorage("test", directory, "-o", "json")
    (result,) = json.loads(ended.out)
    assert ended.status == 0
    assert (result["test"], result["result"], result["pods"], result["line"]) == ("a test", "passed", 2, 4)


def test_directory_without_tests_is_an_error(moorage: Run, directory: Path) -> None:
    (directory / "some.test.yaml").unlink()
    ended = moorage("test", directory)
    assert ended.status == 2
    assert "there is no file *.test.yaml below" in ended.err.replace("\n", " ")

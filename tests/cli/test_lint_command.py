"""`moorage lint`: its output and exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from builders import node_object
from cli.command_line import Run
from moorage.inventory import Inventory, write_dump

ROOT = Path(__file__).parents[2]
POLICY = "apiVersion: scheduling.moorage.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: gold}\nspec:\n"
WARNED = POLICY + "  zones: {maxSkew: 3}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gold.yaml"


def test_errors_are_printed_with_exit_status_1(moorage: Run, file: Path) -> None:
    file.write_text(POLICY + "  weights: {Foo: 1}\n")
    ended = moorage("lint", file)
    assert ended.status == 1
    assert ended.out.startswith(f"{file}:5: error: SchedulingPolicy gold: spec.weights.Foo: there is no plugin 'Foo'")
    assert ended.err == "1 file, 1 policy, 0 configurations, 1 error, 0 warnings\n"


def test_number_with_too_many_digits_is_an_error(moorage: Run, file: Path) -> None:
    file.write_text(POLICY + f"  weights: {{Foo: 0x{'f' * 5_000}}}\n")
    ended = moorage("lint", file)
    assert ended.status == 1
    assert ":5: error: is not a value of the tag !!int" in ended.out


def test_warnings_fail_only_a_strict_check(moorage: Run, file: Path) -> None:
    file.write_text(WARNED)
    assert moorage("lint", file).status == 0
    assert moorage("lint", "--strict", file).status == 1


def test_findings_are_printed_as_json(moorage: Run, file: Path) -> None:
    file.write_text(WARNED)
    report = json.loads(moorage("lint", file, "-o", "json").out)
    assert (report["errors"], report["warnings"]) == (0, 1)
    assert report["findings"][0].items() >= {"line": 5, "path": "spec.zones.maxSkew", "severity": "warning"}.items()


def test_nodes_of_a_dump_are_checked(moorage: Run, file: Path, tmp_path: Path) -> None:
    file.write_text(POLICY + "  filters: {zones: {allow: [nowhere]}}\n")
    dump = tmp_path / "dump.gz"
    write_dump(Inventory.of([node_object("n1", zone="z-a")]), dump)
    assert moorage("lint", file).out == ""
    assert "no node is in the zone nowhere" in moorage("lint", file, "--cluster-file", dump).out


def test_nodes_and_policies_of_a_cluster_are_checked(moorage: Run, file: Path, kubeconfig: Path) -> None:
    file.write_text(POLICY.replace("gold", "other") + "  schedulerName: spot\n")
    out = moorage("lint", file, "--cluster", "--kubeconfig", kubeconfig).out
    assert "schedulerName spot belongs to the cluster's policy spot" in out
    file.write_text(POLICY + "  filters: {zones: {allow: [z-a, nowhere]}}\n")
    (line,) = moorage("lint", file, "--cluster", "--kubeconfig", kubeconfig).out.splitlines()
    assert line.endswith("spec.filters.zones.allow: no node is in the zone nowhere")


def test_directories_are_searched(moorage: Run, file: Path) -> None:
    file.write_text(POLICY + "  weights: {Foo: 1}\n")
    file.with_suffix(".txt").write_text("not yaml: [")
    assert "1 file, 1 policy" in moorage("lint", file.parent).err


def test_cluster_and_file_exclude_each_other(moorage: Run, file: Path) -> None:
    assert moorage("lint", file, "--cluster", "--cluster-file", file).status == 2


def test_hook_of_pre_commit_runs_the_command(moorage: Run, file: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, *arguments = hook["entry"].split()
    assert program == "moorage"
    file.write_text(POLICY)
    assert moorage(*arguments, file).status == 0

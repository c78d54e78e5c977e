"""`moorage dump` and `moorage sandbox --from`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.command_line import Run
from moorage.inventory import read_dump
from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.injected_faults import Fail


def test_dump_writes_the_cluster_to_the_named_file(moorage: Run, kubeconfig: Path, tmp_path: Path) -> None:
    file = tmp_path / "cluster.gz"

    ended = moorage("dump", "-o", file, "--kubeconfig", kubeconfig)

    assert (ended.status, ended.out) == (0, "")
    assert re.fullmatch(
        rf"{re.escape(str(file))}: 2 nodes, 4 pods, 1 policy, \d+ other objects, [\d,]+ bytes\n", ended.err
    )
    assert read_dump(file).counts["Pod"] == 4


def test_anonymized_dump_has_tokens_instead_of_names_and_the_output_says_so(
    moorage: Run, kubeconfig: Path, tmp_path: Path
) -> None:
    file = tmp_path / "cluster.gz"
    assert moorage("dump", "--anonymize", "-o", file, "--kubeconfig", kubeconfig).status == 0
    found = read_dump(file)
    assert found.anonymized
    assert [body["metadata"]["name"] for body in found.bodies("Node")] == ["node-1", "node-2"]


def test_default_name_of_a_dump_file_has_the_time(
    moorage: Run, kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert moorage("dump", "--kubeconfig", kubeconfig).status == 0
    (file,) = tmp_path.glob("moorage-dump-*.jsonl.gz")
    assert re.fullmatch(r"moorage-dump-\d{4}-\d\d-\d\dT\d{6}Z\.jsonl\.gz", file.name)


def test_dump_names_a_kind_that_may_not_be_listed(
    moorage: Run, server: SandboxServer, kubeconfig: Path, tmp_path: Path
) -> None:
    server.faults.add(Fail(403, "Forbidden", "no rule"), path="/poddisruptionbudgets", times=None)
    ended = moorage("dump", "-o", tmp_path / "x.gz", "--kubeconfig", kubeconfig)
    assert ended.status == 0
    assert "warning: policy/poddisruptionbudgets cannot be listed: no rule" in ended.err


def test_dump_without_pods_fails_and_leaves_no_file(
    moorage: Run, server: SandboxServer, kubeconfig: Path, tmp_path: Path
) -> None:
    server.faults.add(Fail(403, "Forbidden", "no rule for pods"), path="/pods", times=None)
    ended = moorage("dump", "-o", tmp_path / "x.gz", "--kubeconfig", kubeconfig)
    assert ended.status == 1
    assert "error: no rule for pods" in ended.err
    assert not list(tmp_path.glob("*.gz"))


def test_sandbox_refuses_a_file_that_is_not_a_dump(moorage: Run, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("apiVersion: v1\n")
    ended = moorage("sandbox", "--from", file, "--kubeconfig", tmp_path / "kubeconfig")
    assert ended.status == 1
    assert f"error: {file} is not a dump" in ended.err


def test_sandbox_refuses_a_dump_together_with_node_groups(moorage: Run, tmp_path: Path) -> None:
    ended = moorage("sandbox", "--from", tmp_path / "a", "--nodes", tmp_path / "b")
    assert ended.status == 2
    assert "--from and --nodes exclude each other" in ended.err

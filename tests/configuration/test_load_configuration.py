"""Tests of loading a configuration file into settings and profiles, and of reporting all faults at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage.app import discover_plugins, load_configuration, load_process_configuration
from moorage.errors import ConfigurationError
from moorage.settings import Settings

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def file_of(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "config.yaml"
    file.write_text(HEADER + text, encoding="utf-8")
    return file


def test_flags_override_the_file_and_the_file_overrides_the_defaults(tmp_path: Path) -> None:
    text = "parallelism: 4\nclientConnection: {kubeconfig: /from/file, qps: 7}\npodInitialBackoffSeconds: 3\n"
    file = file_of(tmp_path, text + "percentageOfNodesToScore: 20\n")
    read = load_process_configuration(Settings(kubeconfig=Path("/from/flag")), file)
    assert (read.settings.parallelism, read.settings.qps) == (4, 7.0)
    assert read.settings.kubeconfig == Path("/from/flag")
    assert (read.defaults.initial_backoff_seconds, read.defaults.percentage_of_nodes_to_score) == (3, 20)


@pytest.mark.parametrize(
    ("exported", "flag", "text", "warned"),
    [
        ("/from/env", None, "clientConnection: {kubeconfig: /from/file}\n", True),
        ("/from/env", Path("/from/flag"), "clientConnection: {kubeconfig: /from/file}\n", False),
        ("/from/env", None, "parallelism: 4\n", False),
        ("", None, "clientConnection: {kubeconfig: /from/file}\n", False),
    ],
)
def test_a_kubeconfig_of_the_file_wins_over_the_exported_one_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exported: str, flag: Path | None, text: str, *, warned: bool
) -> None:
    monkeypatch.setenv("KUBECONFIG", exported)
    read = load_process_configuration(Settings(kubeconfig=flag), file_of(tmp_path, text))
    assert read.settings.kubeconfig == (flag or (Path("/from/file") if "/from/file" in text else None))
    assert [fault.path for fault in read.warnings] == ["clientConnection.kubeconfig"] * warned


def test_profiles_of_the_file_are_built(tmp_path: Path) -> None:
    text = "profiles:\n- schedulerName: packer\n  percentageOfNodesToScore: 70\n- schedulerName: other\n"
    packer, other = load_process_configuration(Settings(), file_of(tmp_path, text)).profiles
    assert (packer.name, packer.settings.percentage_of_nodes_to_score) == ("packer", 70)
    assert (other.name, other.settings.percentage_of_nodes_to_score) == ("other", 0)


def test_faults_of_fields_arguments_and_certificates_are_reported_together_with_lines(tmp_path: Path) -> None:
    text = """\
parallelism: many
profiles:
- schedulerName: packer
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: Sideways}}
extenders:
- urlPrefix: https://extender.example.com
  filterVerb: filter
  enableHTTPS: true
  tlsConfig: {caData: bm90IGEgY2VydGlmaWNhdGU=}
"""
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(file_of(tmp_path, text), discover_plugins(), allow_default_scheduler=False)
    found = {fault.path: fault.line for fault in caught.value.faults}
    assert found == {
        "parallelism": 3,
        "profiles[0].pluginConfig[0].args.scoringStrategy.type": 8,
        "extenders[0].tlsConfig.caData": 13,
    }

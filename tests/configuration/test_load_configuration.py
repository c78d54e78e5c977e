"""load_configuration makes settings and profiles from a file, and reports all faults at once."""

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
def test_the_files_kubeconfig_overrides_the_environment_and_causes_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exported: str, flag: Path | None, text: str, *, warned: bool
) -> None:
    monkeypatch.setenv("KUBECONFIG", exported)
    read = load_process_configuration(Settings(kubeconfig=flag), file_of(tmp_path, text))
    assert read.settings.kubeconfig == (flag or (Path("/from/file") if "/from/file" in text else None))
    assert [fault.path for fault in read.warnings] == ["clientConnection.kubeconfig"] * warned


def test_a_file_beyond_the_size_limit_is_not_read() -> None:
    with pytest.raises(OSError, match="it is larger than 1048576 bytes"):
        load_process_configuration(Settings(), Path("/dev/zero"))


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


def test_the_paths_of_faults_lead_to_the_wrong_values(tmp_path: Path) -> None:
    text = """\
profiles:
- schedulerName: packer
  plugins: {queueSort: {disabled: [{name: "*"}], enabled: [{name: PrioritySort}]}}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        requestedToCapacityRatio:
          shape:
          - {utilization: 50, score: 0}
          - {utilization: 50, score: 5}
  - name: PodTopologySpread
    args:
      defaultConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}
  - name: NodeResourcesBalancedAllocation
    args:
      resources:
      - {name: cpu}
      - {name: memory, weight: 2}
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions:
            - {key: team, operator: Exists, values: [ml]}
- schedulerName: other
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        requestedToCapacityRatio:
          shape: [{utilization: 0, score: 0}]
extenders:
- urlPrefix: http://first.example.com
  bindVerb: bind
  managedResources:
  - {name: example.com/fpga}
- urlPrefix: http://second.example.com
  bindVerb: bind
  managedResources:
  - {name: example.com/fpga}
"""
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(file_of(tmp_path, text), discover_plugins(), allow_default_scheduler=False)
    arguments = "profiles[0].pluginConfig"
    terms = "args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    assert {fault.path: fault.line for fault in caught.value.faults} == {
        f"{arguments}[0].args.scoringStrategy.requestedToCapacityRatio.shape[1].utilization": 14,
        f"{arguments}[1].args.defaultingType": 16,
        f"{arguments}[2].args.resources[1].weight": 23,
        f"{arguments}[3].args.minCandidateNodesPercentage": 25,
        f"{arguments}[4].{terms}[0].matchExpressions[0].values": 32,
        "profiles[1].plugins.queueSort": 33,
        "profiles[1].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio": 39,
        "extenders[1].bindVerb": 47,
        "extenders[1].managedResources[0].name": 49,
    }


def test_unknown_fields_without_a_value_are_faults(tmp_path: Path) -> None:
    text = """\
paralelism:
profiles:
- schedulerName: packer
  plugin: ~
  pluginConfig:
  - name: NodeResourcesFit
    args: {ignoredResource: null, scoringStrategy: {type: MostAllocated, resource: null}}
"""
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(file_of(tmp_path, text), discover_plugins(), allow_default_scheduler=False)
    assert [fault.path for fault in caught.value.faults] == [
        "paralelism",
        "profiles[0].plugin",
        "profiles[0].pluginConfig[0].args.ignoredResource",
        "profiles[0].pluginConfig[0].args.scoringStrategy.resource",
    ]

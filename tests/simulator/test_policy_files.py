"""The policy files of a simulation."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage.errors import InvalidInput
from moorage.framework.registry import Registry
from moorage.simulator.policy_files import BASELINE, NamedProfile, ProfileBuilder
from simulator.sim_files import PACK, write

CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
  - schedulerName: most
    percentageOfNodesToScore: 50
    pluginConfig:
      - name: NodeResourcesFit
        args: {scoringStrategy: {type: MostAllocated}}
"""
REGISTRY = Registry.discover()


def build(*files: Path, percentage: int = 100) -> list[NamedProfile]:
    return ProfileBuilder(REGISTRY, percentage).build_all(files)


def faults(*files: Path) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        build(*files)
    return [str(fault).removeprefix(f"{files[0].parent}/") for fault in refused.value.faults]


def test_policies_and_profiles_follow_the_baseline(tmp_path: Path) -> None:
    second = PACK.replace("pack", "second")
    found = build(
        write(tmp_path, "a.yaml", f"# two policies\n---\n{PACK}---\n{second}"), write(tmp_path, "b.yaml", CONFIGURATION)
    )
    assert [each.name for each in found] == [BASELINE, "pack", "second", "default-scheduler", "most"]


def test_the_percentage_of_nodes_to_score_is_a_default(tmp_path: Path) -> None:
    found = build(write(tmp_path, "b.yaml", CONFIGURATION), percentage=30)
    assert [each.profile.settings.percentage_of_nodes_to_score for each in found] == [30, 30, 50]


def test_fields_without_effect_are_named(tmp_path: Path) -> None:
    spec = "{paused: true, allowedNamespaces: {matchLabels: {a: b}}}"
    (_, found) = build(write(tmp_path, "a.yaml", PACK.replace("{preset: GpuPack}", spec)))
    assert [warning.rpartition(" ")[2] for warning in found.warnings] == ["allowedNamespaces", "paused"]
    assert not found.profile.settings.paused


def test_the_faults_of_all_files_and_documents_are_listed(tmp_path: Path) -> None:
    first = write(tmp_path, "a.yaml", PACK.replace("preset: GpuPack", "weights: {Gpuu: 1}") + "---\nkind: Pod\n")
    second = write(tmp_path, "b.yaml", "a: [1\n")
    assert [fault.partition(": ")[0] for fault in faults(first, second)] == ["a.yaml:4", "a.yaml:6", "b.yaml:2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a.yaml: the file is empty; it must hold a SchedulingPolicy"),
        ("# nothing\n---\n", "a.yaml: the file is empty"),
        (b"\xff\xff\xff", "is not UTF-8"),
        (PACK.replace("name: pack", "name: kube-scheduler"), "the name 'kube-scheduler' is taken by the baseline"),
        (CONFIGURATION.replace("MostAllocated", "Most"), "a.yaml:9: profiles[1].pluginConfig[0].args.scoringStrategy"),
        (CONFIGURATION.partition("profiles")[0], "a.yaml: profiles: the file has no profiles"),
        ("- 1\n", "a.yaml:1: kind: must be SchedulingPolicy or KubeSchedulerConfiguration"),
        ("{}", "a.yaml:1: kind: must be SchedulingPolicy or KubeSchedulerConfiguration"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    assert message in faults(write(tmp_path, "a.yaml", content))[0]


def test_a_policy_as_json_is_read(tmp_path: Path) -> None:
    text = '{"apiVersion": "scheduling.moorage.dev/v1alpha1", "kind": "SchedulingPolicy", "metadata": {"name": "j"}}'
    assert [each.name for each in build(write(tmp_path, "a.json", text))] == [BASELINE, "j"]

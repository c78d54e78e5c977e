"""kube-scheduler reads and refuses the same forms as moorage, and moorage accepts a file that kube-scheduler writes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from configuration.forms import HEADER, OVERRIDING, READ, REFUSED, STRICTER
from controlplane.build import Binaries
from moorage.api.v1alpha1 import parse_policy
from moorage.app import discover_plugins, load_configuration
from moorage.configuration.policy_import import policies_of
from moorage.configuration.yaml_reader import read_yaml
from moorage.controller.policy_permissions import PolicyPermissions
from moorage.controller.policy_profiles import build_profile
from moorage.framework.profile import ProfileSettings
from moorage.runtime.extenders.allowed_hosts import AllowedHosts

pytestmark = pytest.mark.controlplane

DETAILED = (
    HEADER
    + """\
percentageOfNodesToScore: 20
extenders:
- {urlPrefix: http://extender/api, filterVerb: filter, prioritizeVerb: rank, weight: 1, httpTimeout: 500ms}
- urlPrefix: https://extender/api
  bindVerb: bind
  enableHTTPS: true
  tlsConfig: {insecure: true}
  managedResources: [{name: example.com/fpga, ignoredByScheduler: true}]
profiles:
- schedulerName: packer
  percentageOfNodesToScore: 50
  plugins:
    score: {disabled: [{name: ImageLocality}], enabled: [{name: NodeResourcesFit, weight: 5}]}
    postFilter: {disabled: [{name: "*"}]}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}
- schedulerName: pinned
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: team, operator: In, values: [ml]}]}]
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
"""
)
UNUSED_API_SERVER = "http://127.0.0.1:1"
TIMEOUT_SECONDS = 60


def written_by_kube_scheduler(folder: Path, content: bytes | None) -> Path | None:
    """Return the configuration that kube-scheduler writes for a file or for no file; None if it refuses the file.

    kube-scheduler writes its configuration and exits before it connects to an API server.
    """
    file, written = folder / "config", folder / "written.yaml"
    program = str(Binaries().path("kube-scheduler"))
    # Port 0 means that kube-scheduler does not listen.
    command = [program, f"--master={UNUSED_API_SERVER}", "--secure-port=0", f"--write-config-to={written}"]
    if content is not None:
        file.write_bytes(content)
        command.append(f"--config={file}")
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)
    assert written.exists() is (result.returncode == 0), result.stderr
    return written if written.exists() else None


@pytest.mark.parametrize("name", [*READ, *STRICTER])
def test_kube_scheduler_reads_the_form(name: str, tmp_path: Path) -> None:
    written = written_by_kube_scheduler(tmp_path, (READ | STRICTER)[name].content)

    assert written
    if name in READ:
        configuration = read_yaml(written.read_text()).content
        names = tuple(str(profile["schedulerName"]) for profile in configuration["profiles"])
        assert configuration["parallelism"] == READ[name].parallelism
        assert names == (READ[name].profiles or ("default-scheduler",))


@pytest.mark.parametrize("name", [*REFUSED, *OVERRIDING])
def test_kube_scheduler_refuses_the_form(name: str, tmp_path: Path) -> None:
    assert written_by_kube_scheduler(tmp_path, (REFUSED | OVERRIDING)[name].content) is None


@pytest.mark.parametrize("content", [None, DETAILED.encode()], ids=["defaults", "detailed"])
def test_moorage_loads_and_imports_the_file_that_kube_scheduler_writes(content: bytes | None, tmp_path: Path) -> None:
    registry = discover_plugins()
    dump = written_by_kube_scheduler(tmp_path, content)
    assert dump

    loaded = load_configuration(dump, registry, allow_default_scheduler=True)

    warned = {fault.path for fault in loaded.warnings}
    assert {
        "clientConnection.contentType",
        "enableProfiling",
        "leaderElection.resourceName",
        "profiles[0].pluginConfig[1].args.bindingTimeout",
        "profiles[0].pluginConfig[1].args.filterTimeout",
        "profiles[0].plugins.placementGenerate",
        "profiles[0].plugins.placementScore",
    } <= warned
    permissions = PolicyPermissions(allow_default_scheduler=True, extender_hosts=AllowedHosts.parse(["extender"]))
    for manifest in policies_of(loaded.configuration, allow_default_scheduler=True):
        profile = build_profile(registry, ProfileSettings(), parse_policy(manifest), permissions)
        assert profile.name == manifest["metadata"]["name"]

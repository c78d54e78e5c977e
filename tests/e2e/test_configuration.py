"""`moorage run` with a kube-scheduler configuration file, and the policies that `moorage import` makes from it."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from controlplane.component import Component
from e2e.audited import REPLICAS, Audited
from e2e.case import POLICIES, Case, case_of
from e2e.clusters import eventually
from e2e.served import served
from extenders.server import FakeExtender, threaded
from processes import moorage

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "07-scheduler-config" / "config.yaml"
PROFILES = ("default-scheduler", "low-latency-profile", "cost-saver-profile")
SPECIAL = "example.com/special-gpu"
SOME = {"cpu": "1", "memory": "2Gi"}
BAD = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
paralelism: 16
percentageOfNodesToScore: 120
leaderElection: {leaseDuration: 10s, renewDeadline: 10s}
extenders:
  - {urlPrefix: "https://extender.example.com", filterVerb: filter, enableHTTPS: true}
profiles:
  - schedulerName: gold
    plugins: {score: {enabled: [{name: NodeResourceFit}]}}
    pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]
"""
FAULTS = {
    "line 3: paralelism:",
    "line 4: percentageOfNodesToScore:",
    "line 5: leaderElection.leaseDuration:",
    "line 7: extenders[0].tlsConfig:",
    "line 10: profiles[0].plugins.score.enabled[0].name:",
    "line 11: profiles[0].pluginConfig[0].args.hardPodAffinityWeight:",
}


@pytest.fixture(scope="class")
def extender() -> Iterator[FakeExtender]:
    """An extender whose certificate has an unknown CA. The file sets `insecure`, so the operator accepts it."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(tls)
    with threaded(FakeExtender(tls=tls)) as extender:
        yield extender


@pytest.fixture(scope="class")
def configured(
    audited: Audited, extender: FakeExtender, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Component]:
    """An operator with the example's configuration file, changed to the address of the test's extender."""
    directory = tmp_path_factory.mktemp("configured")
    config = directory / "config.yaml"
    text = EXAMPLE.read_text(encoding="utf-8")
    config.write_text(text.replace("https://extender.example.com/api", extender.url), encoding="utf-8")
    kubeconfig, ports = audited.control_plane.kubeconfig_of(REPLICAS[0]), audited.cluster.ports
    with moorage(kubeconfig, directory, ports, f"--config={config}", "--allow-default-scheduler") as operator:
        yield operator


@pytest.fixture
def case(audited: Audited, case_numbers: Iterator[int]) -> Iterator[Case]:
    with case_of(audited.cluster, f"case-{next(case_numbers)}") as case:
        yield case


def run_moorage(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "moorage", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.controlplane
class TestExample:
    """The example's configuration file on a real API server."""

    def test_profiles_of_the_file_and_policies_schedule_at_the_same_time(
        self, configured: Component, case: Case
    ) -> None:
        case.make_live()
        pods = [case.pod(f"{name}-{n}", schedulerName=name, requests=SOME) for name in PROFILES for n in range(2)]
        case.cluster.apply(*pods, case.pod("p"))

        assert case.wait_until_bound("p")
        homes = {name: {case.wait_until_bound(f"{name}-{n}") for n in range(2)} for name in PROFILES}
        assert len(homes["default-scheduler"]) == 1, "NodeResourcesFit with weight 5 must pack the pods"
        assert len(homes["low-latency-profile"]) == 2, "NodeResourcesFit must spread the pods"
        metrics = configured.endpoint.read("/metrics")
        for name in (*PROFILES, case.name):
            assert f'scheduler_schedule_attempts_total{{profile="{name}",result="scheduled"}}' in metrics

    def test_the_extender_is_called_only_for_pods_with_its_resource(
        self, configured: Component, case: Case, extender: FakeExtender
    ) -> None:
        assert configured.running
        names = [node["metadata"]["name"] for node in case.reader.read("/api/v1/nodes")["items"]]
        extender.verdicts = dict.fromkeys(names[1:], "has no licence")
        special = case.pod("special", schedulerName="cost-saver-profile", requests={SPECIAL: "1"})
        case.cluster.apply(special, case.pod("plain", schedulerName="cost-saver-profile"))

        eventually(lambda: bool(extender.asked))
        assert case.wait_until_bound("plain")
        bound = case.wait_until_bound("special") if names[0] in extender.asked[0].body["NodeNames"] else ""
        assert bound in {names[0], ""}
        assert {asked.body["Pod"]["metadata"]["name"] for asked in extender.asked} == {f"{case.name}-special"}

    def test_every_field_takes_effect_or_causes_a_warning(self, configured: Component) -> None:
        log = configured.log.read_text(encoding="utf-8")
        warnings = [line.partition("configuration: ")[2] for line in log.splitlines() if " WARNING " in line]
        fields = (
            "leaderElection.resourceName",
            "healthzBindAddress",
            "metricsBindAddress",
            "profiles[0].schedulerName",
        )
        assert [field for field in fields if any(field in warning for warning in warnings)] == [*fields]
        assert len(warnings) == len(fields)

        served = json.loads(configured.endpoint.read("/configz"))
        settings, profiles = served["settings"], served["profiles"]
        assert (settings["qps"], settings["burst"], settings["parallelism"]) == (100, 200, 16)
        election = settings["leader_election"]
        timings = ("lease_duration_seconds", "renew_deadline_seconds", "retry_period_seconds")
        assert [election[each] for each in timings] == [15, 10, 2]
        assert (election["lease_namespace"], election["lease_name"]) == ("kube-system", "moorage")
        assert {profiles[name]["percentageOfNodesToScore"] for name in PROFILES} == {20}
        assert profiles["default-scheduler"]["weights"]["NodeResourcesFit"] == 5
        assert "NodeResourcesBalancedAllocation" not in profiles["default-scheduler"]["weights"]
        assert "InterPodAffinity" not in profiles["cost-saver-profile"]["weights"]
        assert "InterPodAffinity" in profiles["cost-saver-profile"]["plugins"]


def test_the_operator_reports_all_faults_of_an_invalid_file_before_any_request(tmp_path: Path) -> None:
    config = tmp_path / "bad.yaml"
    config.write_text(BAD, encoding="utf-8")
    with served(tmp_path) as api:
        before = len(api.server.requests)
        refused = run_moorage("run", "--kubeconfig", api.cluster.kubeconfig, "--config", config, "--port=0")
        assert len(api.server.requests) == before
    viewed = run_moorage("config", "view", "--config", config)

    assert (refused.returncode, viewed.returncode) == (1, 1)
    assert refused.stderr == viewed.stderr
    lines = refused.stderr.splitlines()
    assert [fault for fault in FAULTS if not any(fault in line for line in lines)] == [], refused.stderr
    assert len(lines) == len(FAULTS), refused.stderr


@pytest.mark.controlplane
def test_imported_policies_schedule_pods(audited_operator: Audited, case: Case) -> None:
    imported = run_moorage("import", EXAMPLE, "--allow-default-scheduler")
    assert imported.returncode == 0, imported.stderr
    try:
        audited_operator.cluster.apply(imported.stdout)
        audited_operator.cluster.kubectl(
            "wait", "--for=condition=Ready", "schedulingpolicies", *PROFILES, "--timeout=20s"
        )
        case.cluster.apply(*(case.pod(name, schedulerName=name, requests=SOME) for name in PROFILES))
        for name in PROFILES:
            assert case.wait_until_bound(name)
            eventually(lambda name=name: case.reader.read(f"{POLICIES}/{name}")["status"]["pods"]["bound"] == 1)  # type: ignore[misc]
    finally:
        audited_operator.cluster.kubectl("delete", "schedulingpolicies", *PROFILES, "--ignore-not-found")

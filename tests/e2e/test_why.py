"""Runs `moorage why` like a user. The operator runs on this machine, and the tests use both API servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from controlplane.component import Component
from e2e.case import Case
from e2e.clusters import eventually

pytestmark = pytest.mark.slow

COLUMNS = 80
ROOM = {"cpu": "4", "memory": "16Gi", "pods": "110"}
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


class Scene:
    """A case whose pods run on its own nodes, and the operator to ask."""

    def __init__(self, case: Case, operator: Component) -> None:
        self.case = case
        self.operator = operator
        case.make_live()

    def nodes(self, *suffixes: str, cpu: str = "4") -> None:
        """Create equal nodes, each in another zone."""
        for suffix in suffixes:
            labels = {ZONE: f"zone-{suffix}", HOSTNAME: self.named(suffix)}
            self.case.cluster.apply(self.case.node(suffix, labels=labels, allocatable=ROOM | {"cpu": cpu}))

    def pod(self, suffix: str, cpu: str = "1", **spec: Any) -> None:
        """Create a pod that may run on the case's nodes only."""
        selector = {**self.case.labels(), **spec.pop("nodeSelector", {})}
        self.case.cluster.apply(self.case.pod(suffix, requests={"cpu": cpu}, nodeSelector=selector, **spec))

    def named(self, suffix: str) -> str:
        return f"{self.case.name}-{suffix}"

    def why(self, suffix: str, *flags: str) -> str:
        """Run `moorage why` for a pod, and return its output."""
        url = self.operator.endpoint.url
        return run("why", self.named(suffix), f"--server={url}", *flags, kubeconfig=str(self.case.cluster.kubeconfig))

    def explain(self, suffix: str, *flags: str) -> Any:
        return json.loads(self.why(suffix, "--output=json", *flags))

    def record(self, suffix: str) -> Any:
        """Return the record of the last attempt."""
        return self.explain(suffix)["records"][0]


def run(*arguments: str, kubeconfig: str, check: bool = True) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "moorage", *arguments, f"--kubeconfig={kubeconfig}"],
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout if check else done.stderr


@pytest.fixture
def scene(case: Case, operator: Component) -> Scene:
    return Scene(case, operator)


def check_sums(record: Any) -> None:
    """Check that each total is the sum of weighted scores. Check that the margin is the lead of the best node."""
    nodes = record["scores"]["nodes"]
    for row in nodes:
        assert row["total"] == sum(score["normalized"] * score["weight"] for score in row["plugins"])
    totals = [row["total"] for row in nodes]
    assert totals == sorted(totals, reverse=True)
    assert record["scores"]["margin"] == totals[0] - totals[1]
    assert record["node"] == nodes[0]["node"]


def check_width(output: str) -> None:
    assert all(len(line) <= COLUMNS for line in output.splitlines())


def test_why_says_that_the_emptier_node_has_the_highest_score(scene: Scene) -> None:
    scene.nodes("large", cpu="16")
    scene.nodes("small", cpu="4")
    scene.nodes("tiny", cpu="500m")
    scene.pod("web")
    assert scene.case.wait_until_bound("web") == scene.named("large")

    record = scene.record("web")
    check_sums(record)
    assert record["fittingNodes"] == 2
    assert record["policy"]["name"] == scene.case.name
    assert record["filters"][-1]["plugin"] == "NodeResourcesFit"
    assert record["filters"][-1]["examples"] == [scene.named("tiny")]
    points = [each["point"] for each in record["durations"]]
    assert points == ["PreFilter", "Filter", "PreScore", "Score", "Reserve"]
    assert min(each["seconds"] for each in record["durations"]) > 0
    output = scene.why("web", f"--node={scene.named('tiny')}")
    check_width(output)
    assert f"Pod default/{scene.named('web')} is bound on {scene.named('large')}" in output
    assert "has the highest score, by a margin of" in output
    assert " ms: PreFilter " in output
    assert f"Why not {scene.named('tiny')}, as of now: NodeResourcesFit rejects it" in output
    assert "Insufficient cpu" in output
    assert f"Decided now, as if the pod were not placed: {scene.named('large')} (the same node)" in output
    assert "fits, but scores" in scene.why("web", f"--node={scene.named('small')}")


def test_why_says_that_the_seed_chose_among_equal_nodes(scene: Scene) -> None:
    scene.nodes("a", "b", "c")
    scene.pod("web")
    node = scene.case.wait_until_bound("web")

    record = scene.record("web")
    check_sums(record)
    assert record["scores"]["ties"] == 3
    assert record["scores"]["margin"] == 0
    output = scene.why("web")
    check_width(output)
    assert f"3 nodes have the highest score; the seed {record['seed']} chose {node}." in output


def test_why_shows_the_score_for_the_preferred_node_affinity(scene: Scene) -> None:
    scene.nodes("a", "b", "c")
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-b"]}]}
    preferred = [{"weight": 100, "preference": term}]
    scene.pod("web", affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}})
    assert scene.case.wait_until_bound("web") == scene.named("b")

    record = scene.record("web")
    check_sums(record)
    by_plugin = [{score["plugin"]: score for score in row["plugins"]} for row in record["scores"]["nodes"]]
    assert [each["NodeAffinity"]["normalized"] for each in by_plugin] == [100, 0, 0]
    assert "NodeAffinity" in scene.why("web")


def test_why_suggests_a_higher_max_skew_for_a_pod_that_waits(scene: Scene) -> None:
    scene.nodes("a", cpu="8")
    scene.nodes("b", cpu="1")
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": scene.case.labels()},
    }
    for suffix in ("first", "second"):
        scene.pod(suffix, topologySpreadConstraints=[constraint])
        scene.case.wait_until_bound(suffix)
    assert {scene.case.node_of("first"), scene.case.node_of("second")} == {scene.named("a"), scene.named("b")}
    scene.pod("third", topologySpreadConstraints=[constraint])
    scene.case.wait_until_bound("third")
    scene.pod("fourth", topologySpreadConstraints=[constraint])
    eventually(lambda: bool(scene.explain("fourth").get("records")))

    explanation = scene.explain("fourth")
    record = explanation["records"][0]
    reasons = {count["plugin"]: count for count in record["filters"] if scene.case.name in str(count["examples"])}
    assert explanation["standing"] == "Unschedulable"
    assert record["outcome"] == "Unschedulable"
    assert reasons["PodTopologySpread"]["reason"] == "node(s) didn't match pod topology spread constraints"
    assert reasons["NodeResourcesFit"]["examples"] == [scene.named("b")]
    output = scene.why("fourth", f"--node={scene.named('a')}")
    check_width(output)
    assert "fits on no node" in output
    assert "PodTopologySpread rejects it" in output
    changes = [(change["kind"], change["text"], change["nodeNames"]) for change in explanation["changes"]]
    assert ("topologySpread", f"maxSkew 2 instead of 1 for {ZONE}", [scene.named("a")]) in changes
    assert "Single changes after which the pod would fit" in output


def test_why_names_the_victims_and_the_rule_of_a_preemption(scene: Scene) -> None:
    cluster = scene.case.cluster
    for level, value in (("low", 1), ("middle", 10), ("high", 100)):
        metadata = {"name": scene.named(level), "labels": scene.case.labels()}
        cluster.apply(
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": value}
        )
    scene.nodes("a", "b")
    for suffix, level in (("low-pod", "low"), ("middle-pod", "middle")):
        scene.pod(suffix, cpu="3", priorityClassName=scene.named(level))
        scene.case.wait_until_bound(suffix)
    chosen = scene.case.node_of("low-pod")
    scene.pod("urgent", cpu="3", priorityClassName=scene.named("high"))
    scene.case.wait_until_bound("urgent", 60.0)

    records = scene.explain("urgent")["records"]
    assert records[0]["node"] == chosen
    attempt = next(record for record in records if record["outcome"] == "Unschedulable")
    preemption = attempt["preemption"]
    assert preemption["node"] == chosen
    assert preemption["reason"] == "its most important victim has the lowest priority"
    assert [(each["victims"], each["highestPriority"]) for each in preemption["considered"]] == [(1, 1), (1, 10)]
    assert preemption["considered"][0]["pods"][0]["name"] == scene.named("low-pod")
    check_width(scene.why("urgent"))


def test_why_says_that_a_pod_is_held_because_its_policy_is_paused(scene: Scene) -> None:
    scene.case.cluster.apply(scene.case.policy(paused=True))
    eventually(lambda: scene.case.policy_conditions()["Programmed"]["reason"] == "Paused")
    scene.pod("held")
    eventually(lambda: scene.explain("held")["standing"] == "Held")
    assert "is held: its policy is paused" in scene.why("held")


def test_why_says_that_a_pod_belongs_to_another_scheduler(scene: Scene) -> None:
    scene.pod("other", schedulerName="somebody-else")
    eventually(lambda: scene.explain("other")["standing"] == "OtherScheduler")
    assert "belongs to another scheduler: no policy has the schedulerName somebody-else" in " ".join(
        scene.why("other").split()
    )


def test_why_makes_its_own_decision_and_says_so_if_it_finds_no_operator(scene: Scene) -> None:
    scene.nodes("a", "b")
    scene.pod("web")
    node = scene.case.wait_until_bound("web")
    kubeconfig = str(scene.case.cluster.kubeconfig)
    lease = "--lease=default/no-such-lease"

    output = run("why", scene.named("web"), "-n", "default", lease, kubeconfig=kubeconfig)
    note = run("why", scene.named("web"), lease, kubeconfig=kubeconfig, check=False)

    check_width(output)
    assert f"is bound on {node}" in output
    assert "Decided now by this command, without the operator" in output
    assert "Decided now, as if the pod were not placed" in output
    assert note.startswith("note: there is no Lease default/no-such-lease")


def test_yaml_has_the_same_values_as_json(scene: Scene) -> None:
    import yaml

    scene.nodes("a")
    scene.pod("web")
    scene.case.wait_until_bound("web")
    found = yaml.safe_load(scene.why("web", "-o", "yaml"))
    assert found["records"] == scene.explain("web")["records"]


def test_the_decisions_of_shadow_policies_are_shown(scene: Scene) -> None:
    scene.nodes("large", cpu="16")
    scene.nodes("small", cpu="4")
    nowhere = {"nodeSelector": {"matchLabels": {"no": "such"}}}
    scene.case.make_live("-pack", mode="Shadow", shadowOf=scene.case.name, preset="BinPack")
    scene.case.make_live("-nowhere", mode="Shadow", shadowOf=scene.case.name, filters=nowhere)
    scene.pod("web")
    assert scene.case.wait_until_bound("web") == scene.named("large")

    output = scene.why("web")

    check_width(output)
    words = " ".join(output.split())
    assert f"The shadow policy {scene.named('pack')} would choose {scene.named('small')} now; 2 of" in words
    assert f"The shadow policy {scene.named('nowhere')} would find no node now" in words
    shadows = {each["policy"]["name"]: each["outcome"] for each in scene.explain("web")["shadows"]}
    assert shadows == {scene.named("pack"): "Bound", scene.named("nowhere"): "Unschedulable"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["no-such-pod"], "error: the operator refuses the question: pod default/no-such-pod is not known"),
        (["web", "--server=http://192.0.2.1:10259"], "error: --server http://192.0.2.1:10259: write the URL of an"),
        (["a/b/c"], "is not known"),
    ],
)
def test_why_refuses_wrong_arguments_in_one_line(scene: Scene, flags: list[str], message: str) -> None:
    server = [] if any("--server" in flag for flag in flags) else [f"--server={scene.operator.endpoint.url}"]
    output = run("why", *flags, *server, kubeconfig=str(scene.case.cluster.kubeconfig), check=False)
    assert message in output
    assert len(output.splitlines()) == 1

"""`moorage test`: expectations that pass or fail, the messages of failures, and refused files."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from builders import node_object, pod_object
from moorage.framework.registry import Registry
from moorage.inventory import Inventory, write_dump
from moorage.policy_tests.junit_report import junit_xml
from moorage.policy_tests.policy_test_reader import find_files
from moorage.policy_tests.policy_test_runner import PolicyTestResult, PolicyTestRunner

ROOT = Path(__file__).parents[2]
EXAMPLES = find_files(ROOT / "examples")
REGISTRY = Registry.discover()

POLICY = """\
apiVersion: scheduling.moorage.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: spot-first}
spec: {preset: SpotFirst}
"""
HEAD = """\
policies: [policy.yaml]
cluster:
  nodeGroups:
    - {name: spot, count: 2, instanceType: m5.large, lifecycle: spot, zones: [z-a, z-b], cpu: "4", memory: 16Gi}
    - {name: fixed, count: 1, instanceType: c5.large, zones: [z-a], cpu: "4", memory: 16Gi}
tests:
"""
"""The first line of the tests is line 7."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


def run(directory: Path, tests: str, *, head: str = HEAD, update: bool = False) -> list[PolicyTestResult]:
    file = directory / "some.test.yaml"
    file.write_text(head + tests)
    return list(PolicyTestRunner(REGISTRY, update).run_files([file]))


def messages(directory: Path, tests: str, **options: object) -> list[str]:
    """Return all lines about failures, without the directory."""
    results = run(directory, tests, **options)  # type: ignore[arg-type]
    return [line.replace(f"{directory}/", "") for result in results for line in result.lines()]


def expecting(expectation: str, pods: str = "{name: web, count: 2, cpu: 1}") -> str:
    """Return a test; its expectation is in line 10."""
    return f"  - name: a test\n    pods: [{pods}]\n    expect:\n      - {expectation}\n"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.name)
def test_examples_pass(file: Path) -> None:
    results = list(PolicyTestRunner(REGISTRY).run_files([file]))
    assert [line for result in results for line in result.lines()] == []


def test_there_are_tests_of_the_examples() -> None:
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize(
    "expectation",
    [
        "{scheduled: 2, pending: 0}",
        "{lifecycle: spot, instanceType: m5*, zone: z-*, node: 'spot-?'}",
        "{nodes: {spot-0: 1, spot-1: 1, fixed-0: 0}, zones: {z-a: 1, z-b: 1}}",
        "{lifecycles: {spot: 2}, instanceTypes: {m5.large: 2}, differentNodes: 2}",
        "{maxSkew: {zone: 0, node: 1}}",
        "{pods: web-1, scheduled: 1}",
        "{pods: default/web-*, scheduled: 2}",
        "{nodeLabels: {kubernetes.io/os: linux, missing: '!*'}}",
        "{order: [web-0, web-1]}",
    ],
)
def test_true_expectation_passes(directory: Path, expectation: str) -> None:
    assert messages(directory, expecting(expectation)) == []


@pytest.mark.parametrize(
    ("expectation", "found"),
    [
        ("{scheduled: 1}", "*: scheduled must be 1, but is 2"),
        ("{pending: 1}", "*: pending must be 1, but is 0"),
        ("{lifecycle: on-demand}", "*: lifecycle must be on-demand, but 2 of 2 pods differ"),
        ("{pods: web-0, zone: z-c}", "web-0: zone must be z-c, but 1 of 1 pods differ"),
        ("{zones: {z-a: 2}}", "*: the numbers of pods by zone differ"),
        ("{differentNodes: 1}", "*: the pods must use 1 nodes, but use 2"),
        ("{maxSkew: {instanceType: 1}}", "*: the skew by instanceType must be at most 1, but is 2"),
        ("{unschedulable: cpu}", "*: the pods must have no node, because of 'cpu', but 2 differ"),
        ("{rejectedBy: [NodeAffinity]}", "*: NodeAffinity must reject the pods, but 2 differ"),
        ("{nominated: spot-0}", "*: the pods must be nominated to spot-0, but 2 differ"),
        ("{evicted: 1}", "*: evicted must be 1, but is 0"),
        ("{order: [web-1, web-0]}", "*: the order of the pods differs"),
        ("{pods: db-*, scheduled: 1}", "no pod matches db-*"),
    ],
)
def test_false_expectation_fails_with_its_line(directory: Path, expectation: str, found: str) -> None:
    assert messages(directory, expecting(expectation))[0] == f"some.test.yaml:10: {found}"


def test_failure_shows_where_the_pods_are(directory: Path) -> None:
    assert messages(directory, expecting("{lifecycle: on-demand}"))[1:] == [
        "    web-0: spot-0 (z-a, m5.large, spot)",
        "    web-1: spot-1 (z-b, m5.large, spot)",
    ]


def test_pod_without_a_node_shows_the_reason(directory: Path) -> None:
    (_, line) = messages(directory, expecting("{scheduled: 1}", "{name: big, cpu: 64}"))
    assert line.startswith("    big: no node: 0/3 nodes are available: 3 Insufficient cpu")


def test_placed_pods_use_resources_of_their_nodes(directory: Path) -> None:
    tests = """\
  - name: full
    placed:
      - {name: old, node: spot-0, cpu: 3500m}
      - {name: other, node: spot-1, cpu: 3500m}
    pods: [{name: web, cpu: 1}]
    expect: [{node: fixed-0}]
"""
    assert messages(directory, tests) == []


def test_pod_of_higher_priority_is_tried_first_and_evicts_other_pods(directory: Path) -> None:
    tests = """\
  - name: preemption
    cluster:
      nodeGroups: [{name: pool, count: 1, instanceType: m5.large, cpu: "4", memory: 16Gi}]
    placed: [{name: old, count: 3, node: pool-0, cpu: 1}]
    pods: [{name: low, cpu: 3}, {name: high, cpu: 3, priority: 100}]
    expect:
      - {pods: high, scheduled: 1, nominated: pool-0}
      - {pods: low, pending: 1, unschedulable: Insufficient cpu}
      - {pods: old-*, evicted: 3}
      - {order: [high, low]}
"""
    assert messages(directory, tests) == []


@pytest.mark.parametrize(
    ("budget", "evicted"), [("minAvailable: 3", 0), ("maxUnavailable: 1", 1), ("minAvailable: 34%", 1)]
)
def test_strict_policy_respects_budgets_and_counts_them_again(directory: Path, budget: str, evicted: int) -> None:
    (directory / "policy.yaml").write_text(POLICY.replace("SpotFirst", "SpotFirst, preemption: {pdbPolicy: Strict}"))
    (directory / "budget.yaml").write_text(
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: old}\n"
        f"spec: {{{budget}, selector: {{matchLabels: {{app: old}}}}}}\n"
    )
    tests = f"""\
  - name: budgets
    cluster:
      nodeGroups: [{{name: pool, count: 3, instanceType: m5.large, cpu: "4", memory: 16Gi}}]
      objects: [budget.yaml]
    placed:
      - {{name: a, node: pool-0, cpu: 3, labels: {{app: old}}}}
      - {{name: b, node: pool-1, cpu: 3, labels: {{app: old}}}}
      - {{name: c, node: pool-2, cpu: 3, labels: {{app: old}}}}
    pods: [{{name: urgent, count: 3, cpu: 3, priority: 9}}]
    expect:
      - {{pods: "?", evicted: {evicted}}}
      - {{pods: urgent-*, scheduled: {evicted}}}
"""
    assert messages(directory, tests) == []


def test_later_pods_can_evict_earlier_pods(directory: Path) -> None:
    tests = """\
  - name: waves
    pods: [{name: low, count: 3, cpu: 3}]
    later: [{name: high, cpu: 3, priority: 5}]
    expect:
      - {pods: high, scheduled: 1}
      - {pods: low-*, evicted: 1}
"""
    assert messages(directory, tests) == []


def test_reason_says_that_the_policy_does_not_allow_the_namespace(directory: Path) -> None:
    allowed = "SpotFirst, allowedNamespaces: {matchLabels: {team: a}}"
    (directory / "policy.yaml").write_text(POLICY.replace("SpotFirst", allowed))
    assert messages(directory, expecting("{unschedulable: NamespaceNotAllowed}")) == []


def test_reason_for_a_pod_without_a_policy_names_its_scheduler_name(directory: Path) -> None:
    pods = "{name: web, schedulerName: nobody}"
    assert messages(directory, expecting("{unschedulable: has the schedulerName nobody}", pods)) == []


def test_default_scheduler_has_the_profile_of_kube_scheduler(directory: Path) -> None:
    assert messages(directory, expecting("{scheduled: 1}", "{name: web, schedulerName: default-scheduler}")) == []


def test_spec_of_a_group_is_the_pods_spec(directory: Path) -> None:
    pods = "{name: web, spec: {nodeSelector: {kubernetes.io/hostname: fixed-0}}}"
    assert messages(directory, expecting("{node: fixed-0}", pods)) == []


def test_tests_can_use_the_cluster_of_a_dump(directory: Path) -> None:
    bodies = [node_object("n1"), node_object("n2"), pod_object("old", node="n1", cpu="3"), pod_object("waits")]
    write_dump(Inventory.of(bodies), directory / "cluster.gz")
    head = "policies: [policy.yaml]\ncluster: {dump: cluster.gz}\ntests:\n"
    assert messages(directory, expecting("{node: n2}", "{name: web, cpu: 2}"), head=head) == []


def test_tests_can_use_a_configuration_of_kube_scheduler_instead_of_a_policy(directory: Path) -> None:
    (directory / "policy.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: spot-first}]\n"
    )
    assert messages(directory, expecting("{scheduled: 2}")) == []


def test_extenders_are_not_called_and_reject_no_node(directory: Path) -> None:
    extenders = "SpotFirst, extenders: [{urlPrefix: 'http://10.0.0.1:1', filterVerb: filter}]"
    (directory / "policy.yaml").write_text(POLICY.replace("SpotFirst", extenders))
    assert messages(directory, expecting("{scheduled: 2}")) == []


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ("  - {name: x}\n", "some.test.yaml:7: tests[0].pods: is required"),
        (
            expecting("{schedulled: 1}"),
            "some.test.yaml:10: tests[0].expect[0].schedulled: is not a known field; did you mean scheduled?",
        ),
        (
            expecting("{scheduled: many}"),
            "some.test.yaml:10: tests[0].expect[0].scheduled: must be a whole number, not the text 'many'",
        ),
        (
            "  - {name: x, pods: [{name: a}]}\n",
            "some.test.yaml:7: tests[0].expect: a test needs expectations, or snapshot: true",
        ),
        (
            expecting("{scheduled: 1}", "{name: a, file: b}"),
            "some.test.yaml:8: tests[0].pods[0]: a group of pods has either a name or a file",
        ),
        (expecting("{}") * 2, "some.test.yaml:11: tests[1].name: is the name of the test in line 7 already"),
        ("  - [\n", "some.test.yaml:8: this is not valid YAML"),
        (expecting("{}", "{file: nofile.yaml}"), "nofile.yaml: No such file or directory"),
        (expecting("{}", "{file: policy.yaml}"), "policy.yaml: has no pods"),
        (
            expecting("{}", "{name: a, cpu: lots}"),
            "some.test.yaml:8: tests[0].pods[0].cpu: 'lots' is not a quantity such as 100m, 1.5Gi or 1e3",
        ),
        (expecting("{}", "{name: a, spec: {tolerations: 5}}"), "some.test.yaml:7: Pod default/a cannot be read"),
        (expecting("{}", "{name: a}, {name: a}"), "some.test.yaml:7: there are 2 pods default/a; rename them"),
        (
            expecting("{}") + "    placed: [{name: old, node: spot-7}]\n",
            "some.test.yaml:7: the pod old is in place on the node 'spot-7', which does not exist; there is",
        ),
    ],
)
def test_bad_file_is_refused_with_the_place(directory: Path, tests: str, message: str) -> None:
    assert messages(directory, tests)[0].startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Pod\n", "objects.yaml:1: metadata.name: is required, as text"),
        ("metadata: {name: x}\n", "objects.yaml:1: kind: is required"),
        (
            "kind: List\nitems:\n- kind: Pod\n  metadata: {name: x}\n  spec: []\n",
            "objects.yaml:5: items[0].spec: must be",
        ),
        ("kind: Pod\nkind: Pod\nmetadata: {name: x}\n", "objects.yaml:2: kind: is repeated"),
    ],
)
def test_bad_object_is_refused_with_its_line(directory: Path, text: str, message: str) -> None:
    (directory / "objects.yaml").write_text(text)
    assert messages(directory, expecting("{}", "{file: objects.yaml}"))[0].startswith(message)


def test_two_nodes_with_the_same_name_are_refused(directory: Path) -> None:
    head = HEAD.replace("name: fixed", "name: spot")
    (line,) = messages(directory, expecting("{}"), head=head)
    assert line == "some.test.yaml:7: there are 2 nodes spot-0; rename them"


def test_policy_with_a_fault_is_refused_with_the_line_of_the_policy(directory: Path) -> None:
    (directory / "policy.yaml").write_text(POLICY.replace("{preset: SpotFirst}", "\n  weights: {Foo: 1}"))
    (line,) = messages(directory, expecting("{}"))
    assert line.startswith("policy.yaml:5: error: SchedulingPolicy spot-first: spec.weights.Foo: there is no plugin")


def test_file_without_policies_is_refused(directory: Path) -> None:
    (directory / "policy.yaml").write_text("kind: ConfigMap\n")
    (line,) = messages(directory, expecting("{}"))
    assert line == "some.test.yaml:1: policies[0]: policy.yaml has no policies"


SNAPSHOT = "  - name: a test\n    pods: [{name: web, count: 2, cpu: 1}, {name: big, cpu: 64}]\n    snapshot: true\n"


def test_update_writes_snapshots_that_later_runs_compare(directory: Path) -> None:
    assert messages(directory, SNAPSHOT)[0] == (
        "some.test.yaml:9: there is no snapshot of this test; write it with: moorage test --update"
    )
    assert messages(directory, SNAPSHOT, update=True) == []
    written = yaml.safe_load((directory / "some.snapshot.yaml").read_text())
    assert written["a test"]["default/web-0"] == "spot-0"
    assert written["a test"]["default/big"].startswith("pending: 0/3 nodes are available")
    assert messages(directory, SNAPSHOT) == []


def test_other_placements_are_shown_as_a_difference(directory: Path) -> None:
    run(directory, SNAPSHOT, update=True)
    (directory / "policy.yaml").write_text(POLICY.replace("SpotFirst", "BinPack"))
    lines = messages(directory, SNAPSHOT)
    assert lines[0].startswith("some.test.yaml:9: the placements differ from the snapshot")
    assert "    -default/web-0: spot-0" in lines
    assert any(line.startswith("    +default/web-0: ") for line in lines)


def test_every_run_gives_the_same_results(directory: Path) -> None:
    first, second = (run(directory, expecting("{node: nowhere}"))[0] for _ in range(2))
    assert list(first.lines()) == list(second.lines())


def test_junit_has_a_case_for_each_test(directory: Path) -> None:
    results = run(directory, expecting("{scheduled: 2}") + expecting("{scheduled: 7}").replace("a test", "b <test>"))
    (suite,) = ET.fromstring(junit_xml(results))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    passed, failed = suite
    assert len(passed) == 0
    assert failed.get("name") == "b <test>"
    failure = failed.find("failure")
    assert failure is not None
    assert "scheduled must be 7, but is 2" in str(failure.get("message"))

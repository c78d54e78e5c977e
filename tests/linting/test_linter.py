"""`moorage lint` reports faults with file, line and field. An operator reports the same faults of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from api.samples import ACCEPTED, REFUSED
from builders import node_object
from moorage.app.lint import lint_files
from moorage.controller.policies import PolicyStore
from moorage.controller.policy_permissions import PolicyPermissions
from moorage.controller.policy_profiles import build_profile
from moorage.framework.profile import ProfileSettings
from moorage.framework.registry import Registry
from moorage.inventory import Inventory
from moorage.linting import LintReport
from moorage.settings import Settings

HEAD = "apiVersion: scheduling.moorage.dev/v1alpha1\nkind: SchedulingPolicy\n"
EXAMPLES = Path(__file__).parents[2] / "examples"
CLUSTER = Inventory.of(
    [
        node_object("n1", zone="us-east-1a", labels={"node.kubernetes.io/instance-type": "m5.large"}),
        {"kind": "SchedulingPolicy", "metadata": {"name": "taken"}, "spec": {"schedulerName": "team"}},
    ]
)


def policy(name: str, spec: str = "") -> str:
    """Return the YAML of a policy; the first line of `spec` is line 5."""
    return f"{HEAD}metadata: {{name: {name}}}\n" + (f"spec:\n{spec}" if spec else "")


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint(texts: Mapping[str, str], inventory: Inventory | None = None, **settings: object) -> LintReport:
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    return lint_files(map(Path, texts), Settings(**settings), inventory)  # type: ignore[arg-type]


def lines(report: LintReport) -> list[str]:
    return [str(finding) for finding in report.findings]


@pytest.mark.usefixtures("written")
class TestFaults:
    def test_valid_policy_has_no_faults(self) -> None:
        report = lint({"a.yaml": policy("gold", "  zones: {spread: Require}\n")})
        assert (lines(report), report.policies, report.fails(strict=True)) == ([], 1, False)

    def test_unknown_plugin_is_named_with_its_line_and_a_suggestion(self) -> None:
        report = lint({"a.yaml": policy("gold", "  weights:\n    ImageLocalty: 3\n")})
        assert lines(report) == [
            (
                "a.yaml:6: error: SchedulingPolicy gold: spec.weights.ImageLocalty: there is no plugin 'ImageLocalty'; "
                "did you mean ImageLocality?"
            )
        ]

    def test_unknown_field_is_named_with_a_suggestion(self) -> None:
        report = lint({"a.yaml": policy("gold", "  zones:\n    maxSkw: 2\n")})
        assert lines(report) == [
            "a.yaml:6: error: SchedulingPolicy gold: spec.zones.maxSkw: is not a known field; did you mean maxSkew?"
        ]

    def test_all_faults_are_reported_at_once(self) -> None:
        spec = "  zones: {spread: Sometimes}\n  weights: {Foo: 1}\n  percentageOfNodesToScore: 101\n"
        report = lint({"a.yaml": policy("Gold_1", spec)})
        assert [(finding.line, finding.path) for finding in report.findings] == [
            (3, "metadata.name"),
            (5, "spec.zones.spread"),
            (6, "spec.weights.Foo"),
            (7, "spec.percentageOfNodesToScore"),
        ]

    def test_argument_of_a_plugin_is_named(self) -> None:
        spec = "  pluginConfig:\n  - name: InterPodAffinity\n    args:\n      hardPodAffinityWeight: 500\n"
        (finding,) = lint({"a.yaml": policy("gold", spec)}).findings
        assert (finding.line, finding.path) == (8, "spec.pluginConfig[0].args.hardPodAffinityWeight")

    def test_repeated_field_is_named(self) -> None:
        (finding,) = lint({"a.yaml": policy("gold", "  paused: true\n  paused: false\n")}).findings
        assert (finding.line, finding.message) == (6, "is repeated; line 5 has it already")

    def test_invalid_yaml_is_named(self) -> None:
        (finding,) = lint({"a.yaml": policy("gold", "  zones: [\n")}).findings
        assert finding.severity == "error"
        assert finding.message.startswith("this is not valid YAML")

    def test_template_is_named(self) -> None:
        (finding,) = lint({"a.yaml": policy("gold", "  {{- toYaml .Values.spec | nindent 2 }}\n")}).findings
        assert "is a template that was not rendered" in finding.message

    def test_missing_file_is_an_error_and_other_files_are_checked(self) -> None:
        Path("a.yaml").write_text(policy("gold"))
        report = lint_files([Path("nofile.yaml"), Path("a.yaml")], Settings(), None)
        assert lines(report) == ["nofile.yaml: error: No such file or directory"]
        assert report.policies == 1

    def test_extender_needs_the_flag_of_the_operator(self) -> None:
        spec = "  extenders:\n  - urlPrefix: http://scores.example.com\n    filterVerb: filter\n"
        (finding,) = lint({"a.yaml": policy("gold", spec)}).findings
        assert (finding.line, finding.path) == (6, "spec.extenders[0].urlPrefix")
        assert "--policy-extenders" in finding.message
        assert lines(lint({"a.yaml": policy("gold", spec)}, policy_extenders=("scores.example.com",))) == []

    def test_reserved_name_is_an_error(self) -> None:
        (finding,) = lint({"a.yaml": policy("batch-x")}, reserved_scheduler_names=("batch-*",)).findings
        assert (finding.line, finding.path) == (3, "metadata.name")


@pytest.mark.usefixtures("written")
class TestSeveralObjects:
    def test_line_numbers_of_later_documents_count_from_the_start_of_the_file(self) -> None:
        text = f"{policy('one')}---\n# the second\n{policy('two', '  weights: {Foo: 1}')}\n"
        (finding,) = lint({"a.yaml": text}).findings
        assert (finding.document, finding.line, finding.subject) == (2, 10, "SchedulingPolicy two")

    def test_other_documents_are_ignored_even_if_they_cannot_be_parsed(self) -> None:
        report = lint({"a.yaml": f"Resources: !Ref x\n---\n{policy('gold')}", "b.yaml": "a: [\n"})
        assert (lines(report), report.policies, report.files) == ([], 1, 2)

    def test_lists_and_json_are_read(self) -> None:
        bad = {"apiVersion": "scheduling.moorage.dev/v1alpha1", "kind": "SchedulingPolicy", "metadata": {"name": "x"}}
        text = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [{**bad, "spec": {"weights": {"Foo": 1}}}]})
        (finding,) = lint({"a.yaml": text}).findings
        assert (finding.path, finding.line) == ("spec.weights.Foo", text.splitlines().index("      Foo: 1") + 1)
        report = lint({"a.json": '{"kind": "SchedulingPolicy",\n"metadata": {"name": 7}}'})
        assert lines(report) == [
            "a.json:1: error: SchedulingPolicy 7: apiVersion: is required; write scheduling.moorage.dev/v1alpha1",
            "a.json:2: error: SchedulingPolicy 7: metadata.name: must be text, not 7",
        ]

    def test_second_policy_with_the_same_scheduler_name_is_an_error(self) -> None:
        report = lint({"a.yaml": policy("one", "  schedulerName: two\n"), "b.yaml": policy("two")})
        assert lines(report) == [
            (
                "b.yaml:3: error: SchedulingPolicy two: metadata.name: schedulerName two belongs to the policy one "
                "(a.yaml:3); give this policy another schedulerName"
            )
        ]

    def test_second_policy_with_the_same_name_is_an_error(self) -> None:
        report = lint({"a.yaml": policy("one"), "b.yaml": policy("one")})
        assert lines(report) == [
            "b.yaml:3: error: SchedulingPolicy one: metadata.name: a.yaml:3 has a policy with this name already"
        ]

    def test_files_for_different_clusters_do_not_conflict(self) -> None:
        for name in ("dev.yaml", "prod.yaml"):
            Path(name).write_text(policy("one"))
        report = lint_files([Path("dev.yaml"), Path("prod.yaml")], Settings(), None, each_alone=True)
        assert lines(report) == []

    def test_profile_of_a_configuration_and_a_policy_conflict(self) -> None:
        config = (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
            "profiles:\n- schedulerName: gold\n"
        )
        report = lint({"a.yaml": config, "b.yaml": policy("gold")})
        assert [finding.file for finding in report.findings] == ["b.yaml"]
        assert "a profile of the configuration (a.yaml:4)" in report.findings[0].message

    def test_faults_of_a_configuration_have_lines(self) -> None:
        config = (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
            "profiles:\n- schedulerName: gold\n  plugins:\n    score:\n      enabled:\n      - name: Foo\n"
        )
        (finding,) = lint({"a.yaml": f"a: 1\n---\n{config}"}).findings
        assert (finding.line, finding.severity, finding.document) == (10, "error", 2)


@pytest.mark.usefixtures("written")
class TestWarnings:
    SPEC = "  filters:\n    zones:\n      allow: [us-east-1a, us-east-1q]\n    instanceTypes: {deny: ['c5*']}\n"

    def test_fields_without_an_effect_are_warnings(self) -> None:
        report = lint({"a.yaml": policy("gold", "  zones:\n    maxSkew: 3\n")})
        (finding,) = report.findings
        assert (finding.severity, finding.line, finding.path) == ("warning", 6, "spec.zones.maxSkew")
        assert str(finding).count("spec.zones.maxSkew") == 1
        assert (report.fails(strict=False), report.fails(strict=True)) == (False, True)

    def test_names_that_no_node_of_the_cluster_has_are_warnings(self) -> None:
        assert lines(lint({"a.yaml": policy("gold", self.SPEC)})) == []
        assert lines(lint({"a.yaml": policy("gold", self.SPEC)}, CLUSTER)) == [
            "a.yaml:7: warning: SchedulingPolicy gold: spec.filters.zones.allow: no node is in the zone us-east-1q",
            (
                "a.yaml:8: warning: SchedulingPolicy gold: spec.filters.instanceTypes.deny: "
                "c5* matches the instance type of no node"
            ),
        ]

    def test_scheduler_name_of_a_policy_in_the_cluster_is_an_error(self) -> None:
        report = lint({"a.yaml": policy("team")}, CLUSTER)
        assert "belongs to the cluster's policy taken" in report.findings[0].message

    def test_changed_scheduler_name_is_an_error(self) -> None:
        (finding,) = lint({"a.yaml": policy("taken", "  schedulerName: other\n")}, CLUSTER).findings
        assert (finding.line, finding.path) == (5, "spec.schedulerName")
        assert "is immutable" in finding.message

    def test_unchanged_policy_of_the_cluster_has_no_conflict(self) -> None:
        assert lines(lint({"a.yaml": policy("taken", "  schedulerName: team\n")}, CLUSTER)) == []


def test_examples_have_no_errors() -> None:
    report = lint_files([EXAMPLES], Settings(policy_extenders=("127.0.0.1",), allow_default_scheduler=True), None)
    assert [str(finding) for finding in report.findings if finding.severity == "error"] == []
    assert report.policies >= 9
    assert report.configurations == 1


SPECS = [
    {"weights": {"Foo": 1}},
    {"weights": {"NodeName": 1}},
    {"zones": {"spread": "x"}},
    {"plugins": {"score": {"enabled": [{"name": "Foo"}]}}},
    {"plugins": {"filter": {"enabled": [{"name": "ImageLocality"}]}}},
    {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "x"}}}]},
    {"extenders": [{"urlPrefix": "http://a.example.com", "filterVerb": "x"}]},
    {"gpu": {"resources": []}},
    {"schedulerName": "default-scheduler", "allowDefaultScheduler": True},
    {"backoff": {"initialSeconds": 9, "maxSeconds": 3}},
    {},
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_operator_refuses_the_same_policies_with_the_same_words(spec: dict[str, object], written: Path) -> None:
    body = {
        "apiVersion": "scheduling.moorage.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": "p", "uid": "u", "generation": 1},
        "spec": spec,
    }
    registry, permissions = Registry.discover(), PolicyPermissions()
    store = PolicyStore(
        lambda policy: build_profile(registry, ProfileSettings(), policy, permissions),
        name_refusal=permissions.name_refusal,
    )
    (state,) = store.replace(body).states
    file = written / "a.yaml"
    file.write_text(yaml.safe_dump(body))

    report = lint_files([file], Settings(), None)

    assert bool(report.errors) == (state.refusal is not None)
    for finding in report.findings:
        assert state.refusal is None or finding.message in state.refusal.message


@pytest.mark.parametrize("name", REFUSED)
def test_each_refused_spec_has_an_error_at_its_field(name: str, written: Path) -> None:
    path, spec = REFUSED[name]
    body = {
        "apiVersion": "scheduling.moorage.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": "p"},
        "spec": spec,
    }
    file = written / "a.yaml"
    file.write_text(yaml.safe_dump(body))
    report = lint_files([file], Settings(policy_extenders=("extender", "*.example.com")), None)
    assert path in {finding.path for finding in report.findings if finding.severity == "error"}
    assert all(finding.line for finding in report.findings)


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted_spec_has_no_error_in_its_fields(name: str, written: Path) -> None:
    file = written / "a.yaml"
    body = {"apiVersion": "scheduling.moorage.dev/v1alpha1", "kind": "SchedulingPolicy", "metadata": {"name": "p"}}
    file.write_text(yaml.safe_dump({**body, "spec": ACCEPTED[name]}, sort_keys=False))
    report = lint_files([file], Settings(policy_extenders=("extender", "binder", "*.example.com")), None)
    ours = ("spec.extenders", "spec.plugin", "spec.weights", "spec.schedulerName")
    assert [
        str(finding) for finding in report.findings if finding.severity == "error" and not finding.path.startswith(ours)
    ] == []

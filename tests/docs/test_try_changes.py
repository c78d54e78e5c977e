"""The test file in docs/try-changes.md passes as written, and its workflow names commands that exist."""

from __future__ import annotations

from pathlib import Path

import yaml

from docs.shell_blocks import blocks
from moorage.framework.registry import Registry
from moorage.policy_tests.policy_test_models import ClusterSection, PodExpectation, PodGroup, PolicyTestCase
from moorage.policy_tests.policy_test_runner import PolicyTestRunner

PAGE = "docs/try-changes.md"
POLICY = """\
apiVersion: scheduling.moorage.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: spot-first}
spec: {preset: SpotFirst}
"""


def yaml_block(start: str) -> str:
    (found,) = [block.text for block in blocks(PAGE) if block.language == "yaml" and block.text.startswith(start)]
    return found


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    (tmp_path / "spot-first.yaml").write_text(POLICY)
    file = tmp_path / "spot-first.test.yaml"
    file.write_text(yaml_block("# policies/spot-first.test.yaml"))
    results = list(PolicyTestRunner(Registry.discover()).run_files([file]))
    assert [line for result in results for line in result.lines()] == []
    assert len(results) == 2


def test_the_page_names_each_field() -> None:
    text = Path(__file__).parents[2].joinpath(PAGE).read_text()
    for model in (ClusterSection, PodExpectation, PodGroup, PolicyTestCase):
        for name, field in model.model_fields.items():
            assert f"`{field.alias or name}" in text or f" {field.alias or name}:" in text, (model.__name__, name)


def test_the_workflow_is_valid_yaml() -> None:
    workflow = yaml.safe_load(yaml_block("# .github/workflows"))
    runs = [step["run"] for step in workflow["jobs"]["policies"]["steps"] if "run" in step]
    assert [run.split()[:2] for run in runs] == [["pip", "install"], ["moorage", "lint"], ["moorage", "test"]]

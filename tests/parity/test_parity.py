import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from moorage.errors import ConfigurationError
from moorage.simulator.parity.parity_report import report_json, report_lines
from moorage.simulator.parity.parity_run import compare, run_parity

NODE = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}}
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
REASON = "0/1 nodes are available: 1 Insufficient cpu."


def write(path: Path, *cases: dict[str, Any]) -> Path:
    text = "".join(f"{json.dumps(case)}\n" for case in cases)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def case(case_id: str, **expected: Any) -> dict[str, Any]:
    return {"case": {"id": case_id, "nodes": [NODE], "pod": POD}, "expect": {"id": case_id, **expected}}


@pytest.mark.parametrize("name", ["cases.jsonl", "cases.jsonl.gz"])
def test_report_has_the_field_and_both_values_of_a_difference(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, case("resources/1", fitErrorMessage="0/1 nodes are available: 1 Too many pods."))
    report = run_parity([path])
    lines = report_lines(report)
    assert "resources/1" in lines
    assert any(
        line.strip().startswith("fitErrorMessage: kube-scheduler '0/1 nodes are available: 1 Too many pods.'")
        and REASON in line
        for line in lines
    )
    assert lines[-1] == "0 of 1 cases agree"


def test_report_counts_cases_by_group_and_by_differing_field(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", case("a/1", feasible=["n1"]), case("b/1"), case("b/2"))
    report = run_parity([path], {"b/2": "on purpose"})
    assert report.cases == {"a": 1, "b": 2}
    assert report.fields["a", "feasible"] == 1
    assert report.deviations == ["b/2"]
    assert any(line.startswith("b") and line.endswith("(1 on purpose)") for line in report_lines(report))
    assert report_json(report)["mismatches"][0]["id"] == "a/1"


def test_case_agrees_if_both_refuse_the_configuration_with_different_messages(tmp_path: Path) -> None:
    body = case("profiles/1", configError="kube-scheduler's own words")
    body["case"]["config"] = {"schedulerName": "default-scheduler", "pluginz": {}}
    report = run_parity([write(tmp_path / "cases.jsonl", body)])
    assert report.agreeing == 1


def test_case_differs_if_only_moorage_refuses_the_configuration(tmp_path: Path) -> None:
    body = case("profiles/1")
    body["case"]["config"] = {"plugins": {"score": {"enabled": [{"name": "NoSuchPlugin"}]}}}
    report = run_parity([write(tmp_path / "cases.jsonl", body)])
    assert report.fields["profiles", "configError"] == 1


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "line 1"),
        ('{"case": {"id": "a/1"}}', "expect"),
        ('{"case": {"id": "a/1", "pod": {}, "nodez": []}, "expect": {}}', "nodez"),
    ],
)
def test_invalid_line_is_refused_with_its_number_or_field(tmp_path: Path, line: str, complaint: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=complaint):
        run_parity([path])


def test_compare_treats_empty_and_absent_values_as_equal() -> None:
    assert not list(compare({"feasible": [], "scores": {}}, {}))
    assert list(compare({"total": {"n1": 0}}, {"total": {}}))
    assert [str(difference) for difference in compare({"total": {"n1": 3}}, {"total": {"n1": 4}})] == [
        "total.n1: kube-scheduler 3, moorage 4"
    ]


def test_exception_in_one_case_does_not_stop_the_other_cases(tmp_path: Path) -> None:
    broken = case("a/1")
    broken["case"]["pod"] = {"metadata": {"name": "p"}, "spec": "no object"}
    report = run_parity([write(tmp_path / "cases.jsonl", broken, case("a/2", feasible=["n9"]))])
    assert report.fields["a", "error"] == 1
    assert report.fields["a", "feasible"] == 1

"""moorage's engine makes the decision that each vector expects, equal in all fields."""

from pathlib import Path

import pytest
import yaml

from moorage.simulator.parity.parity_report import report_lines
from moorage.simulator.parity.parity_run import run_parity

HERE = Path(__file__).parent
VECTORS = sorted((HERE / "vectors").glob("*.jsonl.gz"))
FOUND = HERE / "vectors" / "found.jsonl"
"""Cases in which moorage and kube-scheduler once differed; each id names the rule that was wrong."""
DEVIATIONS: dict[str, str] = yaml.safe_load((HERE / "deviations.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [*VECTORS, FOUND], ids=lambda path: path.name.partition(".")[0])
def test_moorage_makes_the_decision_of_kube_scheduler_in_each_vector(path: Path) -> None:
    report = run_parity([path], DEVIATIONS)
    assert report.total > 0
    assert report.agreeing + len(report.deviations) == report.total, "\n".join(report_lines(report))


def test_no_vector_file_is_missing() -> None:
    assert len(VECTORS) == 33

"""Decides every vector with the engine, and compares all fields with what kube-scheduler decided."""

from pathlib import Path

import pytest
import yaml

from moorage.simulator.parity import run_parity
from moorage.simulator.parity_report import report_lines

HERE = Path(__file__).parent
VECTORS = sorted((HERE / "vectors").glob("*.jsonl.gz"))
DEVIATIONS: dict[str, str] = yaml.safe_load((HERE / "deviations.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_decisions_equal_kube_schedulers(path: Path) -> None:
    report = run_parity([path], DEVIATIONS)
    assert report.total > 0
    assert report.agreeing + len(report.deviations) == report.total, "\n".join(report_lines(report))


def test_all_vectors_are_there() -> None:
    assert len(VECTORS) == 33

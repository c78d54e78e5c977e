"""moorage and kube-scheduler's code make the same decisions about generated cases."""

import pytest

from moorage.simulator.parity.parity_report import report_lines
from parity.differential import ask_oracle, compare_with_moorage
from parity.generate_cases import generate

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]

SEED = 20261130
COUNT = 150
FEWEST_VALID = 90
"""The generator is broken if it makes only this number of valid cases, or fewer."""


def test_moorage_and_kube_scheduler_decide_equally_about_generated_cases() -> None:
    report = compare_with_moorage(ask_oracle(generate(SEED, COUNT)))
    assert report.total > FEWEST_VALID
    assert report.agreeing == report.total, "\n".join(report_lines(report))


def test_oracle_returns_the_message_of_kube_scheduler() -> None:
    node = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    (decided,) = ask_oracle([{"id": "resources/1", "nodes": [node], "pod": pod}])
    assert decided["expect"]["fitErrorMessageFull"] == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )


def test_oracle_drops_cases_that_the_api_server_would_refuse() -> None:
    assert not ask_oracle([{"id": "resources/1", "nodes": [], "pod": {"metadata": {"name": "No_Name"}, "spec": {}}}])

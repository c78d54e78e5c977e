"""New cases, decided by kube-scheduler's own code and by moorage."""

import pytest

from moorage.simulator.parity_report import report_lines
from parity.differential import ask_oracle, compare_with_moorage
from parity.generate_cases import generate

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]

SEED = 20261130
COUNT = 150
FEWEST_VALID = 90
"""Of the cases made; fewer would say that the generator is broken."""


def test_new_cases_are_decided_as_kube_scheduler_decides_them() -> None:
    report = compare_with_moorage(ask_oracle(generate(SEED, COUNT)))
    assert report.total > FEWEST_VALID
    assert report.agreeing == report.total, "\n".join(report_lines(report))


def test_the_oracle_is_kube_scheduler() -> None:
    """A few words that only it would use, in case the oracle ever answers from somewhere else."""
    node = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    (decided,) = ask_oracle([{"id": "resources/1", "nodes": [node], "pod": pod}])
    assert decided["expect"]["fitErrorMessageFull"] == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )


def test_cases_that_the_api_server_would_refuse_are_left_out() -> None:
    assert not ask_oracle([{"id": "resources/1", "nodes": [], "pod": {"metadata": {"name": "No_Name"}, "spec": {}}}])

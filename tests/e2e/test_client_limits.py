"""Rate limits of the client and of the API server. The tests read the audit log, the metrics and the operator's log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.component import Component
from e2e.audited import REPLICAS, Audited, Write
from e2e.case import Case, case_of
from e2e.clusters import eventually
from e2e.served import served
from moorage.sandbox.injected_faults import Fail
from processes import moorage

pytestmark = pytest.mark.slow

QPS, BURST, PODS = 8, 4, 15
LIMITS = f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{qps: {QPS}, burst: {BURST}}}
"""
EXTRA_WRITES = 3
"""The number of extra writes that the test tolerates: writes that arrive late, and the event of the lease."""


@pytest.fixture
def case(audited: Audited, case_numbers: Iterator[int]) -> Iterator[Case]:
    with case_of(audited.cluster, f"case-{next(case_numbers)}") as case:
        yield case


@pytest.mark.controlplane
def test_the_client_limits_writes_to_qps_and_burst_and_reports_the_wait(
    audited: Audited, case: Case, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(LIMITS, encoding="utf-8")
    kubeconfig = audited.control_plane.kubeconfig_of(REPLICAS[1])
    started = time.time()
    with moorage(kubeconfig, tmp_path, audited.cluster.ports, f"--config={config}") as operator:
        case.make_live()
        case.cluster.apply(*(case.pod(f"p{number}") for number in range(PODS)))
        eventually(lambda: len(audited.bindings(f"{case.name}-p")) == PODS)
        eventually(lambda: all(case.notes(f"p{number}", "Scheduled") for number in range(PODS)))

        written = limited_writes(audited, started)
        assert len(written) >= 2 * PODS
        for first, begin in enumerate(written):
            for last, end in enumerate(written[first:], start=first):
                allowed = BURST + EXTRA_WRITES + QPS * (end.seconds - begin.seconds)
                assert last - first + 1 <= allowed
        assert waited_seconds(operator) > 1
        log = operator.log.read_text(encoding="utf-8")
        assert f"for the client's own limit (qps {QPS}, burst {BURST})" in log
        assert log.count("Throttling request") < PODS


def limited_writes(audited: Audited, since: float) -> list[Write]:
    """Return the operator's bindings and events in order of arrival."""
    found = [*audited.writes("pods/binding"), *audited.writes("events")]
    ours = (one for one in found if one.user == REPLICAS[1] and one.seconds > since)
    return sorted(ours, key=lambda one: one.seconds)


def waited_seconds(operator: Component) -> float:
    lines = operator.endpoint.read("/metrics").splitlines()
    sums = [line for line in lines if line.startswith("rest_client_rate_limiter_duration_seconds_sum")]
    return sum(float(line.split()[-1]) for line in sums)


def test_a_throttled_write_is_retried_after_the_servers_delay(tmp_path: Path) -> None:
    """A 429 with Retry-After is not a failure: the operator sends the same binding again."""
    with (
        served(tmp_path) as api,
        moorage(api.cluster.kubeconfig, tmp_path, api.cluster.ports),
        case_of(api.cluster, "throttled") as case,
    ):
        case.make_live()
        api.fault(Fail(429, retry_after_seconds=2), verb="create", path="/binding$")
        case.cluster.apply(case.pod("p"))
        assert case.wait_until_bound("p")
        statuses = [status for _, path, status in tuple(api.server.requests) if path.endswith("/binding")]
        assert statuses == [429, 201]
        assert case.wait_for_event("p", "Scheduled")
        assert case.notes("p", "FailedScheduling") == []

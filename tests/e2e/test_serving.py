"""The operator's endpoints: HTTPS and authorization beyond loopback, and kube-scheduler's metrics."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families

from controlplane.component import Component, Endpoint
from e2e.audited import REPLICAS, Audited
from e2e.case import Case, case_of
from e2e.clusters import eventually
from moorage.runtime.serving.certificate import self_signed
from processes import started

pytestmark = [pytest.mark.controlplane, pytest.mark.slow, pytest.mark.tls]

EVERYWHERE = "0.0.0.0"
LIMITS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {qps: 100, burst: 100}
"""
REQUIRED = {
    "scheduler_schedule_attempts",
    "scheduler_scheduling_attempt_duration_seconds",
    "scheduler_scheduling_algorithm_duration_seconds",
    "scheduler_pod_scheduling_sli_duration_seconds",
    "scheduler_pod_scheduling_attempts",
    "scheduler_pending_pods",
    "scheduler_preemption_attempts",
    "scheduler_preemption_victims",
    "scheduler_event_handling_duration_seconds",
    "scheduler_framework_extension_point_duration_seconds",
    "scheduler_plugin_execution_duration_seconds",
    "scheduler_plugin_evaluation",
    "scheduler_queueing_hint_execution_duration_seconds",
    "scheduler_queue_incoming_pods",
    "scheduler_pod_scheduled_after_flush",
    "rest_client_requests",
    "rest_client_request_duration_seconds",
    "rest_client_rate_limiter_duration_seconds",
}
"""Metrics of kube-scheduler that moorage must have. The names are without `_total`.

The test also compares all other metrics that have a prefix of kube-scheduler's metrics.
"""


SAMPLED = ("scheduler_plugin_execution_duration_seconds", "scheduler_queueing_hint_execution_duration_seconds")
"""Metrics that appear only after some pods: one cycle in ten is measured, and queueing hints need a waiting pod."""
BATCH = 10
POINTS = ("scheduler_framework_extension_point_duration_seconds", "extension_point")
NOT_OURS = {"PreBindPreFlight", "Sign"}
"""Extension points of plugins that moorage does not have."""
INCOMING = ("scheduler_queue_incoming_pods", "event")


class Family(NamedTuple):
    """The properties of a metric on which dashboards depend."""

    kind: str
    labels: frozenset[str]
    bounds: frozenset[float]


@pytest.fixture(scope="module")
def secured(audited: Audited, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Component]:
    """An operator that serves on all addresses."""
    with started(serving(audited, tmp_path_factory.mktemp("secured"), EVERYWHERE)) as operator:
        yield operator


@pytest.fixture
def case(audited: Audited, case_numbers: Iterator[int]) -> Iterator[Case]:
    with case_of(audited.cluster, f"case-{next(case_numbers)}") as case:
        yield case


def serving(audited: Audited, directory: Path, address: str, *flags: str, scheme: str = "https") -> Component:
    """Return an operator with a certificate from the test. The operator is not started."""
    certificate, config = directory / "serving.pem", directory / "config.yaml"
    certificate.write_bytes(self_signed(["127.0.0.1"], datetime.now(UTC)))
    config.write_text(LIMITS, encoding="utf-8")
    port = audited.cluster.ports.take()
    kubeconfig = audited.control_plane.kubeconfig_of(REPLICAS[0])
    where = [f"--bind-address={address}", f"--port={port}"]
    tls = [f"--tls-cert-file={certificate}", f"--tls-private-key-file={certificate}"]
    command = [sys.executable, "-m", "moorage", "run", f"--kubeconfig={kubeconfig}", f"--config={config}"]
    endpoint = Endpoint(f"{scheme}://127.0.0.1:{port}", ("/readyz",), certificate)
    return Component([*command, *where, *tls, *flags], directory / "moorage.log", endpoint)


def status(endpoint: Endpoint, path: str, token: str | None = None) -> int:
    return replace(endpoint, token=token)._get(path)[0]


def token_of(audited: Audited, account: str) -> str:
    audited.cluster.kubectl("create", "serviceaccount", account)
    return audited.cluster.kubectl("create", "token", account).strip()


def test_beyond_loopback_only_health_probes_need_no_authorization(audited: Audited, secured: Component) -> None:
    endpoint = secured.endpoint
    stranger, scraper = token_of(audited, "stranger"), token_of(audited, "scraper")
    paths = ("--verb=get", "--non-resource-url=/metrics", "--non-resource-url=/configz")
    audited.cluster.kubectl("create", "clusterrole", "scraper", *paths)
    audited.cluster.kubectl(
        "create", "clusterrolebinding", "scraper", "--clusterrole=scraper", "--serviceaccount=default:scraper"
    )

    assert [status(endpoint, path) for path in ("/healthz", "/livez", "/readyz")] == [HTTPStatus.OK] * 3
    for path in ("/metrics", "/configz", "/debug/cache"):
        assert status(endpoint, path) == HTTPStatus.UNAUTHORIZED
        assert status(endpoint, path, "no-such-token") == HTTPStatus.UNAUTHORIZED
        assert status(endpoint, path, stranger) == HTTPStatus.FORBIDDEN
    assert status(endpoint, "/metrics", scraper) == HTTPStatus.OK
    assert status(endpoint, "/configz", scraper) == HTTPStatus.OK
    assert status(endpoint, "/debug/cache", scraper) == HTTPStatus.FORBIDDEN
    assert status(endpoint, "/debug/cache", audited.control_plane.token) == HTTPStatus.OK


def test_serve_plain_http_serves_metrics_without_tls(audited: Audited, tmp_path: Path) -> None:
    with started(serving(audited, tmp_path, EVERYWHERE, "--serve-plain-http", scheme="http")) as operator:
        assert "rest_client_requests_total" in operator.endpoint.read("/metrics")


def test_endpoints_show_readiness_profiles_and_cache(audited: Audited, secured: Component, case: Case) -> None:
    endpoint = replace(secured.endpoint, token=audited.control_plane.token)
    case.make_live()
    case.cluster.apply(case.pod("p"))
    case.wait_until_bound("p")

    ready = endpoint.read("/readyz?verbose").splitlines()
    checks = ("ping", "scheduling-loop", "leader-election", "api-server", "rights", "informers", "policies")
    assert [line.partition(": ")[0] for line in ready] == [
        *(f"[+]{check} ok" for check in checks),
        "readyz check passed",
    ]
    assert any(line.startswith("[+]leader-election ok: this replica holds the Lease ") for line in ready)
    profile = json.loads(endpoint.read("/configz"))["profiles"][case.name]
    assert profile["policy"]["name"] == case.name
    assert profile["weights"]["NodeResourcesFit"] == 1
    cache = json.loads(endpoint.read("/debug/cache"))
    assert cache["objects"]["Node"] == len(case.reader.read("/api/v1/nodes")["items"])
    assert case.name in cache["profiles"]
    assert max(cache["secondsSinceHeard"].values()) < 120


def test_metrics_match_kube_schedulers_names_types_labels_and_buckets(
    audited: Audited, secured: Component, case: Case
) -> None:
    case.make_live()
    ours, theirs = (case.name, "default-scheduler")
    case.cluster.apply(*(case.pod(f"fits-{n}", schedulerName=name) for n, name in enumerate((ours, theirs))))
    large = {"cpu": "500"}
    case.cluster.apply(
        *(case.pod(f"big-{n}", schedulerName=name, requests=large) for n, name in enumerate((ours, theirs)))
    )
    endpoint = replace(secured.endpoint, token=audited.control_plane.token)
    with audited.control_plane.start_scheduler() as scheduler:
        for number in range(2):
            assert case.wait_until_bound(f"fits-{number}")
            case.wait_for_event(f"big-{number}", "FailedScheduling")
        numbers = count()

        def have_sampled() -> bool:
            """Bind and delete pods. Return whether both schedulers have measured plugins and queueing hints."""
            batch = [f"more-{next(numbers)}" for _ in range(BATCH)]
            case.cluster.apply(*(case.pod(name, schedulerName=(ours, theirs)[n % 2]) for n, name in enumerate(batch)))
            for name in batch:
                case.wait_until_bound(name)
            case.cluster.kubectl("delete", "pods", "--force", *(f"{case.name}-{name}" for name in batch))
            texts = endpoint.read("/metrics"), scheduler.endpoint.read("/metrics")
            return all(name in families(text) and families(text)[name].bounds for name in SAMPLED for text in texts)

        eventually(have_sampled)
        wanted_text = scheduler.endpoint.read("/metrics")
        wanted = families(wanted_text)
        resources = [families(one.read("/metrics/resources")) for one in (endpoint, scheduler.endpoint)]
    text = endpoint.read("/metrics")
    found = families(text)

    assert resources[0].keys() == {"kube_pod_resource_request"}
    assert resources[0] == resources[1]

    assert REQUIRED - found.keys() == set()
    like_theirs = {name for name in found if name.startswith(("scheduler_", "rest_client_"))}
    assert {name: found[name] for name in like_theirs} == {name: wanted.get(name) for name in like_theirs}
    for metric in (POINTS, INCOMING):
        assert label_values(wanted_text, *metric) - NOT_OURS <= label_values(text, *metric)
    for result in ("scheduled", "unschedulable"):
        assert f'scheduler_schedule_attempts_total{{profile="{case.name}",result="{result}"}} ' in text
    eventually(lambda: 'scheduler_pending_pods{queue="unschedulable"} 1.0' in endpoint.read("/metrics"))
    assert 'leader_election_master_status{name="moorage"} 1.0' in text


def label_values(text: str, metric: str, label: str) -> set[str]:
    (family,) = (family for family in text_string_to_metric_families(text) if family.name == metric)
    return {sample.labels[label] for sample in family.samples}


def families(text: str) -> dict[str, Family]:
    found = {}
    for family in text_string_to_metric_families(text):
        labels = frozenset(label for sample in family.samples for label in sample.labels)
        bounds = frozenset(float(sample.labels["le"]) for sample in family.samples if "le" in sample.labels)
        found[family.name] = Family(family.type, labels, bounds)
    return found

"""Metrics have the names and labels of kube-scheduler and client-go, because dashboards depend on them."""

import time
from random import Random

from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from builders import pod
from moorage.engine.messages import BindingFinished
from moorage.framework.cluster_events import added, deleted
from moorage.framework.status import Code
from moorage.plugins.upstream.node_ports import NodePorts
from moorage.runtime.metrics.framework_metrics import FrameworkMetrics
from moorage.runtime.metrics.process_metrics import ProcessMetrics

LABELS = {
    "scheduler_schedule_attempts": {"result", "profile"},
    "scheduler_scheduling_attempt_duration_seconds": {"result", "profile"},
    "scheduler_scheduling_algorithm_duration_seconds": set(),
    "scheduler_pod_scheduling_sli_duration_seconds": {"attempts"},
    "scheduler_pod_scheduling_attempts": set(),
    "scheduler_preemption_attempts": set(),
    "scheduler_preemption_victims": set(),
    "scheduler_event_handling_duration_seconds": {"event"},
    "scheduler_framework_extension_point_duration_seconds": {"extension_point", "status", "profile"},
    "scheduler_plugin_execution_duration_seconds": {"plugin", "extension_point", "status"},
    "scheduler_plugin_evaluation": {"plugin", "extension_point", "profile"},
    "scheduler_queueing_hint_execution_duration_seconds": {"plugin", "event", "hint"},
    "scheduler_queue_incoming_pods": {"queue", "event"},
    "scheduler_pod_scheduled_after_flush": set(),
    "rest_client_requests": {"code", "method", "host"},
    "rest_client_request_duration_seconds": {"verb", "host"},
    "rest_client_rate_limiter_duration_seconds": {"verb", "host"},
}


def used() -> ProcessMetrics:
    """Return metrics, each with one observation."""
    metrics = ProcessMetrics("10.0.0.1:6443")
    metrics.scheduling.observe_attempt("scheduled", "gold", 0.003)
    metrics.scheduling.observe_decision(0.0004)
    metrics.scheduling.observe_bound(1, 0.2)
    metrics.scheduling.observe_bound(20, 0.2)
    metrics.scheduling.observe_preemption(3)
    metrics.scheduling.observe_message(added("Node", None), 0.0001)
    metrics.scheduling.observe_message(deleted("Pod", pod("p", node="n")), 0.0001)
    metrics.scheduling.observe_message(added("Pod", pod("p")), 0.0001)
    metrics.scheduling.observe_message(added("CSINode", None), 0.0001)
    metrics.scheduling.observe_message(BindingFinished(pod("p"), "n"), 0.0001)
    framework = metrics.framework
    framework.observe_point("Filter", Code.SUCCESS, "gold", framework.now(), (NodePorts(),))
    framework.observe_plugin("NodePorts", "Filter", Code.UNSCHEDULABLE, framework.now())
    framework.observe_hint("NodePorts", added("Node", None), framework.now(), queues=True)
    framework.count_incoming("active", "UnschedulablePodAdd")
    metrics.client.observe_request("POST", 201, 0.004)
    metrics.client.observe_request("GET", None, 5.0)
    metrics.client.observe_throttling("POST", 1.5)
    return metrics


def samples(metrics: ProcessMetrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def test_names_and_labels_are_kube_schedulers_and_client_gos() -> None:
    families = {family.name: family for family in text_string_to_metric_families(used().render().decode())}
    for name, labels in LABELS.items():
        assert families[name].samples, name
        for sample in families[name].samples:
            assert set(sample.labels) - {"le"} == labels, name


def test_buckets_equal_those_of_kube_scheduler() -> None:
    bounds = {
        dict(labels)["le"]
        for name, labels in samples(used())
        if name == "scheduler_scheduling_attempt_duration_seconds_bucket"
    }
    assert bounds == {str(0.001 * 2**step) for step in range(15)} | {"+Inf"}


def test_buckets_of_plugins_are_rounded_as_in_go() -> None:
    bounds = {
        dict(labels)["le"]
        for name, labels in samples(used())
        if name == "scheduler_plugin_execution_duration_seconds_bucket"
    }
    assert "0.02216837820053101" in bounds
    assert len(bounds) == 21


def test_high_numbers_of_attempts_share_one_label() -> None:
    found = {
        dict(labels)["attempts"]
        for name, labels in samples(used())
        if name == "scheduler_pod_scheduling_sli_duration_seconds_count"
    }
    assert found == {"1", "15+"}


def test_events_are_labelled_by_kind_and_action() -> None:
    found = {
        dict(labels)["event"]
        for name, labels in samples(used())
        if name == "scheduler_event_handling_duration_seconds_count"
    }
    assert found == {
        "NodeAdd",
        "AssignedPodDelete",
        "UnschedulablePodAdd",
        "storage.k8s.io/CSINodeAdd",
        "BindingFinished",
    }


def test_requests_without_an_answer_count_as_errors() -> None:
    labels = frozenset({("code", "<error>"), ("method", "GET"), ("host", "10.0.0.1:6443")})
    assert samples(used())["rest_client_requests_total", labels] == 1


def test_gauges_are_read_at_each_scrape() -> None:
    metrics, pending = ProcessMetrics("api"), {"active": 1}
    metrics.read_at_scrape(
        "scheduler_pending_pods", "Pods.", ("queue",), lambda: {(queue,): count for queue, count in pending.items()}
    )
    pending["active"] = 7
    assert samples(metrics)["scheduler_pending_pods", frozenset({("queue", "active")})] == 7


def test_durations_are_read_from_the_given_clock() -> None:
    times = iter((1.0, 3.5))
    metrics = ProcessMetrics("api", lambda: next(times))
    framework = metrics.framework
    framework.observe_point("Bind", Code.ERROR, "gold", framework.now())
    labels = {("extension_point", "Bind"), ("status", "Error"), ("profile", "gold")}
    assert samples(metrics)["scheduler_framework_extension_point_duration_seconds_sum", frozenset(labels)] == 2.5


def test_evaluations_are_counted_for_each_plugin_and_attempt() -> None:
    metrics, plugin = ProcessMetrics("api"), NodePorts()
    for _ in range(3):
        metrics.framework.observe_point("Filter", Code.SUCCESS, "gold", 0.0, (plugin,))
    metrics.framework.observe_point("Filter", Code.UNSCHEDULABLE, "gold", 0.0, (plugin,))
    labels = frozenset({("plugin", "NodePorts"), ("extension_point", "Filter"), ("profile", "gold")})
    assert samples(metrics)["scheduler_plugin_evaluation_total", labels] == 4


def test_plugins_are_measured_in_about_a_tenth_of_the_cycles() -> None:
    metrics = FrameworkMetrics(CollectorRegistry(), time.perf_counter, Random(1).random)
    sampled = 0
    for _ in range(10_000):
        metrics.start_cycle()
        sampled += metrics.samples_plugins
    assert 900 < sampled < 1100


def test_metrics_of_two_processes_are_separate() -> None:
    first, second = ProcessMetrics("a"), ProcessMetrics("b")
    first.scheduling.observe_preemption(1)
    assert samples(second)["scheduler_preemption_attempts_total", frozenset()] == 0

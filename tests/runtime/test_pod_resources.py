"""The metrics of `/metrics/resources`: upstream pkg/scheduler/metrics/resources/resources_test.go."""

from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from builders import pod
from moorage.model.pods.pod import Pod
from moorage.runtime.metrics.pod_resources import LIMIT, REQUEST, render_pod_resources

LABELS = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")


def values(metric: str, *pods: Pod) -> dict[tuple[str, str], float]:
    """Return the values of a metric by resource and unit."""
    families = text_string_to_metric_families(render_pod_resources(pods).decode())
    samples = [sample for family in families if family.name == metric for sample in family.samples]
    return {(sample.labels["resource"], sample.labels["unit"]): sample.value for sample in samples}


def container(name: str, limits: dict[str, str], **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "app:1", "resources": {"limits": limits, "requests": limits}, **fields}


def test_requests_have_upstreams_labels_and_units() -> None:
    requests = {
        "cpu": "1500m",
        "memory": "1Gi",
        "ephemeral-storage": "1k",
        "hugepages-2Mi": "2Mi",
        "example.com/gpu": "2",
    }
    text = render_pod_resources([pod("p", requests=requests, node="n1", priority=7)]).decode()
    (family,) = text_string_to_metric_families(text)

    assert family.name == REQUEST
    assert family.type == "gauge"
    assert all(tuple(sample.labels) == LABELS for sample in family.samples)
    assert {**family.samples[0].labels, "resource": "", "unit": ""} == {
        "namespace": "default",
        "pod": "p",
        "node": "n1",
        "scheduler": "default-scheduler",
        "priority": "7",
        "resource": "",
        "unit": "",
    }
    assert values(REQUEST, pod("p", requests=requests)) == {
        ("cpu", "cores"): 1.5,
        ("memory", "bytes"): 2**30,
        ("ephemeral-storage", "bytes"): 1000,
        ("hugepages-2Mi", "bytes"): 2**21,
        ("example.com/gpu", ""): 2,
    }


def test_limits_add_up_and_include_the_largest_init_container() -> None:
    limited = pod(
        "p",
        containers=[container("a", {"cpu": "1"}), container("b", {"cpu": "500m", "memory": "1Gi"})],
        spec={
            "initContainers": [container("init", {"cpu": "4", "memory": "1Mi"})],
            "overhead": {"cpu": "1", "x.io/a": "1"},
        },
    )

    assert values(LIMIT, limited) == {("cpu", "cores"): 5, ("memory", "bytes"): 2**30}


def test_pods_that_have_ended_and_amounts_of_zero_are_left_out() -> None:
    ended = pod("ended", cpu="1", node="n1", phase="Succeeded")

    assert render_pod_resources([ended, pod("zero", cpu="0")]) == b""


def test_text_of_a_user_is_escaped() -> None:
    text = render_pod_resources([pod("p", cpu="1", spec={"schedulerName": 'a"b\\c'})]).decode()
    (family,) = text_string_to_metric_families(text)

    assert family.samples[0].labels["scheduler"] == 'a"b\\c'

"""Requests of pods: sums over containers, defaults for scoring, and resizes."""

from typing import Any

import pytest

from builders import Object, make_pod, pod, pod_object
from moorage.model.pods.pod import Pod
from moorage.model.pods.requests import is_counted
from moorage.model.resources import Resources

MEBI = 2**20


def container(name: str = "c", *, restart: str | None = None, **requests: str) -> Object:
    body: Object = {"name": name, "image": "app:1", "resources": {"requests": requests}}
    return {**body, "restartPolicy": restart} if restart else body


def pod_of(containers: list[Object], init: list[Object] | None = None, **fields: Any) -> Pod:
    return make_pod(
        pod_object(
            containers=containers,
            spec={**({"initContainers": init} if init else {}), **fields.pop("spec", {})},
            **fields,
        )
    )


def amounts(resources: Resources) -> dict[str, int]:
    return dict(resources.amounts)


def test_requests_of_containers_are_added_and_then_rounded() -> None:
    made = pod_of([container(cpu="0.3m", memory="0.5"), container(cpu="0.3m", memory="0.5"), container(cpu="1")])
    assert amounts(made.shape.requests) == {"cpu": 1001, "memory": 1}


def test_largest_init_container_sets_the_request_if_the_containers_request_less() -> None:
    made = pod_of([container(cpu="1", memory="1Mi")], [container(cpu="3"), container(cpu="2", memory="3Mi")])
    assert amounts(made.shape.requests) == {"cpu": 3000, "memory": 3 * MEBI}


def test_sidecar_adds_its_request_to_containers_and_later_init_containers() -> None:
    early = [container(restart="Always", cpu="1"), container(cpu="4")]
    late = [container(cpu="4"), container(restart="Always", cpu="1")]
    assert amounts(pod_of([container(cpu="2")], early).shape.requests) == {"cpu": 5000}
    assert amounts(pod_of([container(cpu="2")], late).shape.requests) == {"cpu": 4000}
    assert amounts(pod_of([container(cpu="4")], late).shape.requests) == {"cpu": 5000}


def test_overhead_is_added_to_the_requests_of_containers() -> None:
    made = pod_of([container(cpu="1")], spec={"overhead": {"cpu": "250m", "memory": "120Mi"}})
    assert amounts(made.shape.requests) == {"cpu": 1250, "memory": 120 * MEBI}


def test_pod_level_requests_of_supported_resources_replace_the_requests_of_containers() -> None:
    made = pod_of(
        [container(cpu="1", memory="1Mi", **{"example.com/gpu": "1"})],
        spec={"resources": {"requests": {"cpu": "500m", "hugepages-2Mi": "4Mi", "example.com/gpu": "7"}}},
    )
    assert amounts(made.shape.requests) == {"cpu": 500, "memory": MEBI, "hugepages-2Mi": 4 * MEBI, "example.com/gpu": 1}


def test_scoring_default_replaces_an_absent_request_but_not_a_request_of_0() -> None:
    made = pod_of([container(cpu="0"), container(memory="1Mi")], [container()])
    assert amounts(made.shape.requests) == {"cpu": 0, "memory": MEBI}
    assert amounts(made.shape.score_requests) == {"cpu": 100, "memory": 201 * MEBI}
    assert made.non_zero_requests == made.shape.score_requests


def test_pod_without_requests_has_defaults_only_in_scoring() -> None:
    made = pod()
    assert amounts(made.requests) == {}
    assert amounts(made.non_zero_requests) == {"cpu": 100, "memory": 200 * MEBI}


def test_scoring_reads_pod_level_requests_of_placed_pods_but_not_of_the_incoming_pod() -> None:
    made = pod_of([container(), container()], spec={"resources": {"requests": {"cpu": "2"}}})
    assert amounts(made.shape.score_requests) == {"cpu": 200, "memory": 400 * MEBI}
    assert amounts(made.non_zero_requests) == {"cpu": 2000, "memory": 400 * MEBI}


def status_of(name: str, actuated: dict[str, str] | None, allocated: dict[str, str] | None = None) -> Object:
    return {
        "name": name,
        **({"resources": {"requests": actuated}} if actuated is not None else {}),
        **({"allocatedResources": allocated} if allocated else {}),
    }


def test_request_of_a_resized_container_is_the_largest_amount_in_spec_and_status() -> None:
    made = pod_of(
        [container("a", cpu="1", memory="2Mi"), container("b", cpu="1")],
        status={"containerStatuses": [status_of("a", {"cpu": "2", "memory": "1Mi"}, {"memory": "3Mi"})]},
    )
    assert amounts(made.shape.requests) == {"cpu": 2000, "memory": 2 * MEBI}
    assert amounts(made.requests) == {"cpu": 3000, "memory": 3 * MEBI}
    assert amounts(made.non_zero_requests) == {"cpu": 3000, "memory": 203 * MEBI}


def test_infeasible_resize_does_not_change_the_requests() -> None:
    made = pod_of(
        [container("a", cpu="4")],
        status={
            "containerStatuses": [status_of("a", {"cpu": "1"}, {"cpu": "500m"})],
            "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
        },
    )
    assert amounts(made.requests) == {"cpu": 1000}


def test_status_without_resources_does_not_change_the_requests() -> None:
    made = pod_of([container("a", cpu="1")], status={"containerStatuses": [status_of("a", None, {"cpu": "9"})]})
    assert amounts(made.requests) == {"cpu": 1000}


def test_resize_of_an_init_container_changes_requests_only_if_the_container_is_a_sidecar() -> None:
    made = pod_of(
        [container("a", cpu="1")],
        [container("i", cpu="1"), container("s", restart="Always", cpu="1")],
        status={"initContainerStatuses": [status_of("i", {"cpu": "9"}), status_of("s", {"cpu": "2"})]},
    )
    assert amounts(made.requests) == {"cpu": 3000}


def test_request_of_a_pod_with_a_pod_level_resize_is_the_largest_amount() -> None:
    made = pod_of(
        [container("a", cpu="1")],
        spec={"resources": {"requests": {"cpu": "2"}}},
        status={"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "1"}},
    )
    assert amounts(made.shape.requests) == {"cpu": 2000}
    assert amounts(made.requests) == {"cpu": 3000}


def test_pods_of_one_shape_can_have_different_resizes() -> None:
    small, large = (
        pod_of([container("a", cpu="1")], status={"containerStatuses": [status_of("a", {"cpu": cpu})]})
        for cpu in ("2", "3")
    )
    assert small.shape is large.shape
    assert [amounts(each.requests) for each in (small, large)] == [{"cpu": 2000}, {"cpu": 3000}]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu", True),
        ("ephemeral-storage", True),
        ("hugepages-1Gi", True),
        ("nvidia.com/gpu", True),
        ("kubernetes.io/batch-cpu", True),
        ("attachable-volumes-aws-ebs", True),
        ("storage", False),
        ("pods", False),
        ("requests.example.com/gpu", False),
    ],
)
def test_requests_include_only_resources_that_a_node_can_have(name: str, *, expected: bool) -> None:
    assert is_counted(name) is expected
    assert (name in amounts(pod(requests={name: "1"}).requests)) is expected

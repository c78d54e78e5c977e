from typing import Any

import msgspec
import pytest

from builders import pod_object
from moorage.model.decode import Decoder
from moorage.model.pods.large_shape import MAX_HOST_PORTS, MAX_SHAPE_BYTES
from moorage.model.pods.pod import Pod


def decoded(**spec: Any) -> Pod:
    return Decoder().decode_pod(msgspec.json.encode(pod_object(cpu="500m", spec=spec)))


def terms(count: int) -> dict[str, Any]:
    each = [{"matchExpressions": [{"key": f"key-{number}", "operator": "Exists"}]} for number in range(count)]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": each}}}


@pytest.mark.parametrize(
    "spec",
    [
        {"affinity": terms(5000)},
        {"nodeSelector": {f"key-{number}": "x" for number in range(10_000)}},
        {"tolerations": [{"key": f"key-{number}", "operator": "Exists"} for number in range(5000)]},
        {"volumes": [{"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"c{n}"}} for n in range(5000)]},
    ],
    ids=["affinity", "nodeSelector", "tolerations", "volumes"],
)
def test_shape_that_is_too_large_has_requests_but_no_constraints(spec: dict[str, Any]) -> None:
    shape = decoded(**spec).shape
    assert shape.is_too_large
    assert shape.requests.get("cpu") == 500
    assert (shape.node_affinity, shape.node_selector, shape.tolerations, shape.volumes) == (None, None, (), ())


def test_shape_with_a_thousand_affinity_terms_is_not_too_large() -> None:
    shape = decoded(affinity=terms(1000)).shape
    assert not shape.is_too_large
    assert shape.node_affinity


def test_shape_is_not_too_large_if_only_fields_that_scheduling_does_not_read_are_large() -> None:
    env = [{"name": "A", "value": "x" * 10 * MAX_SHAPE_BYTES}]
    containers = [{"name": "c", "image": "i", "env": env}]
    assert not decoded(containers=containers).shape.is_too_large


def test_shape_keeps_a_limited_number_of_host_ports_and_resources() -> None:
    ports = [{"containerPort": number, "hostPort": number} for number in range(1, 5000)]
    requests = {f"example.com/{number}": "1" for number in range(5000)} | {"cpu": "1", "memory": "1Gi"}
    container = {"name": "c", "image": "i", "ports": ports, "resources": {"requests": requests, "limits": requests}}
    shape = decoded(containers=[container]).shape
    assert len(shape.host_ports) == MAX_HOST_PORTS
    assert shape.requests.get("cpu") == 1000
    assert shape.requests.get("memory") == 1 << 30
    assert len(shape.requests.amounts) == 66


def test_pods_of_one_template_share_a_shape_that_is_too_large() -> None:
    decoder = Decoder()
    first, second = (
        decoder.decode_pod(msgspec.json.encode(pod_object(name, spec={"affinity": terms(5000)}))) for name in "ab"
    )
    assert first.shape is second.shape

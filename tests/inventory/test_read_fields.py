"""An object keeps every field that a decoder reads, and nothing else."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from msgspec import Raw, Struct, structs

from builders import Object, node_object, pod_object
from moorage.framework.cluster_events import ClusterEvent
from moorage.inventory import KINDS, Inventory, cluster_events, keep_read_fields
from moorage.inventory.read_fields import RAW_FIELDS, STRUCTS
from moorage.model.decode import Decoder
from moorage.runtime.api_resources import INFORMED, SCHEDULING_POLICY
from moorage.simulator.parity.cases import KINDS as CASE_KINDS
from moorage.simulator.parity.cases import read_cases
from strategies import node_objects, pod_objects

VECTORS = sorted((Path(__file__).parents[1] / "parity" / "vectors").glob("*.jsonl.gz"))
EXTRA = {"env": [{"name": "PASSWORD", "value": "hunter2"}], "command": ["run"], "args": ["--token=hunter2"]}


def decoded(kind: str, body: Object) -> Any:
    return Decoder().decode_object(kind, body)


def fields_of(decoded: Any) -> dict[str, Any]:
    return structs.asdict(decoded) if isinstance(decoded, Struct) else dataclasses.asdict(decoded)


def assert_decodes_alike(kind: str, body: Object) -> None:
    """One decoder decodes both objects, so that equal pods have one shape."""
    decoder = Decoder()
    whole = decoder.decode_object(kind, body)
    kept = decoder.decode_object(kind, keep_read_fields(kind, body))
    assert fields_of(kept) == fields_of(whole)


def structs_below(kind: Any, found: set[type[Struct]]) -> set[type[Struct]]:
    if isinstance(kind, type) and issubclass(kind, Struct) and kind not in found:
        found.add(kind)
        for each in get_type_hints(kind).values():
            structs_below(each, found)
    for each in get_args(kind) if get_origin(kind) in {list, dict, Union, UnionType} else ():
        structs_below(each, found)
    return found


def test_an_inventory_has_the_kinds_of_the_informers_and_policies() -> None:
    listed = {each.kind: (each.api_version, each.namespaced) for each in (*INFORMED, SCHEDULING_POLICY)}
    assert {each.kind: (each.api_version, each.namespaced) for each in KINDS.values()} == listed


def test_each_raw_field_of_a_struct_has_a_type() -> None:
    structs: set[type[Struct]] = set()
    for struct in STRUCTS.values():
        structs_below(struct, structs)
    raw = {(struct, name) for struct in structs for name, kind in get_type_hints(struct).items() if kind is Raw}
    assert raw == set(RAW_FIELDS)


@given(pod_objects())
def test_reduced_pod_decodes_to_the_same_pod(body: Object) -> None:
    assert_decodes_alike("Pod", body)


@given(node_objects())
def test_reduced_node_decodes_to_the_same_node(body: Object) -> None:
    assert_decodes_alike("Node", body)


@pytest.mark.parametrize("file", VECTORS, ids=lambda path: path.name)
def test_objects_of_the_parity_cases_decode_to_the_same_objects(file: Path) -> None:
    compared = 0
    for case in read_cases(file):
        for field, kind in CASE_KINDS.items():
            for body in case.given.get(field) or ():
                assert_decodes_alike(kind, body)
                compared += 1
    assert compared


def test_pod_loses_environment_commands_annotations_and_other_volumes() -> None:
    pod = pod_object(
        containers=[{"name": "c", "image": "app:1", **EXTRA}],
        spec={
            "volumes": [
                {"name": "secret", "secret": {"secretName": "hunter2"}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            ],
            "imagePullSecrets": [{"name": "hunter2"}],
        },
        metadata={"annotations": {"note": "hunter2"}, "managedFields": [{"manager": "hunter2"}]},
        status={"conditions": [{"type": "Ready", "status": "True", "message": "hunter2"}], "podIP": "10.9.8.7"},
    )

    kept = keep_read_fields("Pod", pod)

    assert kept["spec"] == {
        "containers": [{"name": "c", "image": "app:1"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    }
    assert kept["status"] == {"conditions": []}
    assert kept["metadata"] == {"name": "p", "namespace": "default", "uid": "default/p"}


def test_claim_keeps_only_the_annotations_that_scheduling_reads() -> None:
    annotations = {"volume.kubernetes.io/selected-node": "n1", "note": "hunter2"}
    claim = {"metadata": {"name": "data", "namespace": "default", "annotations": annotations}, "spec": {}}

    kept = keep_read_fields("PersistentVolumeClaim", claim)

    assert kept["metadata"]["annotations"] == {"volume.kubernetes.io/selected-node": "n1"}


def test_policy_loses_credentials_of_extenders() -> None:
    tls = {"caData": "Y2E=", "certData": "Y2VydA==", "keyData": "a2V5"}
    extender = {"urlPrefix": "https://user:hunter2@scores.example.com/v1", "filterVerb": "filter", "tlsConfig": tls}
    policy = {
        "metadata": {"name": "p", "annotations": {"a": "hunter2"}, "generation": 3},
        "spec": {"extenders": [extender]},
        "status": {"conditions": []},
    }

    assert keep_read_fields("SchedulingPolicy", policy) == {
        "apiVersion": "scheduling.moorage.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": "p", "generation": 3},
        "spec": {
            "extenders": [
                {
                    "urlPrefix": "https://scores.example.com/v1",
                    "filterVerb": "filter",
                    "tlsConfig": {"caData": "Y2E="},
                }
            ]
        },
    }


def test_fields_of_a_wrong_type_are_kept_so_that_decoding_refuses_them() -> None:
    body = pod_object(spec={"volumes": "none", "affinity": ["x"]})
    with pytest.raises(ValueError, match=r"."):
        decoded("Pod", keep_read_fields("Pod", body))


def test_events_come_in_the_order_of_the_kinds_with_nodes_by_name() -> None:
    bodies = [pod_object("a"), node_object("n2"), node_object("n1"), {"kind": "Secret", "metadata": {"name": "s"}}]

    events: list[ClusterEvent] = list(cluster_events(Inventory.of(bodies), Decoder()))

    assert [(each.kind, each.new.name) for each in events] == [("Node", "n1"), ("Node", "n2"), ("Pod", "a")]

"""Decoding of pods and nodes: all fields, shared shapes, and errors with the path of the field."""

import gc
import weakref

import msgspec
import pytest

from builders import make_node, make_pod, node_object, pod_object
from moorage.model.decode import Decoder
from moorage.model.node import Taint
from moorage.model.pods.pod import HostPort, OwnerReference, Toleration
from moorage.model.resources import Resources
from moorage.model.selectors import LabelSelector, Requirement
from moorage.model.volumes.decode_storage import STORAGE_DECODERS
from moorage.model.volumes.decode_volumes import VOLUME_DECODERS
from moorage.model.workloads.decode_workloads import WORKLOAD_DECODERS


def test_pods_of_one_template_share_a_shape() -> None:
    def template(index: int) -> dict[str, object]:
        token = f"kube-api-access-{index:05}"
        return pod_object(
            f"web-{index}",
            cpu="1",
            labels={"app": "web"},
            node=f"n{index}",
            spec={"volumes": [{"name": token, "projected": {"sources": []}}]},
            metadata={"uid": str(index), "resourceVersion": str(index)},
        )

    first, second = make_pod(template(1)), make_pod(template(2))
    assert first.shape is second.shape
    assert (first.node_name, second.node_name) == ("n1", "n2")


def test_equal_shapes_with_different_json_are_one_object() -> None:
    decoder = Decoder()
    first = decoder.decode_pod(
        b'{"metadata":{"name":"a","namespace":"x","labels":{"a":"1","b":"2"}},"spec":{"affinity":null}}'
    )
    second = decoder.decode_pod(b'{"metadata":{"name":"b","namespace":"x","labels":{"b":"2","a":"1"}},"spec":{}}')
    assert first.shape is second.shape


def test_pods_that_differ_in_one_field_of_the_shape_have_different_shapes() -> None:
    bodies = [
        pod_object(),
        pod_object(namespace="other"),
        pod_object(labels={"a": "b"}),
        pod_object(cpu="1"),
        pod_object(image="app:2"),
        pod_object(host_ports=[80]),
        pod_object(tolerations=[{"operator": "Exists"}]),
        pod_object(spec={"nodeSelector": {}}),
        pod_object(spec={"overhead": {"cpu": "1"}}),
        pod_object(spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}),
        pod_object(spec={"volumes": [{"name": "v", "image": {"reference": "model"}}]}),
        pod_object(spec={"resourceClaims": [{"name": "gpu"}]}),
        pod_object(spec={"hostNetwork": True, "hostUsers": False}),
        pod_object(owner={"apiVersion": "v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}),
    ]
    assert len({make_pod(body).shape for body in bodies}) == len(bodies)


def test_shape_is_freed_after_its_last_pod() -> None:
    decoder = Decoder()
    made = decoder.decode_pod(b'{"metadata":{"name":"a"}}')
    shape = weakref.ref(made.shape)
    del made
    gc.collect()
    assert shape() is None


def test_all_fields_of_a_pod_are_decoded() -> None:
    made = make_pod(
        {
            "metadata": {
                "name": "p",
                "namespace": "team-a",
                "uid": "u-1",
                "resourceVersion": "7",
                "generation": 4,
                "creationTimestamp": "1970-01-01T00:01:00Z",
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"app": "web"},
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "n-1"},
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "r-1", "controller": True},
                ],
            },
            "spec": {
                "nodeName": "n1",
                "schedulerName": "gpu",
                "priority": 5,
                "preemptionPolicy": "Never",
                "schedulingGates": [{"name": "example.com/wait"}],
                "containers": [
                    {
                        "name": "c",
                        "image": "registry:5000/app",
                        "ports": [
                            {"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1", "protocol": "UDP"},
                            {"containerPort": 81},
                        ],
                        "resources": {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": "1"}},
                        "restartPolicyRules": [{"action": "RestartAllContainers"}],
                    }
                ],
                "initContainers": [
                    {"name": "i", "image": "init@sha256:1", "ports": [{"hostPort": 1}]},
                    {"name": "s", "image": "side:1", "restartPolicy": "Always", "ports": [{"hostPort": 2}]},
                ],
                "nodeSelector": {"disk": "ssd"},
                "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
                "hostNetwork": True,
                "hostUsers": False,
                "resourceClaims": [{"name": "gpu"}],
            },
            "status": {
                "phase": "Pending",
                "startTime": "1970-01-01T00:02:00Z",
                "nominatedNodeName": "n9",
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"},
                    {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
                ],
            },
        }
    )
    assert (made.uid, made.name, made.key, made.resource_version) == ("u-1", "p", "team-a/p", "7")
    assert made.generation == 4
    assert (made.node_name, made.required_node_name, made.nominated_node_name) == ("n1", "n1", "n9")
    assert (made.scheduler_name, made.priority, made.preemption_policy) == ("gpu", 5, "Never")
    assert (made.creation_timestamp, made.start_time, made.terminating) == (60.0, 120.0, True)
    assert made.scheduling_gates == ("example.com/wait",)
    assert made.scheduled_condition == ("False", "Unschedulable", "0/1 nodes")
    assert made.disruption_target == "PreemptionByScheduler"
    shape = made.shape
    assert shape.owner == OwnerReference("apps/v1", "ReplicaSet", "rs", "r-1")
    assert shape.images == ("init@sha256:1", "side:1", "registry:5000/app:latest")
    assert shape.container_count == 3
    assert shape.host_ports == (HostPort("10.0.0.1", "UDP", 8080), HostPort("0.0.0.0", "TCP", 2))
    assert shape.tolerations == (Toleration("k", "Exists", "", "NoExecute"),)
    assert shape.node_selector == {"disk": "ssd"}
    assert shape.resource_claims == ("gpu",)
    assert shape.limit_names == {"cpu", "nvidia.com/gpu"}
    assert shape.required_features == {"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"}


def test_absent_fields_get_the_defaults_of_the_api_server() -> None:
    made = make_pod({"metadata": {"name": "p"}})
    assert (made.namespace, made.uid, made.scheduler_name) == ("default", "default/p", "default-scheduler")
    assert (made.priority, made.preemption_policy) == (0, "PreemptLowerPriority")


def test_null_slices_and_maps_are_decoded_as_empty() -> None:
    made = Decoder().decode_pod(
        b'{"metadata":{"name":"p","labels":null,"ownerReferences":null,"creationTimestamp":null},"spec":{"containers":null,'
        b'"volumes":null,"tolerations":null,"affinity":null,"topologySpreadConstraints":null,"resources":null},'
        b'"status":{"conditions":null,"containerStatuses":null}}'
    )
    assert made.shape.container_count == 0
    node = Decoder().decode_node(
        b'{"metadata":{"name":"n"},"spec":{"taints":null},"status":{"images":null,"allocatable":null}}'
    )
    assert (node.taints, node.images) == ((), ())


def test_decoded_pod_does_not_keep_its_json() -> None:
    assert Decoder().decode_pod(msgspec.json.encode(pod_object())).raw == b""


def test_affinity_term_without_namespaces_selects_the_pods_own_namespace() -> None:
    def namespaces_of(**fields: object) -> tuple[frozenset[str], LabelSelector | None]:
        term = {"topologyKey": "zone", **fields}
        affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        (read,) = make_pod(pod_object(namespace="own", affinity=affinity)).shape.pod_affinity.required_affinity
        return read.namespaces, read.namespace_selector

    assert namespaces_of() == (frozenset({"own"}), None)
    assert namespaces_of(namespaces=["a"]) == (frozenset({"a"}), None)
    assert namespaces_of(namespaceSelector={}) == (frozenset(), LabelSelector())


def test_match_label_keys_add_the_pods_labels_to_the_selector() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["hash", "absent", "app"],
    }
    made = make_pod(pod_object(labels={"app": "web", "hash": "h1"}, spread=[constraint]))
    (read,) = made.shape.spread_constraints
    assert read.selector == LabelSelector(
        (Requirement("app", "In", frozenset({"web"})), Requirement("hash", "In", frozenset({"h1"})))
    )
    assert (read.min_domains, read.honor_affinity, read.honor_taints) == (1, True, False)


def test_invalid_preferred_term_keeps_the_error_text_of_kube_scheduler() -> None:
    preference = {"matchExpressions": [{"key": "rank", "operator": "Gt", "values": ["-5"]}]}
    affinity = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": preference}]}
    }
    node_affinity = make_pod(pod_object(affinity=affinity)).shape.node_affinity
    assert node_affinity is not None
    assert node_affinity.preferred[0].term.error.startswith(
        'matchExpressions[0].values[0][rank]: Invalid value: "-5": a valid label must be an empty string or consist of'
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (pod_object(cpu="1K"), r"spec\.containers\[0\]\.resources\.requests\.cpu: '1K' is not a quantity"),
        (pod_object(spec={"overhead": {"cpu": "x"}}), r"spec\.overhead\.cpu: 'x' is not a quantity"),
        (pod_object(spec={"priority": "high"}), r"Expected `int \| null`, got `str` - at `\$\.spec\.priority`"),
        (
            pod_object(
                spread=[
                    {
                        "maxSkew": 1,
                        "topologyKey": "z",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]},
                    }
                ]
            ),
            r"spec\.topologySpreadConstraints: labelSelector: matchExpressions\[0\]: 'Near' with 1 values is not valid",
        ),
        (
            pod_object(spec={"nodeSelector": {"a": 1}}),
            r"spec\.nodeSelector: Expected `str`, got `int` - at `\$\[\.\.\.\]`",
        ),
        ({"spec": {}}, "missing required field `metadata`"),
    ],
)
def test_invalid_pod_raises_value_error_with_the_path_of_the_field(body: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_pod(body)


def test_all_fields_of_a_node_are_decoded() -> None:
    body = node_object(
        "n1",
        cpu="3920m",
        memory="1Ki",
        pods="30",
        labels={"disk": "ssd"},
        taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}],
        unschedulable=True,
        images={"app:1": 5},
        features=["F"],
        metadata={"resourceVersion": "3"},
    )
    made = make_node(body)
    assert (made.name, made.uid, made.unschedulable) == ("n1", "node-n1", True)
    assert made.labels == {"kubernetes.io/hostname": "n1", "disk": "ssd"}
    assert made.resource_version == "3"
    assert made.taints == (Taint("k", "NoSchedule", "v"),)
    assert made.allocatable == Resources((("cpu", 3920), ("memory", 1024), ("pods", 30)))
    assert made.images == (("app:1", 5),)
    assert made.declared_features == {"F"}


def test_invalid_allocatable_amount_counts_as_0() -> None:
    made = make_node(node_object(cpu="lots", memory="1"))
    assert made.allocatable == Resources((("cpu", 0), ("memory", 1), ("pods", 110)))


@pytest.mark.parametrize("kind", ["Pod", "Node", *WORKLOAD_DECODERS, *VOLUME_DECODERS, *STORAGE_DECODERS])
def test_object_with_only_a_name_is_decoded(kind: str) -> None:
    assert Decoder().decode_object(kind, {"metadata": {"name": "x"}}).name == "x"

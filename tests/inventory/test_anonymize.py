"""Anonymizing replaces names consistently, and leaves no name that a user chose."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from builders import Object, node_object, pod_object
from inventory.clusters import web_cluster
from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.framework.extension_points import Plugin
from moorage.framework.registry import Registry
from moorage.inventory import Inventory, anonymize
from moorage.inventory.read_fields import STRUCTS
from moorage.inventory.rename_fields import rename
from moorage.inventory.rename_policy import _ARGUMENTS, _SPEC, SPEC_WITHOUT_NAMES, WITHOUT_NAMES

WORD = "acme"


def policy(name: str, spec: Object) -> Object:
    return {"kind": "SchedulingPolicy", "metadata": {"name": name, "uid": f"{name}-uid"}, "spec": spec}


def anonymized(*bodies: Object) -> list[Object]:
    inventory = anonymize(Inventory.of(bodies)).inventory
    return [body for kind in inventory.counts for body in inventory.bodies(kind)]


def one(*bodies: Object) -> Object:
    return anonymized(*bodies)[-1]


@pytest.mark.parametrize("kind", STRUCTS)
def test_each_field_that_is_read_has_a_rule(kind: str) -> None:
    rename(STRUCTS[kind])  # raises LookupError otherwise


def test_struct_field_without_a_rule_is_an_error() -> None:
    class Unruled(msgspec.Struct):
        secret: str = ""

    with pytest.raises(LookupError, match=r"Unruled\.secret"):
        rename(Unruled)


def test_each_plugin_with_arguments_has_a_rule() -> None:
    classes = Registry.discover().classes
    with_arguments = {name for name, each in classes.items() if set(each.model_fields) - set(Plugin.model_fields)}
    assert with_arguments - {*_ARGUMENTS, *WITHOUT_NAMES} == set()


def test_each_field_of_a_policy_has_a_rule() -> None:
    fields = {field.alias or name for name, field in SchedulingPolicySpec.model_fields.items()}
    assert fields - {"pluginConfig"} == {*_SPEC, *SPEC_WITHOUT_NAMES}


def test_a_policy_follows_the_new_names_of_other_policies_and_resources() -> None:
    shop, canary, shadow = anonymized(
        policy("shop", {}),
        policy(
            "shop-next", {"canary": {"of": "shop", "percent": 10}, "scarcity": {"resources": ["ours.example/fpga"]}}
        ),
        policy("shop-shadow", {"mode": "Shadow", "shadowOf": "shop"}),
    )
    token = shop["metadata"]["name"]
    assert canary["spec"]["canary"] == {"of": token, "percent": 10}
    assert shadow["spec"]["shadowOf"] == token
    assert "ours" not in str(canary["spec"]["scarcity"])


def test_names_keep_their_order() -> None:
    nodes = anonymized(*(node_object(name) for name in ("zeta", "alpha", "n10", "n9", "middle")))
    assert [body["metadata"]["name"] for body in nodes] == ["node-5", "node-1", "node-3", "node-4", "node-2"]


def test_a_node_has_the_same_token_in_every_object() -> None:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
                    {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]},
                ]
            }
        }
    }
    node, pod = anonymized(
        node_object("n1"), pod_object("p", node="n1", affinity=affinity, status={"nominatedNodeName": "n1"})
    )

    token = node["metadata"]["name"]
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == token
    assert pod["spec"]["nodeName"] == pod["status"]["nominatedNodeName"] == token
    first, second = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert first["matchFields"][0]["values"] == second["matchExpressions"][0]["values"] == [token]


def test_a_toleration_has_the_tokens_of_its_taint() -> None:
    taint = {"key": f"{WORD}.com/team", "value": "secret", "effect": "NoSchedule"}
    toleration = {"key": f"{WORD}.com/team", "operator": "Equal", "value": "secret", "effect": "NoSchedule"}
    node, pod = anonymized(
        node_object("n1", taints=[taint]), pod_object(tolerations=[toleration, {"operator": "Exists"}])
    )
    given = node["spec"]["taints"][0]
    assert given["key"].endswith(".example/key-1")
    assert pod["spec"]["tolerations"][0] == {**given, "operator": "Equal"}
    assert pod["spec"]["tolerations"][1] == {"operator": "Exists"}


def test_well_known_keys_and_values_of_vendors_are_kept() -> None:
    labels = {
        "topology.kubernetes.io/zone": "us-east-1a",
        "node.kubernetes.io/instance-type": "m5.large",
        "karpenter.sh/capacity-type": "spot",
        "nvidia.com/gpu.product": "A100",
        "node-role.kubernetes.io/control-plane": "",
    }
    node = one(node_object("n1", labels=labels, allocatable={"nvidia.com/gpu": "8"}))
    assert node["metadata"]["labels"].items() >= labels.items()
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"


def test_values_that_users_choose_are_replaced_although_the_key_is_well_known() -> None:
    pod = one(pod_object(labels={"app.kubernetes.io/name": WORD, "eks.amazonaws.com/nodegroup": WORD}))
    assert pod["metadata"]["labels"] == {
        "app.kubernetes.io/name": "value-1",
        "eks.amazonaws.com/nodegroup": "value-1",
    }


def test_numbers_that_the_operators_gt_and_lt_compare_are_kept() -> None:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Gt", "values": ["100"]}]}]
            }
        }
    }
    node, pod = anonymized(node_object("n1", labels={"disk": "200", "rack": "17"}), pod_object(affinity=affinity))
    labels = node["metadata"]["labels"]
    assert sorted(value for key, value in labels.items() if key.startswith("key")) == ["200", "value-1"]
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"][0]["matchExpressions"][0]["values"] == ["100"]


def test_values_that_differ_only_in_case_get_tokens_that_differ_only_in_case() -> None:
    pod = one(pod_object(labels={"a": "Spot", "b": "spot", "c": "other"}))
    upper, lower, other = pod["metadata"]["labels"].values()
    assert upper.lower() == lower.lower() != other.lower()
    assert upper != lower


def test_claim_of_an_ephemeral_volume_belongs_to_its_pod() -> None:
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "p-scratch", "namespace": "team"}, "spec": {}}
    found, pod = anonymized(pod_object("p", namespace="team", spec={"volumes": volumes}), claim)
    assert found["metadata"]["name"] == f"{pod['metadata']['name']}-{pod['spec']['volumes'][0]['name']}"
    assert found["metadata"]["namespace"] == pod["metadata"]["namespace"] == "namespace-1"


def test_image_without_a_tag_is_the_latest() -> None:
    node, pod = anonymized(
        node_object("n1", images={"registry.acme.com:5000/app:latest": 5, "other:1": 7}),
        pod_object(image="registry.acme.com:5000/app"),
    )
    names = [image["names"][0] for image in node["status"]["images"]]
    assert pod["spec"]["containers"][0]["image"] == names[0] != names[1]


def test_disk_of_an_in_tree_volume_keeps_the_form_of_its_id() -> None:
    in_tree = {
        "kind": "PersistentVolume",
        "metadata": {"name": "a"},
        "spec": {"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-1"}},
    }
    csi = {
        "kind": "PersistentVolume",
        "metadata": {"name": "b"},
        "spec": {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}},
    }
    first, second = anonymized(in_tree, csi)
    assert first["spec"]["awsElasticBlockStore"]["volumeID"] == "aws://us-east-1a/disk-1"
    assert second["spec"]["csi"] == {"driver": "ebs.csi.aws.com", "volumeHandle": "disk-1"}


def test_custom_owner_loses_its_kind() -> None:
    owner = {"apiVersion": f"batch.{WORD}.io/v1", "kind": "AcmeJob", "name": "nightly", "uid": "u", "controller": True}
    (found,) = one(pod_object(owner=owner))["metadata"]["ownerReferences"]
    assert found == {
        "apiVersion": "domain-1.example/v1",
        "kind": "kind-1",
        "name": "workload-1",
        "uid": "uid-2",
        "controller": True,
    }


def test_policy_is_renamed_like_the_objects() -> None:
    spec = {
        "filters": {
            "nodeSelector": {"matchLabels": {"pool": WORD}},
            "instanceTypes": {"allow": ["m5*"]},
            "zones": {"allow": ["z-a"]},
        },
        "allowedNamespaces": {"matchLabels": {"kubernetes.io/metadata.name": WORD}},
        "lifecycle": {"podLabel": f"{WORD}.com/want", "sources": [{"key": "pool-kind", "spot": ["Cheap"]}]},
        "gpu": {"resources": [f"{WORD}.com/gpu", "nvidia.com/gpu"], "models": {"A100": 5}},
        "scarcity": {"resources": [f"{WORD}.com/gpu", "nvidia.com/gpu"]},
        "resources": {"weights": {"cpu": 1, f"{WORD}.com/gpu": 3}},
        "extenders": [
            {
                "urlPrefix": f"https://{WORD}.internal/x",
                "filterVerb": "filter",
                "enableHTTPS": True,
                "tlsConfig": {"caData": "YWNtZQ=="},
                "managedResources": [{"name": f"{WORD}.com/gpu"}],
            }
        ],
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {"ignoredResources": [f"{WORD}.com/gpu"], "ignoredResourceGroups": [f"{WORD}.com"]},
            },
            {"name": "TheirPlugin", "args": {"x": 1}},
        ],
    }
    batch = policy(f"{WORD}-batch", spec)
    node = node_object(
        "n1", labels={"pool": WORD, "pool-kind": "cheap"}, zone="z-a", allocatable={f"{WORD}.com/gpu": "1"}
    )
    namespace: Object = {"kind": "Namespace", "metadata": {"name": WORD}}
    pod = pod_object("p", namespace=WORD, labels={f"{WORD}.com/want": "spot"}, spec={"schedulerName": f"{WORD}-batch"})

    result = anonymize(Inventory.of([batch, node, namespace, pod]))

    assert result.notes == ("the arguments of the plugin TheirPlugin in the policy acme-batch are kept as they are",)
    (batch,) = result.inventory.policies
    (node,) = result.inventory.bodies("Node")
    (pod,) = result.inventory.bodies("Pod")
    (namespace,) = result.inventory.bodies("Namespace")
    found = batch["spec"]
    labels, (gpu,) = node["metadata"]["labels"], [name for name in node["status"]["allocatable"] if "/" in name]
    ((key, value),) = found["filters"]["nodeSelector"]["matchLabels"].items()
    assert labels[key] == value
    assert (found["filters"]["instanceTypes"], found["filters"]["zones"]) == ({"allow": ["m5*"]}, {"allow": ["z-a"]})
    assert found["allowedNamespaces"]["matchLabels"] == {"kubernetes.io/metadata.name": namespace["metadata"]["name"]}
    (source,) = found["lifecycle"]["sources"]
    assert labels[source["key"]].lower() == source["spot"][0].lower()
    assert labels[source["key"]] != source["spot"][0]
    assert pod["metadata"]["labels"] == {found["lifecycle"]["podLabel"]: "spot"}
    assert found["gpu"]["resources"] == [gpu, "nvidia.com/gpu"]
    assert found["scarcity"]["resources"] == [gpu, "nvidia.com/gpu"]
    assert found["resources"]["weights"] == {"cpu": 1, gpu: 3}
    assert found["pluginConfig"][0]["args"] == {
        "ignoredResources": [gpu],
        "ignoredResourceGroups": [gpu.partition("/")[0]],
    }
    assert found["extenders"][0] == {
        "urlPrefix": "https://extender-1.example",
        "filterVerb": "filter",
        "enableHTTPS": True,
        "tlsConfig": {"insecure": True},
        "managedResources": [{"name": gpu}],
    }
    assert pod["spec"]["schedulerName"] == batch["metadata"]["name"] == "policy-1"


def test_no_name_that_a_user_chose_is_left() -> None:
    def marked(value: Any) -> Any:
        """Put the word into all texts that users chose, but not into texts with a fixed meaning."""
        if isinstance(value, dict):
            return {key: each if key in fixed else marked(each) for key, each in value.items()}
        if isinstance(value, list):
            return [marked(each) for each in value]
        return f"{WORD}-{value}" if isinstance(value, str) else value

    fixed = {
        "kind", "apiVersion", "creationTimestamp", "phase", "cpu", "memory", "pods", "storage", "operator", "effect",
        "volumeBindingMode", "topologyKey", "whenUnsatisfiable", "topology.kubernetes.io/zone",
        "namespace", "zones", "provisioner",
    }  # fmt: skip
    bodies = [marked(body) for body in web_cluster()]
    assert [line for line in json.dumps(anonymized(*bodies), indent=1).splitlines() if WORD in line] == []

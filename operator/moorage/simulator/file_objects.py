"""Turns the nodes and tasks of files into nodes and pods for the engine."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from msgspec.structs import replace

from moorage.model.decode import Decoder
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.simulator.node_file import FileNode
from moorage.simulator.task_file import Template

GPU = "nvidia.com/gpu"
HOSTNAME_LABEL = "kubernetes.io/hostname"
MODEL_LABEL = "nvidia.com/gpu.product"
ZONE_LABEL = "topology.kubernetes.io/zone"
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
LIFECYCLE_LABEL = "node.kubernetes.io/lifecycle"
NAMESPACE = "default"
MAX_TEMPLATES = 8192
"""The number of decoded templates that are kept. If a dropped template is used again, it is decoded again."""

Manifest = dict[str, Any]


def decode_node(node: FileNode, decoder: Decoder) -> Node:
    """Return the node for the engine."""
    labels = {
        HOSTNAME_LABEL: node.name,
        MODEL_LABEL: node.model,
        ZONE_LABEL: node.zone,
        INSTANCE_TYPE_LABEL: node.instance_type,
        LIFECYCLE_LABEL: node.lifecycle,
    }
    resources = {**_amounts(node.cpu_milli, node.memory_mib, node.gpu), "pods": str(node.pods)}
    decoded: Node = decoder.decode_object(
        "Node",
        {
            "metadata": {
                "name": node.name,
                "uid": node.name,
                "labels": {key: value for key, value in labels.items() if value},
            },
            "status": {"allocatable": resources, "capacity": resources},
        },
    )
    return decoded


class PodTemplates:
    """Builds the pods of tasks. The pods of equal tasks share one decoded template."""

    def __init__(self, decoder: Decoder, scheduler_name: str) -> None:
        self._decoder = decoder
        self._scheduler_name = scheduler_name
        self._pods: OrderedDict[Template, Pod] = OrderedDict()

    def pod(self, name: str, template: Template) -> Pod:
        """Return a new pod; its uid is its name."""
        known = self._pods.get(template)
        if known is None:
            known = self._pods[template] = self._decoder.decode_object("Pod", self._manifest(template))
            if len(self._pods) > MAX_TEMPLATES:
                self._pods.popitem(last=False)
        return replace(known, name=name, uid=name)

    def _manifest(self, template: Template) -> Manifest:
        resources = _amounts(template.cpu_milli, template.memory_mib, template.gpu)
        container = {"name": "main", "resources": {"requests": resources, "limits": resources}}
        spec: Manifest = {
            "schedulerName": self._scheduler_name,
            "priority": template.priority,
            "containers": [container],
        }
        if template.gpu:  # as the admission plugin ExtendedResourceToleration does
            spec["tolerations"] = [{"key": GPU, "operator": "Exists"}]
        if template.gpu_models:
            spec["affinity"] = {"nodeAffinity": _required_models(template.gpu_models)}
        metadata: Manifest = {"name": "template", "namespace": NAMESPACE}
        if template.workload:
            metadata["labels"] = {"app": template.workload}
            metadata["ownerReferences"] = [_owner(template.workload)]
        return {"metadata": metadata, "spec": spec}


def _amounts(cpu_milli: int, memory_mib: int, gpu: int) -> dict[str, str]:
    return {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi"} | ({GPU: str(gpu)} if gpu else {})


def _required_models(models: str) -> Manifest:
    values = sorted({model.strip() for model in models.split("|")} - {""})
    requirement = {"key": MODEL_LABEL, "operator": "In", "values": values}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms}


def _owner(workload: str) -> Manifest:
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": workload, "uid": workload, "controller": True}

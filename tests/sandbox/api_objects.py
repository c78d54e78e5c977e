"""Builders of API objects, in the form in which users write them."""

from __future__ import annotations

from typing import Any

from sandbox.kube_api import Object


def config_map(name: str, **data: str) -> Object:
    """Return a ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod(name: str, **spec: Any) -> Object:
    """Return a small pod."""
    container = {"name": "main", "image": "app:1", "resources": spec.pop("resources", {})}
    meta = {"name": name, **spec.pop("metadata", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 30, **spec},
    }


def binding(name: str, node: str, **metadata: Any) -> Object:
    """Return a Binding."""
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, **metadata}, "target": target}


def eviction(name: str) -> Object:
    """Return an Eviction."""
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}


def event(namespace: str, **fields: object) -> Object:
    """Return an events.k8s.io/v1 event about a pod."""
    return {
        "metadata": {"name": "e1", "namespace": namespace},
        "eventTime": "2026-11-30T07:00:00.123456Z",
        "reportingController": "example.dev/scheduler",
        "reportingInstance": "scheduler-1",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": "the pod was assigned",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": namespace, "uid": "u1"},
        **fields,
    }


def widget_definition(group: str) -> Object:
    """Return a CustomResourceDefinition that uses each supported feature."""
    condition = {
        "type": "object",
        "required": ["type", "status"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
    }
    port = {
        "type": "object",
        "required": ["number"],
        "properties": {"number": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
    }
    spec = {
        "type": "object",
        "default": {},
        "x-kubernetes-validations": [
            {"rule": "!has(self.weight) || self.mode == 'Fast'", "message": "weight needs mode Fast"}
        ],
        "properties": {
            "mode": {"type": "string", "enum": ["Fast", "Slow"], "default": "Fast"},
            "weight": {"type": "integer", "minimum": 0, "maximum": 100},
            "owner": {
                "type": "string",
                "maxLength": 10,
                "pattern": "^[a-z]+$",
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}],
            },
            "tags": {"type": "array", "maxItems": 2, "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "ports": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["number"],
                "items": port,
            },
        },
    }
    status = {
        "type": "object",
        "properties": {
            "note": {"type": "string"},
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": condition,
            },
        },
    }
    version = {
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": ".spec.mode"}],
        "additionalPrinterColumns": [
            {"name": "Mode", "type": "string", "jsonPath": ".spec.mode"},
            {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
            {"name": "Weight", "type": "integer", "jsonPath": ".spec.weight", "priority": 1},
        ],
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
    }
    return custom_resource_definition(group, "Widget", version, shortNames=["wd"])


def custom_resource_definition(group: str, kind: str, version: Object, **names: Any) -> Object:
    """Return a CustomResourceDefinition of a cluster-scoped kind with one version, v1."""
    singular = kind.lower()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": f"{singular}s", "singular": singular, "kind": kind, **names},
            "versions": [{"name": "v1", "served": True, "storage": True, **version}],
        },
    }


def widget(path: str, name: str, **spec: object) -> Object:
    """Return a Widget for the collection at `path`, with a spec."""
    return applied_widget(path, name, spec=spec)


def applied_widget(path: str, name: str, **fields: object) -> Object:
    """Return a Widget for the collection at `path`, with any fields."""
    group = path.split("/")[2]
    return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": name}, **fields}

"""Generates the CustomResourceDefinition of SchedulingPolicy from the models. `crds/` has the output of `render`."""

from typing import Any

import yaml

from moorage.api.policy_status import Condition, PodCounts, SchedulingPolicyStatus
from moorage.api.schema import Schema, structural_schema
from moorage.api.v1alpha1 import GROUP, KIND, PLURAL, VERSION, ObjectMeta, SchedulingPolicy

NAME = f"{PLURAL}.{GROUP}"

HEADER = "# Generated from the models in operator/moorage/api by `moorage crd`; do not edit.\n"

_TYPE_DESCRIPTIONS = {
    "apiVersion": f"The version of this object's schema: {GROUP}/{VERSION}.",
    "kind": f"The type of this object: {KIND}.",
}


def render(release: str = "", namespace: str = "") -> str:
    """Return the CRD as YAML, with a header that says how it is generated.

    If `release` is given, the CRD has metadata that allows Helm to adopt the CRD when Helm installs this release.
    """
    definition = crd()
    if release:
        definition["metadata"] |= {
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {
                "helm.sh/resource-policy": "keep",
                "meta.helm.sh/release-name": release,
                "meta.helm.sh/release-namespace": namespace,
            },
        }
    return HEADER + yaml.dump(definition, Dumper=_NoAliases, sort_keys=False, width=120, allow_unicode=True)


def render_chart_template() -> str:
    """Return the CRD as a template of the Helm chart.

    The chart's value `crds.enabled` decides whether Helm installs the CRD, and `crds.keep` whether the CRD stays when
    Helm uninstalls the chart. Braces are escaped for Helm.
    """
    head, rest = render().replace("{{", '{{ "{{" }}').split("metadata:\n", 1)
    keep = "  {{- if .Values.crds.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n  {{- end }}\n"
    return f"{{{{- if .Values.crds.enabled }}}}\n{head}metadata:\n{keep}{rest}{{{{- end }}}}\n"


def crd() -> dict[str, Any]:
    """Return the CRD as an object."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["schedpol"],
                "categories": ["scheduling"],
            },
            "versions": [_version()],
        },
    }


def _version() -> dict[str, Any]:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": ".spec.schedulerName"}],
        "additionalPrinterColumns": _columns(),
        "schema": {"openAPIV3Schema": _schema()},
    }


def _columns() -> list[dict[str, Any]]:
    ready = '.status.conditions[?(@.type=="Ready")]'
    return [
        {"name": "Scheduler", "type": "string", "jsonPath": ".status.schedulerName"},
        {"name": "Ready", "type": "string", "jsonPath": f"{ready}.status"},
        {"name": "Pending", "type": "integer", "jsonPath": ".status.pods.pending"},
        {"name": "Bound", "type": "integer", "jsonPath": ".status.pods.bound"},
        {"name": "Unschedulable", "type": "integer", "jsonPath": ".status.pods.unschedulable"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Reason", "type": "string", "jsonPath": f"{ready}.reason", "priority": 1},
        {"name": "Message", "type": "string", "jsonPath": f"{ready}.message", "priority": 1},
        {"name": "Generation", "type": "integer", "jsonPath": ".status.activeGeneration", "priority": 1},
    ]


def _schema() -> Schema:
    schema = structural_schema(SchedulingPolicy)
    fields = schema["properties"]
    for name, description in _TYPE_DESCRIPTIONS.items():
        # A CRD may set only the type of these fields. The API server itself validates their values.
        fields[name] = {"description": description, "type": "string"}
    fields["metadata"] = _metadata(fields["metadata"])
    fields["status"]["default"] = _initial_status()
    del schema["required"]  # the API server itself requires metadata
    return schema


def _metadata(schema: Schema) -> Schema:
    """Return a schema of metadata that limits only the length of the name.

    The API server allows a CRD to restrict only name and generateName.
    """
    name = ObjectMeta.model_fields["name"].alias or "name"
    limit = schema["properties"][name]["maxLength"]
    return {"type": "object", "properties": {name: {"type": "string", "maxLength": limit}}}


def _initial_status() -> dict[str, Any]:
    """Return the status of a policy that no operator has read yet, for `kubectl get` and `kubectl wait`.

    The status has counts, so that `kubectl get` shows 0 instead of empty columns. The status has no schedulerName,
    because a default in a CRD cannot depend on the name of the object.
    """
    waiting = Condition.model_validate(
        {
            "type": "Ready",
            "status": "Unknown",
            "lastTransitionTime": "1970-01-01T00:00:00Z",
            "reason": "Pending",
            "message": "no operator has read this policy yet; check that moorage runs",
        }
    )
    status = SchedulingPolicyStatus(conditions=(waiting,))
    written = status.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    return {**written, "pods": PodCounts().model_dump(by_alias=True)}


class _NoAliases(yaml.SafeDumper):
    """A dumper that repeats equal parts. It uses no anchors, because they are hard to read and to compare."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

"""Validation of CustomResourceDefinitions. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

import pytest

from sandbox.api_objects import custom_resource_definition
from sandbox.kube_api import DEFINITIONS, KubeApi, Object


def gadget_definition(group: str, schema: Object) -> Object:
    version = {"schema": {"openAPIV3Schema": schema}}
    return custom_resource_definition(group, "Gadget", version, listKind="GadgetList")


async def test_definition_with_a_nonstructural_schema_is_refused(api: KubeApi) -> None:
    group = f"{api.namespace}.example.dev"
    schema: Object = {"type": "object", "properties": {"spec": {"properties": {"a": {"type": "string"}}}}}
    answer = await api.create(DEFINITIONS, gadget_definition(group, schema))
    assert answer.code == 422
    path = "spec.validation.openAPIV3Schema.properties[spec].type"
    other = "spec.versions[0].schema.openAPIV3Schema.properties[spec].type"
    fields = {cause["field"] for cause in answer.body["details"]["causes"]}
    assert fields & {path, other}


@pytest.mark.parametrize(
    "node",
    [
        {"type": "integer", "default": "one"},
        {"type": "string", "x-kubernetes-validations": [{"rule": "self.nothing > 1"}]},
        {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
    ],
    ids=["default of a wrong type", "rule that does not compile", "map without keys"],
)
async def test_invalid_definition_is_refused(api: KubeApi, node: dict[str, object]) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": node}}}}
    answer = await api.create(DEFINITIONS, gadget_definition(f"{api.namespace}.example.dev", schema))
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import kubernetes_validate
import pytest
import yaml
from pydantic import BaseModel, Field

from api.admission import compiled
from moorage.api.crd import crd, render
from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.api.schema import structural_schema

CRD_FILE = Path(__file__).parents[2] / "crds" / "scheduling.moorage.dev_schedulingpolicies.yaml"
VERSION = crd()["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
UNSTRUCTURAL = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "const", "title", "propertyNames", "nullable"}


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from nodes(schema[name], f"{path}[]")


NODES = dict(nodes(SCHEMA))


def test_the_file_is_generated_from_the_models() -> None:
    assert CRD_FILE.read_text(encoding="utf-8") == render(), (
        "the models changed: write the output of `moorage crd` to the file"
    )


def test_the_rendered_text_is_the_crd() -> None:
    assert yaml.safe_load(render()) == crd()
    assert "&id" not in render(), "the text must not use YAML anchors"


def test_the_crd_is_valid() -> None:
    kubernetes_validate.validate(crd(), "1.36", strict=True)
    spec = crd()["spec"]
    assert crd()["metadata"]["name"] == f"{spec['names']['plural']}.{spec['group']}"
    assert [version["storage"] for version in spec["versions"]] == [True]


def test_the_schema_is_structural() -> None:
    for path, node in NODES.items():
        assert node.get("type"), f"{path} has no type"
        assert not UNSTRUCTURAL & node.keys(), path
        assert not isinstance(node.get("additionalProperties"), bool), path


def test_every_list_has_a_merge_type_and_a_maximum_length() -> None:
    for path, node in NODES.items():
        if node["type"] != "array":
            continue
        assert node["x-kubernetes-list-type"] in {"atomic", "set", "map"}, path
        assert node["maxItems"] > 0, path
        if node["x-kubernetes-list-type"] == "map":
            keys = set(node["x-kubernetes-list-map-keys"])
            assert keys <= set(node["items"]["required"]), path


def test_every_map_and_text_of_a_spec_has_a_maximum_length() -> None:
    for path, node in NODES.items():
        if not path.startswith(".spec"):
            continue
        if "additionalProperties" in node:
            assert node["maxProperties"] > 0, path
        if node["type"] == "string" and "enum" not in node:
            assert node["maxLength"] > 0, path


def test_every_rule_compiles_and_has_a_message() -> None:
    rules = [(path, rule) for path, node in NODES.items() for rule in node.get("x-kubernetes-validations", ())]
    assert len(rules) > 10
    for path, rule in rules:
        compiled(rule["rule"])
        assert rule["message"], path
        if "fieldPath" in rule:
            assert f"{path}{rule['fieldPath']}" in NODES


def test_an_object_field_has_a_default_if_the_fields_in_the_object_have_defaults() -> None:
    for path, node in NODES.items():
        for name, child in node.get("properties", {}).items():
            has_inner = any("default" in inner for inner in child.get("properties", {}).values())
            if "default" in child and has_inner and name != "status":
                assert child["default"] == {}, f"{path}.{name}"


def test_fields_of_list_elements_have_no_defaults() -> None:
    """Argo CD compares whole lists. With a default in an element, Argo CD would always show the object as changed."""
    assert [path for path, node in NODES.items() if "[]" in path and "default" in node] == []
    assert NODES[".spec.extenders[].httpTimeout"]["description"].endswith("Default: 5s.")


@pytest.mark.parametrize(
    "field", ["resources.strategy", "percentageOfNodesToScore", "backoff.maxSeconds", "schedulerName"]
)
def test_a_field_has_no_default_if_its_default_depends_on_preset_configuration_or_name(field: str) -> None:
    assert "default" not in NODES[f".spec.{field}"]


def test_kubectl_get_has_these_columns() -> None:
    columns = VERSION["additionalPrinterColumns"]
    assert [column["name"].upper() for column in columns if not column.get("priority")] == [
        "SCHEDULER",
        "READY",
        "PENDING",
        "BOUND",
        "UNSCHEDULABLE",
        "AGE",
    ]
    assert [column["name"].upper() for column in columns if column.get("priority")] == [
        "REASON",
        "MESSAGE",
        "GENERATION",
    ]
    for column in columns:
        path = column["jsonPath"].split("[?")[0]
        assert path in NODES or path.startswith(".metadata"), column


def test_ready_is_unknown_in_the_initial_status() -> None:
    (ready,) = SCHEMA["properties"]["status"]["default"]["conditions"]
    assert (ready["type"], ready["status"]) == ("Ready", "Unknown")


def test_descriptions_in_the_schema_are_the_docstrings() -> None:
    lifecycle = NODES[".spec.lifecycle"]
    assert lifecycle["description"].startswith("Ranks nodes by lifecycle class: spot, on-demand or reserved.")
    assert "lifecycle" in SchedulingPolicySpec.model_fields


@pytest.mark.parametrize(
    ("path", "ending"),
    [
        (".spec.paused", "Default: false."),
        (".spec.lifecycle.prefer", "Default: spot."),
        (".spec.zones.maxSkew", "Default: 1."),
        (".spec.gpu.resources", "Default: nvidia.com/gpu, amd.com/gpu."),
        (".spec.instanceTypes.scores", '{"match": "r5*", "score": 3}].'),
    ],
)
def test_descriptions_end_with_the_default(path: str, ending: str) -> None:
    assert NODES[path]["description"].endswith(ending)
    assert NODES[path]["description"].count("Default:") == 1


def test_integers_are_int64_by_default() -> None:
    assert NODES[".status.observedGeneration"]["format"] == "int64"
    assert NODES[".spec.plugins.score.enabled[].weight"]["format"] == "int32"


def test_a_union_is_refused_when_the_schema_is_generated() -> None:
    class Union(BaseModel):
        either: int | str

    with pytest.raises(TypeError, match="no unions"):
        structural_schema(Union)


def test_a_field_without_a_type_is_refused_when_the_schema_is_generated() -> None:
    class Untyped(BaseModel):
        anything: Any

    with pytest.raises(TypeError, match="needs a type"):
        structural_schema(Untyped)


def test_an_unsupported_keyword_is_refused_when_the_schema_is_generated() -> None:
    class Multiple(BaseModel):
        even: Annotated[int, Field(multiple_of=2)]

    with pytest.raises(TypeError, match="multipleOf is not allowed"):
        structural_schema(Multiple)

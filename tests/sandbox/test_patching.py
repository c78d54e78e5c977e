"""Field paths, strategic merge patches and server-side apply, on a small schema."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.sandbox.api_status import StatusError
from moorage.sandbox.kinds.schemas import Schema
from moorage.sandbox.objects import Object
from moorage.sandbox.patching.field_paths import from_fields_v1, owned_fields, to_fields_v1
from moorage.sandbox.patching.managed_fields import FieldManager, FieldWriter, record_update
from moorage.sandbox.patching.server_side_apply import server_side_apply
from moorage.sandbox.patching.strategic_merge import strategic_merge

ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "integer"}}}
KEYED = {
    "type": "array",
    "items": ITEM,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "x-kubernetes-patch-merge-key": "name",
    "x-kubernetes-patch-strategy": "merge",
}
SPEC = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "items": KEYED,
        "set": {
            "type": "array",
            "items": {"type": "string"},
            "x-kubernetes-list-type": "set",
            "x-kubernetes-patch-strategy": "merge",
        },
        "whole": {"type": "array", "items": {"type": "string"}},
    },
}
SCHEMA = Schema({"type": "object", "properties": {"spec": SPEC, "metadata": {"type": "object"}}}, {})

specs = st.fixed_dictionaries(
    {},
    optional={
        "a": st.integers(0, 3),
        "b": st.integers(0, 3),
        "labels": st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12"), min_size=1),
        "items": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("pqr")}, optional={"value": st.integers(0, 3)}),
            unique_by=lambda item: item["name"],
            min_size=1,
        ),
        "set": st.lists(st.sampled_from("uvw"), unique=True, min_size=1),
        "whole": st.lists(st.sampled_from("uvw"), min_size=1),
    },
)


def writer(name: str, operation: str = "Apply") -> FieldWriter:
    return FieldWriter(FieldManager(name, operation, "", "v1"), "2026-11-30T00:00:00Z")


def obj(spec: Object, **metadata: object) -> Object:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t", **metadata}, "spec": spec}


def apply(live: Object, spec: Object, manager: str, *, force: bool = False) -> Object:
    return server_side_apply(live, obj(spec), SCHEMA, writer(manager), force=force)


@given(spec=specs)
def test_conversion_to_fields_v1_and_back_keeps_all_paths(spec: Object) -> None:
    paths = owned_fields(obj(spec), SCHEMA, status=None)
    assert frozenset(from_fields_v1(to_fields_v1(paths))) == paths


@given(spec=specs)
def test_apply_to_an_empty_object_gives_the_applied_spec(spec: Object) -> None:
    assert apply(obj({}), spec, "one")["spec"] == spec


@given(first=specs, second=specs)
def test_second_apply_by_the_same_manager_replaces_the_first(first: Object, second: Object) -> None:
    live = apply(obj({}, uid="u"), first, "one")
    result = apply(live, second, "one").get("spec", {})
    assert owned_fields(obj(result), SCHEMA, status=None) == owned_fields(obj(second), SCHEMA, status=None)


@given(first=specs, second=specs)
def test_forced_apply_sets_all_applied_fields(first: Object, second: Object) -> None:
    live = apply(obj({}, uid="u"), first, "one")
    result = apply(live, second, "two", force=True)
    wanted = owned_fields(obj(second), SCHEMA, status=None) - {("f:spec",)}
    assert wanted <= owned_fields(result, SCHEMA, status=None)
    for name in ("a", "b", "whole"):
        if name in second:
            assert result["spec"][name] == second[name]


@given(first=specs, second=specs)
def test_apply_conflicts_only_if_another_managers_value_would_change(first: Object, second: Object) -> None:
    live = apply(obj({}, uid="u"), first, "one")
    scalars = any(name in first and name in second and first[name] != second[name] for name in ("a", "b", "whole"))
    labels = any(first.get("labels", {}).get(key, value) != value for key, value in second.get("labels", {}).items())
    values = {item["name"]: item.get("value") for item in first.get("items", ())}
    items = any(
        "value" in item and values.get(item["name"]) not in {None, item["value"]} for item in second.get("items", ())
    )
    assert conflicts(live, second) is (scalars or labels or items)


def conflicts(live: Object, spec: Object) -> bool:
    try:
        apply(live, spec, "two")
    except StatusError as error:
        return error.code == 409
    return False


def test_writer_of_an_update_becomes_the_owner_of_the_changed_fields() -> None:
    live = apply(obj({}, uid="u"), {"a": 1, "b": 1}, "one")
    changed = {**live, "metadata": dict(live["metadata"]), "spec": {**live["spec"], "a": 2}}
    record_update(changed, live, SCHEMA, writer("editor", "Update"))
    owned = {entry["manager"]: entry["fieldsV1"] for entry in changed["metadata"]["managedFields"]}
    assert owned == {"one": {"f:spec": {"f:b": {}}}, "editor": {"f:spec": {"f:a": {}}}}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"items": [{"name": "p", "value": 9}]}, {"items": [{"name": "p", "value": 9}, {"name": "q"}]}),
        ({"items": [{"name": "r"}]}, {"items": [{"name": "p", "value": 1}, {"name": "q"}, {"name": "r"}]}),
        ({"items": [{"$patch": "delete", "name": "p"}]}, {"items": [{"name": "q"}]}),
        ({"items": [{"$patch": "replace"}, {"name": "z"}]}, {"items": [{"name": "z"}]}),
        (
            {"$setElementOrder/items": [{"name": "q"}, {"name": "p"}]},
            {"items": [{"name": "q"}, {"name": "p", "value": 1}]},
        ),
    ],
)
def test_strategic_patch_changes_a_keyed_list(patch: Object, expected: Object) -> None:
    live = obj({"items": [{"name": "p", "value": 1}, {"name": "q"}]})
    assert strategic_merge(live, {"spec": patch}, SCHEMA)["spec"] == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"set": ["w"]}, {"set": ["u", "v", "w"], "whole": ["u"], "a": 1}),
        ({"$deleteFromPrimitiveList/set": ["u"]}, {"set": ["v"], "whole": ["u"], "a": 1}),
        ({"whole": ["w"]}, {"set": ["u", "v"], "whole": ["w"], "a": 1}),
        ({"a": None}, {"set": ["u", "v"], "whole": ["u"]}),
        ({"$retainKeys": ["a"], "a": 2}, {"a": 2}),
        ({"$patch": "replace", "b": 5}, {"b": 5}),
    ],
)
def test_strategic_patch_changes_other_fields(patch: Object, expected: Object) -> None:
    live = obj({"set": ["u", "v"], "whole": ["u"], "a": 1})
    assert strategic_merge(live, {"spec": patch}, SCHEMA)["spec"] == expected

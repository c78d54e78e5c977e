from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from api.admission import admit, filled
from api.samples import ACCEPTED, REFUSED, WHOLE, Spec, policy
from moorage.api.crd import crd
from moorage.api.v1alpha1 import SchedulingPolicy, parse_policy
from moorage.errors import InvalidPolicy

SCHEMA = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def refusal(manifest: dict[str, Any]) -> InvalidPolicy | None:
    try:
        parse_policy(manifest)
    except InvalidPolicy as error:
        return error
    return None


@pytest.mark.parametrize("name", ACCEPTED)
def test_models_and_schema_accept_valid_samples(name: str) -> None:
    assert admit(SCHEMA, policy(ACCEPTED[name])) == []
    assert refusal(policy(ACCEPTED[name])) is None


@pytest.mark.parametrize("name", REFUSED)
def test_models_and_schema_refuse_invalid_samples_with_the_path_of_the_field(name: str) -> None:
    path, spec = REFUSED[name]
    error = refusal(policy(spec))
    assert error is not None
    assert path in {fault.path for fault in error.faults}
    assert admit(SCHEMA, policy(spec))


ODD_VALUES = [
    None,
    True,
    0,
    1,
    11,
    -1,
    1000,
    1.5,
    "",
    "a",
    "A b",
    "spot",
    "Prefer",
    "x" * 400,
    [],
    ["a", "a"],
    {},
    {"a": 1},
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in items:
        yield (*path, step)
        yield from places(child, (*path, step))


def replaced(spec: Spec, path: tuple[Any, ...], value: Any) -> Spec:
    spec = deepcopy(spec)
    holder: Any = spec
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return spec


@settings(max_examples=300, deadline=None)
@given(
    place=st.sampled_from([place for place in places(WHOLE) if "args" not in place]), value=st.sampled_from(ODD_VALUES)
)
def test_models_and_schema_agree_on_every_field_with_an_unusual_value(place: tuple[Any, ...], value: Any) -> None:
    manifest = policy(replaced(WHOLE, place, value))
    assert (refusal(manifest) is None) == (admit(SCHEMA, manifest) == [])


def test_an_empty_spec_has_every_default() -> None:
    spec = parse_policy(policy({})).spec
    assert (spec.preset, spec.paused, spec.filters.serverless_nodes) == ("Default", False, "Exclude")
    assert (spec.instance_types, spec.lifecycle, spec.zones, spec.gpu) == (None, None, None, None)
    assert (spec.preemption.enabled, spec.preemption.pdb_policy) == (True, "BestEffort")
    assert spec.resources.strategy is None, "a default here would override a preset"


def test_sections_have_the_default_scores_of_the_documentation() -> None:
    spec = parse_policy(policy(ACCEPTED["empty-sections"])).spec
    assert spec.instance_types is not None
    assert {row.match: row.score for row in spec.instance_types.scores} == {"c5*": 10, "m5*": 5, "r5*": 3}
    assert spec.instance_types.default == 1
    assert spec.lifecycle is not None
    assert (spec.lifecycle.prefer, spec.lifecycle.pod_label) == ("spot", "lifecycle-preference")
    assert spec.zones is not None
    assert (spec.zones.spread, spec.zones.scope, spec.zones.max_skew) == ("Prefer", "Workload", 1)
    assert spec.gpu is not None
    assert spec.gpu.resources == ("nvidia.com/gpu", "amd.com/gpu")


def test_the_scheduler_name_is_the_name_of_the_object_by_default() -> None:
    assert parse_policy(policy({}, name="batch")).scheduler_name == "batch"
    assert parse_policy(policy({"schedulerName": "other"}, name="batch")).scheduler_name == "other"


def test_a_policy_named_default_scheduler_needs_the_field_allow_default_scheduler() -> None:
    assert refusal(policy({}, name="default-scheduler")) is not None
    assert admit(SCHEMA, policy({}, name="default-scheduler"))
    assert refusal(policy({"allowDefaultScheduler": True}, name="default-scheduler")) is None


def test_a_name_that_is_too_long_for_a_label_value_is_refused() -> None:
    assert refusal(policy({}, name="a" * 63)) is None
    assert refusal(policy({}, name="a" * 64)) is not None
    assert admit(SCHEMA, policy({}, name="a" * 64))


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ({}, {}, True),
        ({}, {"schedulerName": "sample"}, True),
        ({"schedulerName": "sample"}, {}, True),
        ({}, {"schedulerName": "other"}, False),
        ({"schedulerName": "other"}, {}, False),
        ({"schedulerName": "other"}, {"schedulerName": "another"}, False),
        ({"schedulerName": "other"}, {"schedulerName": "other", "paused": True}, True),
    ],
)
def test_the_scheduler_name_is_immutable(before: Spec, after: Spec, *, allowed: bool) -> None:
    assert (admit(SCHEMA, policy(after), old=policy(before)) == []) is allowed


def test_snake_case_names_are_refused() -> None:
    error = refusal(policy({"scheduler_name": "x"}))
    assert error is not None
    assert [str(fault) for fault in error.faults] == ["spec.scheduler_name: is not a known field"]


def test_all_faults_are_reported_together() -> None:
    error = refusal(policy({"paused": "no", "zones": {"maxSkew": 0}, "weights": {"Gpu": 101}}))
    assert error is not None
    assert [fault.path for fault in error.faults] == ["spec.paused", "spec.weights.Gpu", "spec.zones.maxSkew"]


@pytest.mark.parametrize("without", [{}, {"spec": None}], ids=["absent", "null"])
def test_a_policy_without_a_spec_has_an_empty_spec(without: dict[str, Any]) -> None:
    manifest = {key: value for key, value in policy({}).items() if key != "spec"} | without
    assert parse_policy(manifest).spec == parse_policy(policy({})).spec
    assert admit(SCHEMA, manifest) == []


def test_the_status_of_another_version_is_ignored() -> None:
    manifest = {**policy({}), "status": {"conditions": "none"}}
    assert parse_policy(manifest).status is None
    newer = {
        **policy({}),
        "status": {"field": 1, "lastBoundTime": "2026-11-30T01:00:00Z", "pods": {"bound": 1, "odd": 2}},
    }
    status = SchedulingPolicy.model_validate(newer).status
    assert status is not None
    assert status.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True) == {
        "lastBoundTime": "2026-11-30T01:00:00Z",
        "pods": {"bound": 1},
    }


def test_metadata_from_an_api_server_is_parsed() -> None:
    manifest = policy({})
    manifest["metadata"] |= {
        "uid": "u",
        "generation": 3,
        "creationTimestamp": "2026-11-30T01:00:00Z",
        "managedFields": [{}],
    }
    metadata = parse_policy(manifest).metadata
    assert (metadata.uid, metadata.generation) == ("u", 3)
    assert metadata.creation_timestamp is not None
    assert metadata.creation_timestamp.isoformat() == "2026-11-30T01:00:00+00:00"


def test_policies_are_frozen() -> None:
    read = parse_policy(policy({}))
    with pytest.raises(ValidationError, match="frozen"):
        read.spec.paused = True  # type: ignore[misc]


def test_defaults_of_schema_and_models_agree() -> None:
    for spec in ACCEPTED.values():
        stored = filled(SCHEMA, policy(spec))
        assert parse_policy(stored).spec == parse_policy(policy(spec)).spec


def test_every_field_is_documented() -> None:
    def check(schema: dict[str, Any], path: str) -> None:
        for name, child in schema.get("properties", {}).items():
            if not path.startswith("metadata"):
                assert child.get("description") or (path, name) == ("", "metadata"), f"{path}.{name}"
            check(child, f"{path}.{name}" if path else name)
        if "items" in schema:
            check(schema["items"], f"{path}[]")

    check(SCHEMA, "")

"""Objects of custom kinds. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

import pytest

from sandbox.api_objects import applied_widget, widget
from sandbox.kube_api import KubeApi


async def test_create_sets_defaults_at_every_level(api: KubeApi, widgets: str) -> None:
    empty = await api.create(widgets, applied_widget(widgets, "empty"))
    assert empty.body["spec"] == {"mode": "Fast"}
    ports = await api.create(widgets, widget(widgets, "ports", ports=[{"number": 1}]))
    assert ports.body["spec"]["ports"] == [{"number": 1, "protocol": "TCP"}]


async def test_custom_object_without_a_kind_is_a_bad_request(api: KubeApi, widgets: str) -> None:
    answer = await api.create(widgets, {"metadata": {"name": "w"}})
    assert (answer.code, "Object 'Kind' is missing" in answer.message) == (400, True)


async def test_create_refuses_unknown_fields_or_prunes_them_with_a_warning(api: KubeApi, widgets: str) -> None:
    body = widget(widgets, "w", weight=1, wieght=2)
    refused = await api.create(widgets, body, fieldValidation="Strict")
    assert refused.code == 400
    assert refused.message == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.wieght"'
    )
    warned = await api.create(widgets, body, fieldValidation="Warn")
    assert warned.headers["Warning"] == '299 - "unknown field \\"spec.wieght\\""'
    assert "wieght" not in warned.body["spec"]


UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"weight": 101}, "spec.weight: Invalid value: 101: spec.weight in body should be less than or equal to 100"),
        ({"weight": -1}, "spec.weight: Invalid value: -1: spec.weight in body should be greater than or equal to 0"),
        ({"owner": "UPPER"}, "spec.owner: Invalid value: \"UPPER\": spec.owner in body should match '^[a-z]+$'"),
        ({"tags": ["a", "a"]}, 'spec.tags[1]: Duplicate value: "a"'),
        ({"ports": [{"number": 1}, {"number": 1}]}, 'spec.ports[1]: Duplicate value: {"number":1}'),
        ({"mode": "Slow", "weight": 1}, "spec: Invalid value: weight needs mode Fast"),
    ],
)
async def test_invalid_object_is_refused_with_kube_apiservers_message(
    api: KubeApi, widgets: str, spec: dict[str, object], message: str
) -> None:
    answer = await api.create(widgets, widget(widgets, "w", **spec))
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    group = widgets.split("/")[2]
    assert answer.message == f'Widget.{group} "w" is invalid: {message}'
    [cause] = answer.body["details"]["causes"]
    assert f"{cause['field']}: {cause['message']}" == message


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"mode": "Other"}, 'spec.mode: Unsupported value: "Other": supported values: "Fast", "Slow"'),
        (
            {"weight": True},
            'spec.weight: Invalid value: "boolean": spec.weight in body must be of type integer: "boolean"',
        ),
        ({"tags": {"a": 1}}, 'spec.tags: Invalid value: "object": spec.tags in body must be of type array: "object"'),
        ({"owner": "abcdefghijk"}, "spec.owner: Too long: may not be more than 10 bytes"),
        ({"tags": ["a", "b", "c"]}, "spec.tags: Too many: 3: must have at most 2 items"),
        ({"ports": [{"protocol": "TCP"}]}, "spec.ports[0].number: Required value"),
    ],
)
async def test_rules_do_not_run_after_a_blocking_schema_error(
    api: KubeApi, widgets: str, spec: dict[str, object], message: str
) -> None:
    answer = await api.create(widgets, widget(widgets, "w", **spec))
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    group = widgets.split("/")[2]
    assert answer.message == f'Widget.{group} "w" is invalid: [{message}, {UNCHECKED}]'


async def test_null_field_is_treated_like_an_absent_field(api: KubeApi, widgets: str) -> None:
    created = await api.create(widgets, widget(widgets, "w", weight=None, mode=None))
    assert created.body["spec"] == {"mode": "Fast"}


async def test_error_names_all_invalid_fields(api: KubeApi, widgets: str) -> None:
    answer = await api.create(widgets, widget(widgets, "w", owner="UPPER", weight=101))
    assert {cause["field"] for cause in answer.body["details"]["causes"]} == {"spec.owner", "spec.weight"}


async def test_transition_rule_compares_with_the_old_value(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "w", owner="me"))
    assert (await api.patch(f"{widgets}/w", {"spec": {"weight": 1}})).code == 200
    answer = await api.patch(f"{widgets}/w", {"spec": {"owner": "you"}})
    assert answer.code == 422
    assert answer.message.endswith('spec.owner: Invalid value: "you": is immutable')


async def test_only_the_status_subresource_writes_the_status(api: KubeApi, widgets: str) -> None:
    created = await api.create(widgets, {**widget(widgets, "w", weight=1), "status": {"note": "no"}})
    assert "status" not in created.body
    await api.patch(f"{widgets}/w", {"status": {"note": "no"}})
    answer = await api.patch(f"{widgets}/w/status", {"status": {"note": "yes"}, "spec": {"weight": 9}})
    assert (answer.body["status"], answer.body["spec"]["weight"]) == ({"note": "yes"}, 1)


async def test_generation_counts_changes_of_the_spec_only(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "w", weight=1))
    await api.patch(f"{widgets}/w", {"metadata": {"labels": {"a": "b"}}})
    await api.patch(f"{widgets}/w/status", {"status": {"note": "x"}})
    assert (await api.get(f"{widgets}/w")).body["metadata"]["generation"] == 1
    assert (await api.patch(f"{widgets}/w", {"spec": {"weight": 2}})).body["metadata"]["generation"] == 2


async def test_field_selector_accepts_the_selectable_fields_of_a_custom_kind(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "fast"))
    await api.create(widgets, widget(widgets, "slow", mode="Slow"))
    assert await api.names(widgets, fieldSelector="spec.mode=Slow") == ["slow"]
    assert (await api.get(widgets, fieldSelector="spec.weight=1")).code == 400

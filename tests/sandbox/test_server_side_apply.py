"""Server-side apply. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

from sandbox.api_objects import applied_widget, widget
from sandbox.kube_api import APPLY, KubeApi


async def test_apply_creates_then_changes_an_object(api: KubeApi, widgets: str) -> None:
    path = f"{widgets}/w"
    created = await api.apply(path, applied_widget(widgets, "w", spec={"weight": 1}), "one")
    assert created.code == 201
    changed = await api.apply(path, applied_widget(widgets, "w", spec={"weight": 2}), "one")
    assert (changed.code, changed.body["spec"]["weight"]) == (200, 2)
    assert changed.body["metadata"]["generation"] == 2
    entry = changed.body["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"]) == ("one", "Apply")
    assert entry["fieldsV1"] == {"f:spec": {"f:weight": {}}}


async def test_repeated_apply_keeps_the_resource_version(api: KubeApi, widgets: str) -> None:
    body = applied_widget(widgets, "w", spec={"weight": 1})
    first = await api.apply(f"{widgets}/w", body, "one")
    assert (await api.apply(f"{widgets}/w", body, "one")).revision == first.revision


async def test_apply_without_force_conflicts_if_it_changes_a_field_of_another_manager(
    api: KubeApi, widgets: str
) -> None:
    path = f"{widgets}/w"
    await api.apply(path, applied_widget(widgets, "w", spec={"weight": 1}), "one")
    other = applied_widget(widgets, "w", spec={"weight": 2})
    refused = await api.apply(path, other, "two")
    assert (refused.code, refused.body["reason"]) == (409, "Conflict")
    assert refused.message == 'Apply failed with 1 conflict: conflict with "one": .spec.weight'
    assert refused.body["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".spec.weight"}
    ]
    forced = await api.apply(path, other, "two", force="true")
    assert forced.body["spec"]["weight"] == 2
    managers = [entry["manager"] for entry in forced.body["metadata"]["managedFields"]]
    assert managers == ["two"]


async def test_apply_conflicts_with_the_manager_of_an_update(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "w", weight=1), fieldManager="editor")
    refused = await api.apply(f"{widgets}/w", applied_widget(widgets, "w", spec={"weight": 2}), "one")
    assert refused.code == 409
    assert refused.message.startswith('Apply failed with 1 conflict: conflict with "editor" using ')


async def test_field_that_is_no_longer_applied_is_removed(api: KubeApi, widgets: str) -> None:
    path = f"{widgets}/w"
    await api.apply(path, applied_widget(widgets, "w", spec={"weight": 1, "labels": {"a": "1", "b": "2"}}), "one")
    answer = await api.apply(path, applied_widget(widgets, "w", spec={"labels": {"b": "2"}}), "one")
    assert answer.body["spec"] == {"mode": "Fast", "labels": {"b": "2"}}


async def test_field_that_another_manager_also_applies_is_kept(api: KubeApi, widgets: str) -> None:
    path = f"{widgets}/w"
    for manager in ("one", "two"):
        await api.apply(path, applied_widget(widgets, "w", spec={"weight": 1}), manager)
    answer = await api.apply(path, applied_widget(widgets, "w", spec={}), "one")
    assert answer.body["spec"]["weight"] == 1


async def test_manager_removes_only_its_own_items_of_a_keyed_list(api: KubeApi, widgets: str) -> None:
    path = f"{widgets}/w"
    await api.apply(path, applied_widget(widgets, "w", spec={"ports": [{"number": 1}, {"number": 2}]}), "one")
    await api.apply(path, applied_widget(widgets, "w", spec={"ports": [{"number": 3}]}), "two")
    answer = await api.apply(path, applied_widget(widgets, "w", spec={"ports": [{"number": 2}]}), "one")
    assert sorted(item["number"] for item in answer.body["spec"]["ports"]) == [2, 3]


async def test_two_managers_apply_conditions_independently(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "w"))
    status = f"{widgets}/w/status"
    for manager, kind in (("one", "Ready"), ("two", "Accepted")):
        body = applied_widget(widgets, "w", status={"conditions": [{"type": kind, "status": "True"}]})
        assert (await api.apply(status, body, manager, force="true")).code == 200
    body = applied_widget(widgets, "w", status={"conditions": [{"type": "Ready", "status": "False"}]})
    answer = await api.apply(status, body, "one", force="true")
    found = {item["type"]: item["status"] for item in answer.body["status"]["conditions"]}
    assert found == {"Ready": "False", "Accepted": "True"}
    assert answer.body["metadata"]["generation"] == 1
    subresources = {entry["manager"]: entry.get("subresource") for entry in answer.body["metadata"]["managedFields"]}
    assert (subresources["one"], subresources["two"]) == ("status", "status")


async def test_status_of_an_absent_object_cannot_be_applied(api: KubeApi, widgets: str) -> None:
    body = applied_widget(widgets, "none", status={"note": "x"})
    assert (await api.apply(f"{widgets}/none/status", body, "one")).code == 404


async def test_apply_accepts_yaml(api: KubeApi, widgets: str) -> None:
    group = widgets.split("/")[2]
    text = f"apiVersion: {group}/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  weight: 4\n"
    answer = await api.call("PATCH", f"{widgets}/w", text.encode(), content_type=APPLY, fieldManager="one")
    assert (answer.code, answer.body["spec"]["weight"]) == (201, 4)

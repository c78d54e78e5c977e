"""Merge patches, JSON patches and strategic merge patches. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

from sandbox.api_objects import config_map, pod, widget
from sandbox.kube_api import JSON_PATCH, MERGE, STRATEGIC, KubeApi


async def test_merge_patch_sets_and_removes_fields(api: KubeApi) -> None:
    await api.create(api.configmaps, config_map("a", x="1", y="2"))
    answer = await api.patch(f"{api.configmaps}/a", {"data": {"x": None, "z": "3"}}, MERGE)
    assert answer.body["data"] == {"y": "2", "z": "3"}


async def test_json_patch_applies_its_operations_in_order(api: KubeApi) -> None:
    await api.create(api.configmaps, config_map("a", x="1"))
    operations = [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "replace", "path": "/data/x", "value": "2"},
        {"op": "copy", "from": "/data/x", "path": "/data/y"},
        {"op": "add", "path": "/metadata/labels", "value": {"a~b/c": "d"}},
        {"op": "remove", "path": "/metadata/labels/a~0b~1c"},
    ]
    answer = await api.patch(f"{api.configmaps}/a", operations[:3], JSON_PATCH)
    assert answer.body["data"] == {"x": "2", "y": "2"}


async def test_json_patch_with_a_failed_test_changes_nothing(api: KubeApi) -> None:
    await api.create(api.configmaps, config_map("a", x="1"))
    operations = [{"op": "test", "path": "/data/x", "value": "9"}, {"op": "remove", "path": "/data/x"}]
    answer = await api.patch(f"{api.configmaps}/a", operations, JSON_PATCH)
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert answer.message == "the server rejected our request due to an error in our request"
    assert (await api.get(f"{api.configmaps}/a")).body["data"] == {"x": "1"}


async def test_strategic_patch_merges_conditions_by_type(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    for kind in ("PodScheduled", "Other"):
        patch = {"status": {"conditions": [{"type": kind, "status": "False", "reason": "Because"}]}}
        assert (await api.patch(f"{api.pods}/p/status", patch, STRATEGIC)).code == 200
    change = {"status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}}
    answer = await api.patch(f"{api.pods}/p/status", change, STRATEGIC)
    found = {item["type"]: (item["status"], item["reason"]) for item in answer.body["status"]["conditions"]}
    assert found == {"PodScheduled": ("True", "Because"), "Other": ("False", "Because")}


async def test_strategic_patch_deletes_an_item_by_key(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    items = [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]
    await api.patch(f"{api.pods}/p/status", {"status": {"conditions": items}}, STRATEGIC)
    removal = {"status": {"conditions": [{"$patch": "delete", "type": "A"}]}}
    answer = await api.patch(f"{api.pods}/p/status", removal, STRATEGIC)
    assert [item["type"] for item in answer.body["status"]["conditions"]] == ["B"]


async def test_custom_kinds_refuse_strategic_patches(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "w"))
    assert (await api.patch(f"{widgets}/w", {"spec": {}}, STRATEGIC)).code == 415

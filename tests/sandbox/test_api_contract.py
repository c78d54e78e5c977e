"""What an API server does for its clients, held against the sandbox and against kube-apiserver alike."""

from __future__ import annotations

import pytest

from sandbox.kube_api import APPLY, JSON_PATCH, MERGE, STRATEGIC, TABLE, KubeApi, Object, binding, pod


def config(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


# --- objects ---------------------------------------------------------------------------------------------------------


async def test_created_object_gets_system_metadata_and_reads_back(api: KubeApi) -> None:
    made = await api.create(api.configmaps, config("a", x="1"))
    assert made.code == 201
    meta = made.body["metadata"]
    assert meta["namespace"] == api.namespace
    assert meta["uid"]
    assert meta["creationTimestamp"].endswith("Z")
    assert (await api.get(f"{api.configmaps}/a")).body == made.body


async def test_second_create_of_a_name_conflicts(api: KubeApi) -> None:
    await api.create(api.configmaps, config("a"))
    again = await api.create(api.configmaps, config("a"))
    assert (again.code, again.body["reason"]) == (409, "AlreadyExists")
    assert again.message == 'configmaps "a" already exists'


async def test_absent_object_is_not_found(api: KubeApi) -> None:
    answer = await api.get(f"{api.configmaps}/none")
    assert (answer.code, answer.body["reason"]) == (404, "NotFound")
    assert answer.message == 'configmaps "none" not found'
    assert answer.body["details"] == {"name": "none", "kind": "configmaps"}


async def test_unserved_resource_is_not_found(api: KubeApi) -> None:
    assert (await api.get("/apis/nothing.example.dev/v1/things")).code == 404


async def test_create_in_an_absent_namespace_is_refused(api: KubeApi) -> None:
    answer = await api.create("/api/v1/namespaces/no-such-namespace/configmaps", config("a"))
    assert (answer.code, answer.message) == (404, 'namespaces "no-such-namespace" not found')


async def test_generated_names_differ(api: KubeApi) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "made-"}}
    names = {(await api.create(api.configmaps, body)).body["metadata"]["name"] for _ in range(2)}
    assert len(names) == 2
    assert all(name.startswith("made-") for name in names)


async def test_bad_name_is_invalid(api: KubeApi) -> None:
    answer = await api.create(api.configmaps, config("Not_A_Name"))
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert answer.message.startswith(
        'ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name": a lowercase RFC 1123 subdomain'
    )
    assert answer.body["details"]["causes"][0]["field"] == "metadata.name"


async def test_body_that_is_no_json_is_a_bad_request(api: KubeApi) -> None:
    assert (await api.create(api.configmaps, b"{nonsense")).code == 400


async def test_body_of_another_kind_is_a_bad_request(api: KubeApi) -> None:
    assert (await api.create(api.configmaps, {**config("a"), "kind": "Secret"})).code == 400


async def test_value_of_a_wrong_type_is_a_bad_request(api: KubeApi) -> None:
    answer = await api.create(api.pods, pod("p", nodeSelector=["a"]))
    assert answer.code == 400
    assert answer.message.startswith('Pod in version "v1" cannot be handled as a Pod: ')


async def test_stale_update_conflicts(api: KubeApi) -> None:
    first = await api.create(api.configmaps, config("a", x="1"))
    await api.update(f"{api.configmaps}/a", config("a", x="2"))
    stale = await api.update(f"{api.configmaps}/a", first.body | {"data": {"x": "3"}})
    assert (stale.code, stale.body["reason"]) == (409, "Conflict")
    assert stale.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


async def test_update_that_changes_nothing_makes_no_new_version(api: KubeApi) -> None:
    first = await api.create(api.configmaps, config("a", x="1"))
    again = await api.update(f"{api.configmaps}/a", first.body)
    assert again.revision == first.revision


async def test_update_of_another_uid_conflicts(api: KubeApi) -> None:
    first = await api.create(api.configmaps, config("a"))
    body = config("a", x="1")
    body["metadata"] = {"name": "a", "uid": "00000000-0000-0000-0000-000000000000"}
    answer = await api.update(f"{api.configmaps}/a", body)
    assert answer.code == 409
    assert first.body["metadata"]["uid"] in answer.message


async def test_dry_run_changes_nothing(api: KubeApi) -> None:
    assert (await api.create(api.configmaps, config("a"), dryRun="All")).code == 201
    assert (await api.get(f"{api.configmaps}/a")).code == 404


# --- deletion --------------------------------------------------------------------------------------------------------


async def test_delete_answers_with_what_is_gone(api: KubeApi) -> None:
    made = await api.create(api.configmaps, config("a"))
    gone = await api.delete(f"{api.configmaps}/a")
    assert gone.code == 200
    assert gone.body["status"] == "Success"
    assert gone.body["details"]["uid"] == made.body["metadata"]["uid"]
    assert (await api.get(f"{api.configmaps}/a")).code == 404


async def test_delete_with_another_uid_conflicts(api: KubeApi) -> None:
    await api.create(api.configmaps, config("a"))
    answer = await api.delete(f"{api.configmaps}/a", {"preconditions": {"uid": "other"}})
    assert answer.code == 409
    assert answer.message.startswith(
        'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the UID in '
    )


async def test_finalizers_keep_an_object_until_they_are_removed(api: KubeApi) -> None:
    body = config("a")
    body["metadata"] = {"name": "a", "finalizers": ["example.dev/hold"]}
    await api.create(api.configmaps, body)
    await api.delete(f"{api.configmaps}/a")
    held = await api.get(f"{api.configmaps}/a")
    assert held.body["metadata"]["deletionTimestamp"]
    await api.patch(f"{api.configmaps}/a", {"metadata": {"finalizers": None}})
    assert (await api.get(f"{api.configmaps}/a")).code == 404


async def test_unbound_pod_goes_at_once(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    gone = await api.delete(f"{api.pods}/p")
    assert (gone.code, gone.body["kind"]) == (200, "Pod")
    assert (await api.get(f"{api.pods}/p")).code == 404


async def test_bound_pod_waits_for_its_kubelet(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    await api.create(f"{api.pods}/p/binding", binding("p", "some-node"))
    assert (await api.delete(f"{api.pods}/p", gracePeriodSeconds="7")).code == 200
    meta = (await api.get(f"{api.pods}/p")).body["metadata"]
    assert (meta["deletionGracePeriodSeconds"], bool(meta["deletionTimestamp"])) == (7, True)
    await api.delete(f"{api.pods}/p", gracePeriodSeconds="0")
    assert (await api.get(f"{api.pods}/p")).code == 404


async def test_collection_is_deleted_by_selector(api: KubeApi) -> None:
    for name, color in (("a", "red"), ("b", "blue")):
        body = config(name)
        body["metadata"] = {"name": name, "labels": {"color": color}}
        await api.create(api.configmaps, body)
    await api.delete(api.configmaps, labelSelector="color=red")
    assert await api.names(api.configmaps, labelSelector="color") == ["b"]


# --- lists -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("color=red", ["a"]),
        ("color==red,size=1", ["a"]),
        ("color!=red", ["b", "c"]),
        ("color in (red, blue)", ["a", "b"]),
        ("color notin (red)", ["b", "c"]),
        ("color", ["a", "b"]),
        ("!color", ["c"]),
        ("size,color in (blue)", []),
    ],
)
async def test_label_selectors(api: KubeApi, selector: str, expected: list[str]) -> None:
    for name, labels in (("a", {"color": "red", "size": "1"}), ("b", {"color": "blue"}), ("c", {})):
        await api.create(api.pods, pod(name, metadata={"labels": labels}))
    assert await api.names(api.pods, labelSelector=selector) == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("spec.nodeName=n1", ["bound"]),
        ("spec.nodeName=", ["free"]),
        ("spec.nodeName!=n1", ["free"]),
        ("metadata.name=free", ["free"]),
        ("spec.schedulerName=mine,status.phase=Pending", ["free"]),
    ],
)
async def test_field_selectors_of_pods(api: KubeApi, selector: str, expected: list[str]) -> None:
    await api.create(api.pods, pod("bound", nodeName="n1"))
    await api.create(api.pods, pod("free", schedulerName="mine"))
    assert await api.names(api.pods, fieldSelector=selector) == expected


@pytest.mark.parametrize("query", [{"labelSelector": "a=(b"}, {"fieldSelector": "spec.containers=x"}])
async def test_bad_selector_is_a_bad_request(api: KubeApi, query: dict[str, str]) -> None:
    assert (await api.get(api.pods, **query)).code == 400
    assert (await api.get(api.pods, **query, watch="true")).code == 400


async def test_pages_show_one_moment(api: KubeApi) -> None:
    for name in "abcde":
        await api.create(api.pods, pod(name))
    first = await api.get(api.pods, limit="2")
    assert [item["metadata"]["name"] for item in first.body["items"]] == ["a", "b"]
    assert first.body["metadata"]["remainingItemCount"] == 3
    await api.delete(f"{api.pods}/d")
    await api.create(api.pods, pod("f"))
    second = await api.get(api.pods, limit="2", **{"continue": first.body["metadata"]["continue"]})
    third = await api.get(api.pods, limit="2", **{"continue": second.body["metadata"]["continue"]})
    rest = [item["metadata"]["name"] for page in (second, third) for item in page.body["items"]]
    assert rest == ["c", "d", "e"]
    assert "continue" not in third.body["metadata"]


async def test_bad_continue_is_a_bad_request(api: KubeApi) -> None:
    assert (await api.get(api.pods, limit="2", **{"continue": "nonsense"})).code == 400


async def test_list_of_an_exact_past_moment(api: KubeApi) -> None:
    await api.create(api.pods, pod("a"))
    then = (await api.get(api.pods)).revision
    await api.create(api.pods, pod("b"))
    assert await api.names(api.pods, resourceVersion=then, resourceVersionMatch="Exact") == ["a"]
    assert await api.names(api.pods) == ["a", "b"]


# --- watches ---------------------------------------------------------------------------------------------------------


async def test_watch_replays_what_came_after_a_revision(api: KubeApi) -> None:
    await api.create(api.configmaps, config("before"))
    since = (await api.get(api.configmaps)).revision
    await api.create(api.configmaps, config("p"))
    await api.patch(f"{api.configmaps}/p", {"metadata": {"labels": {"a": "b"}}})
    await api.delete(f"{api.configmaps}/p")
    events = await api.watch(api.configmaps, 3, resourceVersion=since)
    assert [(kind, obj["metadata"]["name"]) for kind, obj in events] == [
        ("ADDED", "p"),
        ("MODIFIED", "p"),
        ("DELETED", "p"),
    ]
    revisions = [int(obj["metadata"]["resourceVersion"]) for _, obj in events]
    assert revisions == sorted(set(revisions))


async def test_deleted_pod_is_seen_terminating_before_it_goes(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    since = (await api.get(api.pods)).revision
    await api.delete(f"{api.pods}/p")
    events = await api.watch(api.pods, 2, resourceVersion=since)
    assert [(kind, "deletionTimestamp" in obj["metadata"]) for kind, obj in events] == [
        ("MODIFIED", True),
        ("DELETED", True),
    ]


async def test_watch_without_a_revision_begins_with_what_is_there(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    events = await api.watch(api.pods, 1)
    assert [(kind, obj["metadata"]["name"]) for kind, obj in events] == [("ADDED", "p")]


async def test_object_that_leaves_a_selector_is_deleted_for_its_watcher(api: KubeApi) -> None:
    since = (await api.get(api.pods)).revision
    await api.create(api.pods, pod("p", metadata={"labels": {"color": "red"}}))
    await api.patch(f"{api.pods}/p", {"metadata": {"labels": {"color": "blue"}}})
    await api.patch(f"{api.pods}/p", {"metadata": {"labels": {"color": "red"}}})
    events = await api.watch(api.pods, 3, resourceVersion=since, labelSelector="color=red")
    assert [kind for kind, _ in events] == ["ADDED", "DELETED", "ADDED"]


async def test_bound_pod_enters_the_watch_of_its_node(api: KubeApi) -> None:
    since = (await api.get(api.pods)).revision
    await api.create(api.pods, pod("p"))
    await api.create(f"{api.pods}/p/binding", binding("p", "n1"))
    events = await api.watch(api.pods, 1, resourceVersion=since, fieldSelector="spec.nodeName=n1")
    assert [(kind, obj["spec"]["nodeName"]) for kind, obj in events] == [("ADDED", "n1")]


async def test_streamed_list_ends_with_a_bookmark(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    events = await api.watch(
        api.pods, 2, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
    )
    assert [kind for kind, _ in events][:2] == ["ADDED", "BOOKMARK"]
    assert events[1][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


# --- patches ---------------------------------------------------------------------------------------------------------


async def test_merge_patch_sets_and_removes(api: KubeApi) -> None:
    await api.create(api.configmaps, config("a", x="1", y="2"))
    answer = await api.patch(f"{api.configmaps}/a", {"data": {"x": None, "z": "3"}}, MERGE)
    assert answer.body["data"] == {"y": "2", "z": "3"}


async def test_json_patch_applies_in_order(api: KubeApi) -> None:
    await api.create(api.configmaps, config("a", x="1"))
    operations = [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "replace", "path": "/data/x", "value": "2"},
        {"op": "copy", "from": "/data/x", "path": "/data/y"},
        {"op": "add", "path": "/metadata/labels", "value": {"a~b/c": "d"}},
        {"op": "remove", "path": "/metadata/labels/a~0b~1c"},
    ]
    answer = await api.patch(f"{api.configmaps}/a", operations[:3], JSON_PATCH)
    assert answer.body["data"] == {"x": "2", "y": "2"}


async def test_json_patch_whose_test_fails_changes_nothing(api: KubeApi) -> None:
    await api.create(api.configmaps, config("a", x="1"))
    operations = [{"op": "test", "path": "/data/x", "value": "9"}, {"op": "remove", "path": "/data/x"}]
    answer = await api.patch(f"{api.configmaps}/a", operations, JSON_PATCH)
    assert answer.code == 422
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


async def test_custom_kinds_take_no_strategic_patch(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "w"))
    assert (await api.patch(f"{widgets}/w", {"spec": {}}, STRATEGIC)).code == 415


# --- server-side apply -----------------------------------------------------------------------------------------------


def widget(path: str, name: str, **spec: object) -> dict[str, object]:
    return applied_widget(path, name, spec=spec)


def applied_widget(path: str, name: str, **fields: object) -> dict[str, object]:
    group = path.split("/")[2]
    return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": name}, **fields}


async def test_apply_creates_and_then_changes(api: KubeApi, widgets: str) -> None:
    path = f"{widgets}/w"
    made = await api.apply(path, applied_widget(widgets, "w", spec={"weight": 1}), "one")
    assert made.code == 201
    changed = await api.apply(path, applied_widget(widgets, "w", spec={"weight": 2}), "one")
    assert (changed.code, changed.body["spec"]["weight"]) == (200, 2)
    assert changed.body["metadata"]["generation"] == 2
    entry = changed.body["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"]) == ("one", "Apply")
    assert entry["fieldsV1"] == {"f:spec": {"f:weight": {}}}


async def test_apply_of_the_same_makes_no_new_version(api: KubeApi, widgets: str) -> None:
    body = applied_widget(widgets, "w", spec={"weight": 1})
    first = await api.apply(f"{widgets}/w", body, "one")
    assert (await api.apply(f"{widgets}/w", body, "one")).revision == first.revision


async def test_apply_of_anothers_field_conflicts_unless_forced(api: KubeApi, widgets: str) -> None:
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


async def test_apply_over_an_update_conflicts_with_its_writer(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "w", weight=1), fieldManager="editor")
    refused = await api.apply(f"{widgets}/w", applied_widget(widgets, "w", spec={"weight": 2}), "one")
    assert refused.code == 409
    assert refused.message.startswith('Apply failed with 1 conflict: conflict with "editor" using ')


async def test_field_that_is_applied_no_more_goes(api: KubeApi, widgets: str) -> None:
    path = f"{widgets}/w"
    await api.apply(path, applied_widget(widgets, "w", spec={"weight": 1, "labels": {"a": "1", "b": "2"}}), "one")
    answer = await api.apply(path, applied_widget(widgets, "w", spec={"labels": {"b": "2"}}), "one")
    assert answer.body["spec"] == {"mode": "Fast", "labels": {"b": "2"}}


async def test_field_that_another_applies_too_stays(api: KubeApi, widgets: str) -> None:
    path = f"{widgets}/w"
    for manager in ("one", "two"):
        await api.apply(path, applied_widget(widgets, "w", spec={"weight": 1}), manager)
    answer = await api.apply(path, applied_widget(widgets, "w", spec={}), "one")
    assert answer.body["spec"]["weight"] == 1


async def test_items_of_a_keyed_list_belong_to_who_applied_them(api: KubeApi, widgets: str) -> None:
    path = f"{widgets}/w"
    await api.apply(path, applied_widget(widgets, "w", spec={"ports": [{"number": 1}, {"number": 2}]}), "one")
    await api.apply(path, applied_widget(widgets, "w", spec={"ports": [{"number": 3}]}), "two")
    answer = await api.apply(path, applied_widget(widgets, "w", spec={"ports": [{"number": 2}]}), "one")
    assert sorted(item["number"] for item in answer.body["spec"]["ports"]) == [2, 3]


async def test_conditions_applied_by_two_managers_live_side_by_side(api: KubeApi, widgets: str) -> None:
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


async def test_apply_takes_yaml(api: KubeApi, widgets: str) -> None:
    group = widgets.split("/")[2]
    text = f"apiVersion: {group}/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  weight: 4\n"
    answer = await api.call("PATCH", f"{widgets}/w", text.encode(), content_type=APPLY, fieldManager="one")
    assert (answer.code, answer.body["spec"]["weight"]) == (201, 4)


# --- custom kinds ----------------------------------------------------------------------------------------------------


async def test_defaults_fill_in_at_every_level(api: KubeApi, widgets: str) -> None:
    empty = await api.create(widgets, applied_widget(widgets, "empty"))
    assert empty.body["spec"] == {"mode": "Fast"}
    ports = await api.create(widgets, widget(widgets, "ports", ports=[{"number": 1}]))
    assert ports.body["spec"]["ports"] == [{"number": 1, "protocol": "TCP"}]


async def test_custom_kinds_have_to_name_themselves(api: KubeApi, widgets: str) -> None:
    answer = await api.create(widgets, {"metadata": {"name": "w"}})
    assert (answer.code, "Object 'Kind' is missing" in answer.message) == (400, True)


async def test_unknown_fields_are_pruned_warned_of_or_refused(api: KubeApi, widgets: str) -> None:
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
    ("spec", "complaint"),
    [
        ({"weight": 101}, "spec.weight: Invalid value: 101: spec.weight in body should be less than or equal to 100"),
        ({"weight": -1}, "spec.weight: Invalid value: -1: spec.weight in body should be greater than or equal to 0"),
        ({"owner": "UPPER"}, "spec.owner: Invalid value: \"UPPER\": spec.owner in body should match '^[a-z]+$'"),
        ({"tags": ["a", "a"]}, 'spec.tags[1]: Duplicate value: "a"'),
        ({"ports": [{"number": 1}, {"number": 1}]}, 'spec.ports[1]: Duplicate value: {"number":1}'),
        ({"mode": "Slow", "weight": 1}, "spec: Invalid value: weight needs mode Fast"),
    ],
)
async def test_schema_and_rules_refuse_in_the_api_servers_words(
    api: KubeApi, widgets: str, spec: dict[str, object], complaint: str
) -> None:
    answer = await api.create(widgets, widget(widgets, "w", **spec))
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    group = widgets.split("/")[2]
    assert answer.message == f'Widget.{group} "w" is invalid: {complaint}'
    [cause] = answer.body["details"]["causes"]
    assert f"{cause['field']}: {cause['message']}" == complaint


@pytest.mark.parametrize(
    ("spec", "complaint"),
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
async def test_wrong_shape_keeps_rules_from_being_checked(
    api: KubeApi, widgets: str, spec: dict[str, object], complaint: str
) -> None:
    answer = await api.create(widgets, widget(widgets, "w", **spec))
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    group = widgets.split("/")[2]
    assert answer.message == f'Widget.{group} "w" is invalid: [{complaint}, {UNCHECKED}]'


async def test_null_stands_for_absence(api: KubeApi, widgets: str) -> None:
    made = await api.create(widgets, widget(widgets, "w", weight=None, mode=None))
    assert made.body["spec"] == {"mode": "Fast"}


async def test_all_faults_are_named_at_once(api: KubeApi, widgets: str) -> None:
    answer = await api.create(widgets, widget(widgets, "w", owner="UPPER", weight=101))
    assert {cause["field"] for cause in answer.body["details"]["causes"]} == {"spec.owner", "spec.weight"}


async def test_transition_rules_see_the_old_value(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "w", owner="me"))
    assert (await api.patch(f"{widgets}/w", {"spec": {"weight": 1}})).code == 200
    answer = await api.patch(f"{widgets}/w", {"spec": {"owner": "you"}})
    assert answer.code == 422
    assert answer.message.endswith('spec.owner: Invalid value: "you": is immutable')


async def test_only_the_status_subresource_writes_the_status(api: KubeApi, widgets: str) -> None:
    made = await api.create(widgets, {**widget(widgets, "w", weight=1), "status": {"note": "no"}})
    assert "status" not in made.body
    await api.patch(f"{widgets}/w", {"status": {"note": "no"}})
    answer = await api.patch(f"{widgets}/w/status", {"status": {"note": "yes"}, "spec": {"weight": 9}})
    assert (answer.body["status"], answer.body["spec"]["weight"]) == ({"note": "yes"}, 1)


async def test_generation_counts_changes_of_the_spec_only(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "w", weight=1))
    await api.patch(f"{widgets}/w", {"metadata": {"labels": {"a": "b"}}})
    await api.patch(f"{widgets}/w/status", {"status": {"note": "x"}})
    assert (await api.get(f"{widgets}/w")).body["metadata"]["generation"] == 1
    assert (await api.patch(f"{widgets}/w", {"spec": {"weight": 2}})).body["metadata"]["generation"] == 2


async def test_custom_kinds_are_selected_by_their_selectable_fields(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "fast"))
    await api.create(widgets, widget(widgets, "slow", mode="Slow"))
    assert await api.names(widgets, fieldSelector="spec.mode=Slow") == ["slow"]
    assert (await api.get(widgets, fieldSelector="spec.weight=1")).code == 400


async def test_definition_that_is_not_structural_is_refused(api: KubeApi) -> None:
    group = f"{api.namespace}.example.dev"
    schema: Object = {"type": "object", "properties": {"spec": {"properties": {"a": {"type": "string"}}}}}
    answer = await api.create(*definition(group, schema))
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
async def test_faulty_definition_is_refused(api: KubeApi, node: dict[str, object]) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": node}}}}
    answer = await api.create(*definition(f"{api.namespace}.example.dev", schema))
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")


def definition(group: str, schema: Object) -> tuple[str, Object]:
    version: Object = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
    body: Object = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": names, "versions": [version]},
    }
    return "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body


# --- pods ------------------------------------------------------------------------------------------------------------


async def test_new_pod_has_defaults_and_is_admitted(api: KubeApi) -> None:
    made = (await api.create(api.pods, pod("p"))).body
    spec = made["spec"]
    assert (spec["schedulerName"], spec["restartPolicy"], spec["dnsPolicy"]) == (
        "default-scheduler",
        "Always",
        "ClusterFirst",
    )
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert spec["tolerations"] == [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    ]
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["metadata"]["generation"] == 1
    assert spec["containers"][0]["imagePullPolicy"] == "IfNotPresent"


async def test_own_tolerations_of_eviction_taints_stand(api: KubeApi) -> None:
    own = [{"operator": "Exists", "effect": "NoExecute"}]
    made = await api.create(api.pods, pod("p", tolerations=own))
    assert made.body["spec"]["tolerations"] == own
    other = [{"operator": "Exists", "effect": "NoSchedule"}]
    made = await api.create(api.pods, pod("q", tolerations=other))
    assert len(made.body["spec"]["tolerations"]) == 3


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
    ],
)
async def test_quality_of_service_class(api: KubeApi, resources: dict[str, object], expected: str) -> None:
    made = await api.create(api.pods, pod("p", resources=resources))
    assert made.body["status"]["qosClass"] == expected


async def test_quantities_come_back_in_canonical_form(api: KubeApi) -> None:
    requests = {"cpu": 0.5, "memory": "1024Mi", "ephemeral-storage": "1e3", "hugepages-2Mi": "0"}
    limits = {"hugepages-2Mi": "0", "cpu": "1000m", "memory": "1536Mi"}
    made = await api.create(api.pods, pod("p", resources={"requests": requests, "limits": limits}))
    found = made.body["spec"]["containers"][0]["resources"]
    assert found["requests"] == {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1e3", "hugepages-2Mi": "0"}
    assert found["limits"] == {"cpu": "1", "memory": "1536Mi", "hugepages-2Mi": "0"}


async def test_gated_pod_says_so(api: KubeApi) -> None:
    made = await api.create(api.pods, pod("p", schedulingGates=[{"name": "example.dev/wait"}]))
    [condition] = made.body["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    await api.patch(f"{api.pods}/p", [{"op": "remove", "path": "/spec/schedulingGates"}], JSON_PATCH)
    assert "schedulingGates" not in (await api.get(f"{api.pods}/p")).body["spec"]


async def test_priority_comes_from_the_priority_class(api: KubeApi) -> None:
    name = api.namespace
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    await api.create(path, {"metadata": {"name": name}, "value": 1000, "preemptionPolicy": "Never"})
    made = await api.create(api.pods, pod("p", priorityClassName=name))
    assert (made.body["spec"]["priority"], made.body["spec"]["preemptionPolicy"]) == (1000, "Never")
    refused = await api.create(api.pods, pod("q", priorityClassName="none"))
    assert refused.code == 403
    assert refused.message == 'pods "q" is forbidden: no PriorityClass with name none was found'


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": []}, "spec.containers"),
        ({"containers": [{"name": "c"}]}, "spec.containers[0].image"),
        ({"containers": [{"name": "C", "image": "a"}]}, "spec.containers[0].name"),
        ({"containers": [{"name": "c", "image": "a"}, {"name": "c", "image": "a"}]}, "spec.containers[1].name"),
        ({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}, "spec.containers[0].resources.requests"),
        ({"resources": {"requests": {"x.dev/gpu": "1"}}}, "spec.containers[0].resources.limits"),
        ({"restartPolicy": "Sometimes"}, "spec.restartPolicy"),
    ],
)
async def test_pod_that_cannot_be_is_invalid(api: KubeApi, spec: dict[str, object], field: str) -> None:
    answer = await api.create(api.pods, pod("p", **spec))
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert field in {cause["field"] for cause in answer.body["details"]["causes"]}


async def test_absurd_quantity_is_refused(api: KubeApi) -> None:
    answer = await api.create(api.pods, pod("p", resources={"requests": {"cpu": "lots"}}))
    assert answer.code == 400
    assert "quantities must match the regular expression" in answer.message


async def test_spec_of_a_pod_stands(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    answer = await api.patch(f"{api.pods}/p", {"spec": {"nodeName": "n"}})
    assert answer.code == 422
    assert "spec: Forbidden: pod updates may not change fields other than" in answer.message


# --- binding ---------------------------------------------------------------------------------------------------------


async def test_binding_assigns_the_pod(api: KubeApi) -> None:
    made = await api.create(api.pods, pod("p"))
    await api.patch(f"{api.pods}/p/status", {"status": {"nominatedNodeName": "other"}})
    body = binding("p", "n1", uid=made.body["metadata"]["uid"], annotations={"why": "because"})
    answer = await api.create(f"{api.pods}/p/binding", body)
    assert (answer.code, answer.body["kind"], answer.body["status"]) == (201, "Status", "Success")
    bound = (await api.get(f"{api.pods}/p")).body
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"why": "because"}
    assert bound["metadata"]["generation"] == 1
    assert "nominatedNodeName" not in bound["status"]
    [condition] = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


async def test_bound_pod_gets_its_nodes_topology(api: KubeApi) -> None:
    node = f"node-{api.namespace}"
    labels = {"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1", "other": "x"}
    await api.create("/api/v1/nodes", {"metadata": {"name": node, "labels": labels}})
    await api.create(api.pods, pod("p"))
    await api.create(f"{api.pods}/p/binding", binding("p", node))
    found = (await api.get(f"{api.pods}/p")).body["metadata"]["labels"]
    await api.delete(f"/api/v1/nodes/{node}")
    assert found == {"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1"}


async def test_second_binding_conflicts(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    await api.create(f"{api.pods}/p/binding", binding("p", "n1"))
    answer = await api.create(f"{api.pods}/p/binding", binding("p", "n2"))
    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert answer.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"'
    )


async def test_binding_of_another_uid_conflicts(api: KubeApi) -> None:
    made = await api.create(api.pods, pod("p"))
    answer = await api.create(f"{api.pods}/p/binding", binding("p", "n1", uid="other"))
    assert answer.code == 409
    uid = made.body["metadata"]["uid"]
    assert f"Precondition failed: UID in precondition: other, UID in object meta: {uid}" in answer.message


async def test_gated_pod_is_not_bound(api: KubeApi) -> None:
    await api.create(api.pods, pod("p", schedulingGates=[{"name": "example.dev/wait"}]))
    answer = await api.create(f"{api.pods}/p/binding", binding("p", "n1"))
    assert (answer.code, "pod p has non-empty .spec.schedulingGates" in answer.message) == (409, True)


async def test_pod_that_is_being_deleted_is_not_bound(api: KubeApi) -> None:
    await api.create(api.pods, pod("p", metadata={"finalizers": ["example.dev/hold"]}))
    await api.delete(f"{api.pods}/p")
    answer = await api.create(f"{api.pods}/p/binding", binding("p", "n1"))
    await api.patch(f"{api.pods}/p", {"metadata": {"finalizers": None}})
    assert answer.code == 409
    assert "pod p is being deleted, cannot be assigned to a host" in answer.message


async def test_absent_pod_is_not_bound(api: KubeApi) -> None:
    answer = await api.create(f"{api.pods}/none/binding", binding("none", "n1"))
    assert (answer.code, answer.body["reason"]) == (404, "NotFound")


async def test_binding_without_a_node_is_refused(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    answer = await api.create(f"{api.pods}/p/binding", binding("p", ""))
    assert (answer.code, answer.message) == (500, "target.name: Required value")


async def test_old_bindings_resource_binds_too(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    answer = await api.create(f"/api/v1/namespaces/{api.namespace}/bindings", binding("p", "n1"))
    assert answer.code == 201
    assert (await api.get(f"{api.pods}/p")).body["spec"]["nodeName"] == "n1"


# --- eviction --------------------------------------------------------------------------------------------------------


async def test_eviction_obeys_the_disruption_budget(api: KubeApi) -> None:
    for name in ("p", "q"):
        await api.create(api.pods, pod(name, metadata={"labels": {"app": "web"}}))
        await api.create(f"{api.pods}/{name}/binding", binding(name, "n1"))
        ready = {"type": "Ready", "status": "True"}
        await api.patch(f"{api.pods}/{name}/status", {"status": {"phase": "Running", "conditions": [ready]}})
    budgets = f"/apis/policy/v1/namespaces/{api.namespace}/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await api.create(budgets, {"metadata": {"name": "b"}, "spec": spec})
    counted = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}
    await api.patch(f"{budgets}/b/status", {"status": {**counted, "expectedPods": 2}})
    allowed = await api.create(f"{api.pods}/p/eviction", eviction("p"))
    assert (allowed.code, allowed.body["status"]) == (201, "Success")
    assert (await api.get(f"{budgets}/b")).body["status"]["disruptionsAllowed"] == 0
    evicted = (await api.get(f"{api.pods}/p")).body
    assert evicted["metadata"]["deletionTimestamp"]
    reasons = {condition["type"]: condition.get("reason") for condition in evicted["status"]["conditions"]}
    assert reasons["DisruptionTarget"] == "EvictionByEvictionAPI"
    refused = await api.create(f"{api.pods}/q/eviction", eviction("q"))
    assert (refused.code, refused.body["reason"]) == (429, "TooManyRequests")
    assert refused.message == "Cannot evict pod as it would violate the pod's disruption budget."
    assert refused.body["details"]["causes"][0]["reason"] == "DisruptionBudget"
    assert "deletionTimestamp" not in (await api.get(f"{api.pods}/q")).body["metadata"]


def eviction(name: str) -> dict[str, object]:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}


async def test_eviction_of_a_pod_without_a_budget_deletes_it(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    answer = await api.create(f"{api.pods}/p/eviction", eviction("p"))
    assert answer.code == 201
    assert (await api.get(f"{api.pods}/p")).code == 404


@pytest.mark.parametrize(
    "bounds", [{"minAvailable": "half"}, {"minAvailable": -1}, {"minAvailable": 1, "maxUnavailable": 1}]
)
async def test_budget_with_a_fault_is_invalid(api: KubeApi, bounds: dict[str, object]) -> None:
    budgets = f"/apis/policy/v1/namespaces/{api.namespace}/poddisruptionbudgets"
    answer = await api.create(budgets, {"metadata": {"name": "b"}, "spec": {**bounds, "selector": {}}})
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")


# --- events, leases, reviews -----------------------------------------------------------------------------------------


def event(api: KubeApi, **fields: object) -> dict[str, object]:
    return {
        "metadata": {"name": "e1", "namespace": api.namespace},
        "eventTime": "2026-11-30T07:00:00.123456Z",
        "reportingController": "example.dev/scheduler",
        "reportingInstance": "scheduler-1",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": "it went well",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": api.namespace, "uid": "u1"},
        **fields,
    }


async def test_modern_event_shows_as_a_core_event(api: KubeApi) -> None:
    made = await api.create(f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events", event(api))
    assert made.code == 201
    core = f"/api/v1/namespaces/{api.namespace}/events"
    listed = await api.get(core, fieldSelector="involvedObject.uid=u1,involvedObject.kind=Pod")
    [found] = listed.body["items"]
    assert (found["message"], found["reportingComponent"]) == ("it went well", "example.dev/scheduler")
    assert found["involvedObject"]["name"] == "p"
    assert found["eventTime"] == "2026-11-30T07:00:00.123456Z"


@pytest.mark.parametrize(
    "fields",
    [
        {"reportingController": ""},
        {"action": ""},
        {"type": "Odd"},
        {"note": "x" * 1025},
        {"reportingInstance": "x" * 129},
    ],
)
async def test_event_with_a_fault_is_invalid(api: KubeApi, fields: dict[str, object]) -> None:
    path = f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events"
    assert (await api.create(path, event(api, **fields))).code == 422


async def test_series_of_an_event_is_patched(api: KubeApi) -> None:
    path = f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events"
    await api.create(path, event(api))
    series = {"count": 2, "lastObservedTime": "2026-11-30T07:01:00.000000Z"}
    answer = await api.patch(f"{path}/e1", {"series": series}, STRATEGIC)
    assert (answer.code, answer.body["series"]["count"]) == (200, 2)


async def test_lease_is_taken_once(api: KubeApi) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "2026-11-30T07:00:00.000000Z"}
    made = await api.create(path, {"metadata": {"name": "lead"}, "spec": spec})
    assert made.body["spec"]["renewTime"] == "2026-11-30T07:00:00.000000Z"
    taken = await api.update(f"{path}/lead", made.body | {"spec": {**spec, "holderIdentity": "two"}})
    assert taken.code == 200
    late = await api.update(f"{path}/lead", made.body | {"spec": {**spec, "holderIdentity": "three"}})
    assert late.code == 409


async def test_admin_may_do_everything(api: KubeApi) -> None:
    attributes = {"verb": "create", "resource": "pods", "subresource": "binding"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    answer = await api.create(path, {**kind, "spec": {"resourceAttributes": attributes}})
    assert (answer.code, answer.body["status"]["allowed"]) == (201, True)


async def test_unknown_token_is_not_authenticated(api: KubeApi) -> None:
    kind = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    answer = await api.create("/apis/authentication.k8s.io/v1/tokenreviews", {**kind, "spec": {"token": "nonsense"}})
    assert answer.code == 201
    assert not answer.body["status"].get("authenticated")


# --- discovery, OpenAPI, tables --------------------------------------------------------------------------------------


async def test_aggregated_discovery_knows_custom_kinds(api: KubeApi, widgets: str) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    answer = await api.call("GET", "/apis", accept=accept)
    assert answer.body["kind"] == "APIGroupDiscoveryList"
    groups = {group["metadata"]["name"]: group for group in answer.body["items"]}
    [resource] = groups[widgets.split("/")[2]]["versions"][0]["resources"]
    assert (resource["resource"], resource["shortNames"], resource["scope"]) == ("widgets", ["wd"], "Cluster")
    assert [item["subresource"] for item in resource["subresources"]] == ["status"]


async def test_plain_discovery_lists_pods_and_their_subresources(api: KubeApi) -> None:
    names = {resource["name"] for resource in (await api.get("/api/v1")).body["resources"]}
    assert {"pods", "pods/binding", "pods/eviction", "pods/status", "nodes", "bindings"} <= names


async def test_openapi_describes_each_group(api: KubeApi) -> None:
    index = (await api.get("/openapi/v3")).body["paths"]
    assert {"api/v1", "apis/events.k8s.io/v1"} <= index.keys()
    document = (await api.get("/openapi/v3/api/v1")).body
    containers = document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert (containers["type"], containers["x-kubernetes-patch-merge-key"]) == ("array", "name")


async def test_pods_as_a_table(api: KubeApi) -> None:
    await api.create(api.pods, pod("p", nodeName="n1"))
    table = (await api.call("GET", api.pods, accept=TABLE)).body
    names = [column["name"] for column in table["columnDefinitions"]]
    assert names == ["Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates"]
    [row] = table["rows"]
    assert row["cells"][:4] == ["p", "0/1", "Pending", "0"]
    assert row["cells"][5:] == ["<none>", "n1", "<none>", "<none>"]
    assert row["object"]["kind"] == "PartialObjectMetadata"


async def test_custom_kinds_as_a_table(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "w", weight=3))
    table = (await api.call("GET", widgets, accept=TABLE)).body
    columns = [(column["name"], column["type"], column["priority"]) for column in table["columnDefinitions"]]
    assert columns == [("Name", "string", 0), ("Mode", "string", 0), ("Ready", "string", 0), ("Weight", "integer", 1)]
    [row] = table["rows"]
    assert row["cells"] == ["w", "Fast", None, 3] or row["cells"] == ["w", "Fast", "", 3]

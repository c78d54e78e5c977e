"""Create, read and update of objects. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

from sandbox.api_objects import config_map, pod
from sandbox.kube_api import KubeApi


async def test_created_object_has_system_metadata_and_is_readable(api: KubeApi) -> None:
    created = await api.create(api.configmaps, config_map("a", x="1"))
    assert created.code == 201
    meta = created.body["metadata"]
    assert meta["namespace"] == api.namespace
    assert meta["uid"]
    assert meta["creationTimestamp"].endswith("Z")
    assert (await api.get(f"{api.configmaps}/a")).body == created.body


async def test_second_create_with_the_same_name_conflicts(api: KubeApi) -> None:
    await api.create(api.configmaps, config_map("a"))
    again = await api.create(api.configmaps, config_map("a"))
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
    answer = await api.create("/api/v1/namespaces/no-such-namespace/configmaps", config_map("a"))
    assert (answer.code, answer.message) == (404, 'namespaces "no-such-namespace" not found')


async def test_generated_names_differ(api: KubeApi) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "created-"}}
    names = {(await api.create(api.configmaps, body)).body["metadata"]["name"] for _ in range(2)}
    assert len(names) == 2
    assert all(name.startswith("created-") for name in names)


async def test_bad_name_is_invalid(api: KubeApi) -> None:
    answer = await api.create(api.configmaps, config_map("Not_A_Name"))
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert answer.message.startswith(
        'ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name": a lowercase RFC 1123 subdomain'
    )
    assert answer.body["details"]["causes"][0]["field"] == "metadata.name"


async def test_body_that_is_not_json_is_a_bad_request(api: KubeApi) -> None:
    assert (await api.create(api.configmaps, b"{nonsense")).code == 400


async def test_body_of_another_kind_is_a_bad_request(api: KubeApi) -> None:
    assert (await api.create(api.configmaps, {**config_map("a"), "kind": "Secret"})).code == 400


async def test_value_of_a_wrong_type_is_a_bad_request(api: KubeApi) -> None:
    answer = await api.create(api.pods, pod("p", nodeSelector=["a"]))
    assert answer.code == 400
    assert answer.message.startswith('Pod in version "v1" cannot be handled as a Pod: ')


async def test_update_with_an_old_resource_version_conflicts(api: KubeApi) -> None:
    first = await api.create(api.configmaps, config_map("a", x="1"))
    await api.update(f"{api.configmaps}/a", config_map("a", x="2"))
    stale = await api.update(f"{api.configmaps}/a", first.body | {"data": {"x": "3"}})
    assert (stale.code, stale.body["reason"]) == (409, "Conflict")
    assert stale.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


async def test_update_without_a_change_keeps_the_resource_version(api: KubeApi) -> None:
    first = await api.create(api.configmaps, config_map("a", x="1"))
    again = await api.update(f"{api.configmaps}/a", first.body)
    assert again.revision == first.revision


async def test_update_conflicts_if_the_uid_differs(api: KubeApi) -> None:
    first = await api.create(api.configmaps, config_map("a"))
    body = config_map("a", x="1")
    body["metadata"] = {"name": "a", "uid": "00000000-0000-0000-0000-000000000000"}
    answer = await api.update(f"{api.configmaps}/a", body)
    assert answer.code == 409
    assert first.body["metadata"]["uid"] in answer.message


async def test_dry_run_changes_nothing(api: KubeApi) -> None:
    assert (await api.create(api.configmaps, config_map("a"), dryRun="All")).code == 201
    assert (await api.get(f"{api.configmaps}/a")).code == 404

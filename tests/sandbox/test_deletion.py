"""Deletion of objects. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

from sandbox.api_objects import binding, config_map, pod
from sandbox.kube_api import KubeApi, until


async def test_delete_returns_a_status_with_the_uid(api: KubeApi) -> None:
    created = await api.create(api.configmaps, config_map("a"))
    gone = await api.delete(f"{api.configmaps}/a")
    assert gone.code == 200
    assert gone.body["status"] == "Success"
    assert gone.body["details"]["uid"] == created.body["metadata"]["uid"]
    assert (await api.get(f"{api.configmaps}/a")).code == 404


async def test_delete_conflicts_if_the_uid_differs(api: KubeApi) -> None:
    await api.create(api.configmaps, config_map("a"))
    answer = await api.delete(f"{api.configmaps}/a", {"preconditions": {"uid": "other"}})
    assert answer.code == 409
    assert answer.message.startswith(
        'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the UID in '
    )


async def test_object_exists_until_its_finalizers_are_removed(api: KubeApi) -> None:
    body = config_map("a")
    body["metadata"] = {"name": "a", "finalizers": ["example.dev/hold"]}
    await api.create(api.configmaps, body)
    await api.delete(f"{api.configmaps}/a")
    held = await api.get(f"{api.configmaps}/a")
    assert held.body["metadata"]["deletionTimestamp"]
    await api.patch(f"{api.configmaps}/a", {"metadata": {"finalizers": None}})
    assert (await api.get(f"{api.configmaps}/a")).code == 404


async def test_unbound_pod_is_deleted_at_once(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    gone = await api.delete(f"{api.pods}/p")
    assert (gone.code, gone.body["kind"]) == (200, "Pod")
    assert (await api.get(f"{api.pods}/p")).code == 404


async def test_bound_pod_exists_until_a_deletion_with_grace_period_0(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    await api.create(f"{api.pods}/p/binding", binding("p", "some-node"))

    async def is_bound_in_the_watch_cache() -> bool:
        [found] = (await api.get(api.pods, resourceVersion="0")).body["items"]
        return "nodeName" in found["spec"]

    # kube-apiserver reads the pod from its watch cache to decide on the grace period. The cache may be out of date.
    await until(is_bound_in_the_watch_cache)
    assert (await api.delete(f"{api.pods}/p", gracePeriodSeconds="7")).code == 200
    meta = (await api.get(f"{api.pods}/p")).body["metadata"]
    assert (meta["deletionGracePeriodSeconds"], bool(meta["deletionTimestamp"])) == (7, True)
    await api.delete(f"{api.pods}/p", gracePeriodSeconds="0")
    assert (await api.get(f"{api.pods}/p")).code == 404


async def test_deletion_of_a_collection_deletes_only_objects_that_match_the_selector(api: KubeApi) -> None:
    for name, color in (("a", "red"), ("b", "blue")):
        body = config_map(name)
        body["metadata"] = {"name": name, "labels": {"color": color}}
        await api.create(api.configmaps, body)
    await api.delete(api.configmaps, labelSelector="color=red")
    assert await api.names(api.configmaps, labelSelector="color") == ["b"]

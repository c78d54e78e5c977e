"""Watches. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

from sandbox.api_objects import binding, config_map, pod
from sandbox.kube_api import KubeApi


async def test_watch_replays_the_changes_after_a_revision(api: KubeApi) -> None:
    await api.create(api.configmaps, config_map("before"))
    since = (await api.get(api.configmaps)).revision
    await api.create(api.configmaps, config_map("p"))
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


async def test_watch_sends_modified_before_deleted_for_a_pod(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    since = (await api.get(api.pods)).revision
    await api.delete(f"{api.pods}/p")
    events = await api.watch(api.pods, 2, resourceVersion=since)
    assert [(kind, "deletionTimestamp" in obj["metadata"]) for kind, obj in events] == [
        ("MODIFIED", True),
        ("DELETED", True),
    ]


async def test_watch_without_a_revision_starts_with_the_current_objects(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    events = await api.watch(api.pods, 1)
    assert [(kind, obj["metadata"]["name"]) for kind, obj in events] == [("ADDED", "p")]


async def test_watch_sends_deleted_for_an_object_that_no_longer_matches(api: KubeApi) -> None:
    since = (await api.get(api.pods)).revision
    await api.create(api.pods, pod("p", metadata={"labels": {"color": "red"}}))
    await api.patch(f"{api.pods}/p", {"metadata": {"labels": {"color": "blue"}}})
    await api.patch(f"{api.pods}/p", {"metadata": {"labels": {"color": "red"}}})
    events = await api.watch(api.pods, 3, resourceVersion=since, labelSelector="color=red")
    assert [kind for kind, _ in events] == ["ADDED", "DELETED", "ADDED"]


async def test_watch_of_the_pods_on_a_node_sends_added_for_a_newly_bound_pod(api: KubeApi) -> None:
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

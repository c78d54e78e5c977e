"""Lists: selectors and pages. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

import pytest

from sandbox.api_objects import pod
from sandbox.kube_api import KubeApi


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
async def test_label_selector_picks_matching_pods(api: KubeApi, selector: str, expected: list[str]) -> None:
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
async def test_field_selector_picks_matching_pods(api: KubeApi, selector: str, expected: list[str]) -> None:
    await api.create(api.pods, pod("bound", nodeName="n1"))
    await api.create(api.pods, pod("free", schedulerName="mine"))
    assert await api.names(api.pods, fieldSelector=selector) == expected


@pytest.mark.parametrize("query", [{"labelSelector": "a=(b"}, {"fieldSelector": "spec.containers=x"}])
async def test_bad_selector_is_a_bad_request(api: KubeApi, query: dict[str, str]) -> None:
    assert (await api.get(api.pods, **query)).code == 400
    assert (await api.get(api.pods, **query, watch="true")).code == 400


async def test_pages_of_a_list_have_one_revision(api: KubeApi) -> None:
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


async def test_bad_continue_token_is_a_bad_request(api: KubeApi) -> None:
    assert (await api.get(api.pods, limit="2", **{"continue": "nonsense"})).code == 400


async def test_list_returns_the_objects_of_an_exact_past_revision(api: KubeApi) -> None:
    await api.create(api.pods, pod("a"))
    then = (await api.get(api.pods)).revision
    await api.create(api.pods, pod("b"))
    assert await api.names(api.pods, resourceVersion=then, resourceVersionMatch="Exact") == ["a"]
    assert await api.names(api.pods) == ["a", "b"]

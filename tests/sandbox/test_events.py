"""Events of both versions. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

import pytest

from sandbox.api_objects import event
from sandbox.kube_api import STRATEGIC, KubeApi


async def test_event_of_the_events_group_is_readable_as_a_core_event(api: KubeApi) -> None:
    created = await api.create(f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events", event(api.namespace))
    assert created.code == 201
    core = f"/api/v1/namespaces/{api.namespace}/events"
    listed = await api.get(core, fieldSelector="involvedObject.uid=u1,involvedObject.kind=Pod")
    [found] = listed.body["items"]
    assert (found["message"], found["reportingComponent"]) == ("the pod was assigned", "example.dev/scheduler")
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
async def test_event_with_an_invalid_field_is_refused(api: KubeApi, fields: dict[str, object]) -> None:
    path = f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events"
    assert (await api.create(path, event(api.namespace, **fields))).code == 422


async def test_patch_sets_the_series_of_an_event(api: KubeApi) -> None:
    path = f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events"
    await api.create(path, event(api.namespace))
    series = {"count": 2, "lastObservedTime": "2026-11-30T07:01:00.000000Z"}
    answer = await api.patch(f"{path}/e1", {"series": series}, STRATEGIC)
    assert (answer.code, answer.body["series"]["count"]) == (200, 2)

"""Eviction of pods. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

import pytest

from sandbox.api_objects import binding, eviction, pod
from sandbox.kube_api import KubeApi


async def test_eviction_respects_the_disruption_budget(api: KubeApi) -> None:
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


async def test_eviction_deletes_a_pod_without_a_budget(api: KubeApi) -> None:
    await api.create(api.pods, pod("p"))
    answer = await api.create(f"{api.pods}/p/eviction", eviction("p"))
    assert answer.code == 201
    assert (await api.get(f"{api.pods}/p")).code == 404


@pytest.mark.parametrize(
    "bounds", [{"minAvailable": "half"}, {"minAvailable": -1}, {"minAvailable": 1, "maxUnavailable": 1}]
)
async def test_budget_with_invalid_bounds_is_refused(api: KubeApi, bounds: dict[str, object]) -> None:
    budgets = f"/apis/policy/v1/namespaces/{api.namespace}/poddisruptionbudgets"
    answer = await api.create(budgets, {"metadata": {"name": "b"}, "spec": {**bounds, "selector": {}}})
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")

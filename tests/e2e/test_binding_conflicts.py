"""Bindings whose answer is lost, and bound pods that a kubelet refuses, on a real API server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from e2e.case import PODS, Case
from e2e.clusters import Cluster, Manifest, as_text, eventually
from extenders.server import FakeExtender, Misbehaviour, hang_up, threaded

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]

ROOM = {"cpu": "4", "memory": "16Gi", "pods": "110"}
SOON = 60.0
"""The limit in seconds for steps that take one or two backoffs."""


@pytest.fixture
def case(case_with_operator: Case) -> Case:
    """A case with one node, `a`."""
    case_with_operator.cluster.apply(case_with_operator.node("a", allocatable=ROOM))
    return case_with_operator


def on_own_node(case: Case, suffix: str, **spec: Any) -> Manifest:
    return case.pod(suffix, nodeSelector=case.labels(), **spec)


def binding_and_hanging_up(cluster: Cluster) -> Misbehaviour:
    """Bind the pod, then close the connection without an answer."""

    async def handle(request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        name = asked["PodName"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "uid": asked["PodUID"]},
            "target": {"kind": "Node", "name": asked["Node"]},
        }
        cluster.kubectl("create", f"--raw={PODS}/{name}/binding", "--filename=-", text=as_text(binding))
        return await hang_up(request)

    return handle


def test_a_pod_is_scheduled_if_its_extender_binds_the_pod_and_sends_no_answer(case: Case) -> None:
    with threaded(FakeExtender(misbehave=binding_and_hanging_up(case.cluster))) as extender:
        case.make_live(extenders=[{"urlPrefix": extender.url, "bindVerb": "bind"}])
        case.cluster.apply(on_own_node(case, "p"))
        assert case.wait_until_bound("p", SOON) == f"{case.name}-a"
        assert case.wait_for_event("p", "Scheduled", seconds=SOON)

    assert case.notes("p", "FailedScheduling") == []
    assert case.pod_conditions("p")["PodScheduled"]["status"] == "True"


def test_a_pod_is_tried_again_if_an_extender_only_claims_to_have_bound_the_pod(case: Case) -> None:
    with threaded(FakeExtender()) as extender:
        case.make_live(extenders=[{"urlPrefix": extender.url, "bindVerb": "bind"}])
        case.cluster.apply(on_own_node(case, "p"))
        note = case.wait_for_event("p", "FailedScheduling", seconds=SOON)
        assert note.endswith("but the pod has no node")
        extender.misbehave = binding_and_hanging_up(case.cluster)
        assert case.wait_until_bound("p", SOON) == f"{case.name}-a"


def test_a_node_whose_kubelet_refuses_a_pod_gets_no_pods_for_some_time(case: Case) -> None:
    case.make_live()
    case.cluster.apply(on_own_node(case, "refused", requests={"cpu": "3"}))
    assert case.wait_until_bound("refused") == f"{case.name}-a"
    status = {"status": {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected"}}
    patch = f"--patch={json.dumps(status)}"
    case.cluster.kubectl("patch", "pod", f"{case.name}-refused", "--subresource=status", "--type=merge", patch)
    note = case.wait_for_event("refused", "KubeletRefused", seconds=SOON)
    assert note.startswith(f"The kubelet of node {case.name}-a refused the pod (OutOfcpu)")

    case.cluster.apply(case.node("b", allocatable=ROOM))
    case.cluster.apply(on_own_node(case, "next", requests={"cpu": "3"}))
    eventually(lambda: case.node_of("next") == f"{case.name}-b", SOON)

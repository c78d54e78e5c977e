"""The extender client with a real API server and an extender in Go, which is built from upstream's own types."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from builders import DECODER
from controlplane.launcher import ControlPlane
from controlplane.objects import NODES, PODS, api_session, create_objects, pause_pod, simulated_node
from extenders.calling import Caller, calling
from moorage.engine.candidate import Candidate
from moorage.model.node import Node
from moorage.model.pods.pod import Pod

pytestmark = [pytest.mark.controlplane, pytest.mark.parametrize("names_only", [True, False])]

FITS, SCORE = "extender.moorage.dev/fits", "extender.moorage.dev/score"


@pytest.fixture
async def caller(empty_control_plane: ControlPlane, *, names_only: bool) -> AsyncIterator[Caller]:
    """A caller of the Go extender, on a cluster with one pod and three nodes, two of which the extender accepts."""
    labels = {"unfit": ("false", "10"), "good": ("true", "2"), "best": ("true", "9")}
    nodes = [simulated_node(name, labels={FITS: fits, SCORE: score}) for name, (fits, score) in labels.items()]
    await create_objects(empty_control_plane, NODES, nodes)
    await create_objects(empty_control_plane, PODS, [pause_pod("picky")])
    verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "bindVerb": "bind", "preemptVerb": "preempt"}
    with await asyncio.to_thread(empty_control_plane.start_extender) as extender:
        body = {"urlPrefix": extender.endpoint.url, "nodeCacheCapable": names_only, "weight": 3, **verbs}
        async with calling(body) as made:
            yield made


async def listed(control_plane: ControlPlane, path: str) -> Mapping[str, bytes]:
    async with api_session(control_plane) as session, session.get(path) as response:
        items: list[dict[str, Any]] = (await response.json())["items"]
    return {item["metadata"]["name"]: json.dumps(item).encode() for item in items}


async def listed_nodes(control_plane: ControlPlane) -> dict[str, Node]:
    nodes = await listed(control_plane, NODES)
    return {name: DECODER.decode_node(raw, keep_raw=True) for name, raw in nodes.items()}


async def listed_pods(control_plane: ControlPlane) -> dict[str, Pod]:
    return {
        name: replace(DECODER.decode_pod(raw), raw=raw) for name, raw in (await listed(control_plane, PODS)).items()
    }


async def test_the_go_extender_filters_scores_and_binds(empty_control_plane: ControlPlane, caller: Caller) -> None:
    picky = (await listed_pods(empty_control_plane))["picky"]

    answer = await caller.extenders.filter_and_prioritize(picky, await listed_nodes(empty_control_plane))
    is_bound = await caller.extenders.bind(picky, "best")

    assert answer.error is None
    assert answer.node_names == {"good", "best"}
    assert answer.unresolvable == {"unfit": f"node's label {FITS} is not true"}
    assert answer.scores == {"good": 60, "best": 270}
    assert is_bound
    assert (await listed_pods(empty_control_plane))["picky"].node_name == "best"


async def test_the_go_extender_removes_preemption_candidates(empty_control_plane: ControlPlane, caller: Caller) -> None:
    await create_objects(empty_control_plane, PODS, [pause_pod(f"on-{n}", nodeName=n) for n in ("unfit", "good")])
    objects, pods = await listed(empty_control_plane, PODS), await listed_pods(empty_control_plane)
    caller.cluster.objects = {pod.uid: objects[name] for name, pod in pods.items()}
    candidates = [Candidate(name, (pods[f"on-{name}"],), 1) for name in ("unfit", "good")]

    left = await caller.extenders.preempt(
        pods["picky"], candidates, lambda node, _: Candidate(node, (pods[f"on-{node}"],), 1)
    )

    assert left == candidates[1:]

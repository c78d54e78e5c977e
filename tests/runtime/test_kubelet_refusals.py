"""Pods that a kubelet refuses right after they were bound."""

from typing import Any

import pytest

from builders import pod
from fakes import Sent, running, settle
from moorage.engine.messages import NodeRefused
from moorage.errors import ApiUnreachable, NotFound
from moorage.framework.cluster_events import deleted, updated
from moorage.model.pods.pod import Pod
from moorage.runtime.kubelet_refusals import MAX_WATCHED
from runtime_parts import GOLD, RuntimeParts, bind_of
from scrape import sample

RAN = {"status": {"startTime": "2026-01-01T00:00:00Z"}}


def failed(reason: str, uid: str = "default/p", phase: str = "Failed") -> dict[str, Any]:
    return {"metadata": {"uid": uid}, "status": {"phase": phase, "reason": reason}}


class Scene(RuntimeParts):
    """A bound pod that the informer has lost, and the API server's answer to a read of the pod."""

    def __init__(self, answer: Any) -> None:
        def respond(_: Sent) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        super().__init__(respond)
        self.bind = bind_of(pod("p", node="n1"))
        self.kubelet_refusals.add(self.bind)

    async def lose(self, *gone: Pod) -> None:
        async with running(self.kubelet_refusals):
            self.kubelet_refusals.observe([deleted("Pod", each) for each in gone])
            await settle()


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        ("OutOfcpu", "OutOfcpu"),
        ("OutOfmemory", "OutOfmemory"),
        ("OutOfpods", "OutOfpods"),
        ("OutOfephemeral-storage", "OutOfephemeral-storage"),
        ("OutOfexample.com/gpu", "OutOfother"),
    ],
)
async def test_a_pod_that_its_kubelet_refused_is_counted_and_reported(reason: str, label: str) -> None:
    scene = Scene(failed(reason))
    await scene.lose(pod("p", node="n1"))
    assert scene.posted == [NodeRefused(scene.bind.pod, "n1", GOLD)]
    assert sample(scene.metrics, "moorage_kubelet_refusals_total", reason=label) == 1
    (note,) = scene.recorder.notes
    assert note == f"The kubelet of node n1 refused the pod ({reason}); other nodes are preferred for a while"


@pytest.mark.parametrize(
    "answer",
    [
        failed("Evicted"),
        failed("NodeAffinity"),
        failed(""),
        failed("OutOfcpu", phase="Pending"),
        failed("OutOfcpu", uid="another"),
        {"metadata": {"uid": "default/p"}},
        NotFound(404, "NotFound", "gone"),
        ApiUnreachable("down"),
    ],
)
async def test_pods_that_disappear_for_other_reasons_are_not_refusals(answer: Any) -> None:
    scene = Scene(answer)
    await scene.lose(pod("p", node="n1"))
    assert scene.sent == ["GET p"]
    assert scene.posted == []


async def test_only_pods_that_this_process_bound_and_that_never_started_are_read() -> None:
    scene = Scene(failed("OutOfcpu"))
    await scene.lose(pod("p", node="n1", **RAN), pod("foreign", node="n1"))
    scene.kubelet_refusals.observe([updated("Pod", pod("p"), pod("p", node="n1"))])
    assert scene.sent == []


async def test_the_number_of_remembered_pods_is_limited() -> None:
    scene = Scene(failed("OutOfcpu"))
    for number in range(MAX_WATCHED):
        scene.kubelet_refusals.add(bind_of(pod(f"p{number}", node="n1")))
    await scene.lose(pod("p", node="n1"))
    assert scene.sent == []

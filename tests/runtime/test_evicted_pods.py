"""Evicted pods that do not terminate."""

from builders import pod
from moorage.engine.messages import TryAgain
from moorage.runtime.preemption.evicted_pods import SPARE_SECONDS
from runtime.preemption_scene import PREEMPTOR, preempting, victims


async def test_a_pod_that_exceeds_its_grace_period_is_reported_once_and_the_preemptor_is_tried_again() -> None:
    async with preempting(lambda _: {"metadata": {"deletionGracePeriodSeconds": 10}}) as at:
        at.pods["default/a"] = pod("a", node="n1")
        at.submit(victims("a", "b"))
        await at.wait(10 + SPARE_SECONDS - 1)
        assert at.posted == []
        await at.wait(10)
        await at.wait(1000)

        assert at.posted == [TryAgain(PREEMPTOR.uid)]
    assert at.events() == [("Preempted", "a"), ("Preempted", "b"), ("PreemptionFailed", "high")]
    assert at.recorder.notes[-1] == (
        "Pod default/a was evicted from node n1 40 s ago and still exists; check its finalizers and the node's kubelet"
    )


async def test_a_pod_that_terminates_in_time_is_not_reported() -> None:
    async with preempting() as at:
        at.pods["default/a"] = pod("a", node="n1")
        at.submit(victims("a"))
        await at.wait(SPARE_SECONDS - 1)
        del at.pods["default/a"]
        await at.wait(1000)

    assert len(at.evicted_pods) == 0
    assert at.events() == [("Preempted", "a")]

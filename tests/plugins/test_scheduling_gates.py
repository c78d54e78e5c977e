from builders import pod
from moorage.framework.cluster_events import updated
from moorage.framework.status import Code
from moorage.plugins.upstream.scheduling_gates import SchedulingGates

GATED = {"schedulingGates": [{"name": "quota"}, {"name": "image-scan"}]}


def test_pod_without_gates_enters_the_queue() -> None:
    assert SchedulingGates().pre_enqueue(pod()).is_success


def test_pod_with_gates_is_rejected_with_the_names_of_its_gates() -> None:
    status = SchedulingGates().pre_enqueue(pod(spec=GATED))

    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.reasons == ("waiting for scheduling gates: [quota image-scan]",)


def test_pod_is_queued_only_if_all_its_gates_are_removed() -> None:
    gated, ungated = pod(spec=GATED), pod()
    fewer = pod(spec={"schedulingGates": [{"name": "quota"}]})
    plugin = SchedulingGates()

    assert plugin.queueing_hint(gated, updated("Pod", gated, ungated))
    assert not plugin.queueing_hint(gated, updated("Pod", gated, fewer))
    assert not plugin.queueing_hint(gated, updated("Pod", pod("other", spec=GATED), pod("other")))

"""The engine calls its recorder with upstream's names of extension points, queues and events."""

from __future__ import annotations

from builders import node, pod
from engine.doubles import SCHEDULER, ListRecorder, NameFilter, profile
from moorage.engine.messages import BindingFinished
from moorage.engine.outcomes import Bind, Unschedulable
from moorage.engine.recorder import Recorder
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added
from moorage.framework.profile import ProfileSpec
from moorage.framework.registry import Registry
from moorage.framework.status import Code

PROFILE = Registry.discover().build_profile(ProfileSpec(scheduler_name=SCHEDULER))


def scheduler_with(recorder: Recorder, nodes: int) -> Scheduler:
    scheduler = Scheduler(1, (PROFILE,), recorder)
    for number in range(nodes):
        scheduler.apply(added("Node", node(f"n{number}", cpu="1")), 0.0)
    return scheduler


def test_recorder_gets_the_extension_points_of_kube_scheduler_for_a_pod_that_fits() -> None:
    recorder = ListRecorder()
    scheduler = scheduler_with(recorder, nodes=2)
    scheduler.apply(added("Pod", pod("p", cpu="100m")), 0.0)

    assert isinstance(scheduler.schedule_one(1.0), Bind)

    points = ("PreEnqueue", "PreFilter", "Filter", "PreScore", "Score", "Reserve")
    assert recorder.points == [(point, "Success") for point in points]
    assert {("NodeResourcesFit", "PreFilter"), ("NodeResourcesFit", "Filter"), ("NodeResourcesFit", "Score")} <= (
        recorder.plugins
    )
    assert {"NodeResourcesFit", "NodeUnschedulable", "TaintToleration"} <= recorder.evaluated["Filter"]
    assert {"NodeResourcesFit", "NodeResourcesBalancedAllocation"} <= recorder.evaluated["Score"]


def test_recorder_gets_no_calls_of_plugins_if_samples_plugins_is_false() -> None:
    recorder = ListRecorder(samples_plugins=False)
    scheduler = scheduler_with(recorder, nodes=2)
    scheduler.apply(added("Pod", pod("p")), 0.0)
    scheduler.schedule_one(1.0)

    assert recorder.plugins == set()
    assert "NodeResourcesFit" in recorder.evaluated["Filter"]


def test_recorder_gets_post_filter_last_for_a_pod_that_fits_nowhere() -> None:
    recorder = ListRecorder()
    scheduler = scheduler_with(recorder, nodes=1)
    scheduler.apply(added("Pod", pod("p", cpu="9")), 0.0)

    assert isinstance(scheduler.schedule_one(1.0), Unschedulable)

    assert [point for point, _ in recorder.points] == ["PreEnqueue", "PreFilter", "Filter", "PostFilter"]
    assert recorder.points[-1] == ("PostFilter", "Unschedulable")
    assert ("DefaultPreemption", "PostFilter") in recorder.plugins


def test_recorder_counts_incoming_pods_by_queue_and_upstreams_event_name() -> None:
    recorder = ListRecorder()
    scheduler = scheduler_with(recorder, nodes=1)
    scheduler.apply(added("Pod", pod("p", cpu="2")), 0.0)
    scheduler.apply(added("Pod", pod("gated", spec={"schedulingGates": [{"name": "wait"}]})), 0.0)
    scheduler.schedule_one(1.0)
    scheduler.apply(added("Node", node("large", cpu="4")), 1.0)
    scheduler.tick(5.0)

    assert recorder.incoming == [
        ("active", "UnschedulablePodAdd"),
        ("unschedulable", "UnschedulablePodAdd"),
        ("unschedulable", "ScheduleAttemptFailure"),
        ("backoff", "NodeAdd"),
        ("active", "BackoffComplete"),
    ]
    assert recorder.hints == [("NodeResourcesFit", "NodeAdd", True)]


def test_bind_is_not_marked_as_flushed_if_an_event_requeued_the_pod_last() -> None:
    recorder = ListRecorder()
    scheduler = scheduler_with(recorder, nodes=1)
    scheduler.apply(added("Pod", pod("p", spec={"nodeSelector": {"disk": "ssd"}})), 0.0)
    assert isinstance(scheduler.schedule_one(1.0), Unschedulable)
    assert recorder.incoming[-1] == ("unschedulable", "ScheduleAttemptFailure")
    scheduler.tick(400.0)

    assert recorder.incoming[-1] == ("active", "UnschedulableTimeout")
    assert isinstance(scheduler.schedule_one(400.0), Unschedulable)
    scheduler.apply(added("Node", node("ssd", labels={"disk": "ssd"})), 401.0)
    outcome = scheduler.schedule_one(500.0)
    assert isinstance(outcome, Bind)
    assert not outcome.was_flushed
    scheduler.apply(BindingFinished(outcome.pod, outcome.node_name), 500.0)


def test_bind_is_marked_as_flushed_if_no_event_requeued_the_pod() -> None:
    """The plugin's queueing hint misses the new node, so the pod is tried again only after its longest waiting time."""
    blind = profile(filter=(NameFilter(rejected={"n1": Code.UNSCHEDULABLE}),))
    scheduler = Scheduler(1, (blind,))
    scheduler.apply(added("Node", node("n1")), 0.0)
    scheduler.apply(added("Pod", pod("p")), 0.0)
    assert isinstance(scheduler.schedule_one(1.0), Unschedulable)
    scheduler.apply(added("Node", node("n2")), 2.0)
    assert scheduler.schedule_one(10.0) is None
    scheduler.tick(400.0)
    outcome = scheduler.schedule_one(400.0)
    assert isinstance(outcome, Bind)
    assert outcome.was_flushed

"""The check of the chosen node directly before the binding."""

from typing import Any

import pytest

from builders import node, pod
from engine.doubles import SCHEDULER, profile
from engine.scheduler_driver import add_objects, finish_binding, kube_profile, next_outcome, scheduler_of
from moorage.engine.outcomes import Bind
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import deleted, updated
from moorage.model.node import Node
from moorage.model.pods.pod import Pod

PORT = {"containers": [{"name": "c", "ports": [{"hostPort": 80, "containerPort": 80, "protocol": "TCP"}]}]}
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


def decided(each: Pod, *objects: Node | Pod, **settings: Any) -> tuple[Scheduler, Bind]:
    scheduler = scheduler_of(*objects, each, profiles=(kube_profile(SCHEDULER, **settings),))
    return scheduler, next_outcome(scheduler, Bind)


def test_node_that_did_not_change_has_room_for_the_pod() -> None:
    scheduler, bind = decided(pod("p", cpu="2"), node("n1", cpu="2"))
    assert scheduler.lost_room(bind) == ""


@pytest.mark.parametrize(
    ("foreign", "reason"),
    [
        (pod("f", node="n1", cpu="1500m"), "Insufficient cpu"),
        (pod("f", node="n1", memory="10Gi"), "Insufficient memory"),
        (pod("f", node="n1", cpu="1500m", memory="10Gi"), "Insufficient cpu, Insufficient memory"),
        (pod("f", node="n1", cpu="500m"), ""),
    ],
)
def test_pod_of_another_scheduler_takes_the_room(foreign: Pod, reason: str) -> None:
    scheduler, bind = decided(pod("p", cpu="1", memory="2Gi"), node("n1", cpu="2", memory="10Gi"))
    add_objects(scheduler, foreign)
    assert scheduler.lost_room(bind) == reason


def test_node_has_no_room_if_it_has_too_many_pods_or_the_host_port_is_in_use() -> None:
    scheduler, bind = decided(pod("p"), node("n1", pods="1"))
    add_objects(scheduler, pod("f", node="n1"))
    assert scheduler.lost_room(bind) == "Too many pods"

    scheduler, bind = decided(pod("p", spec=PORT), node("n1"))
    assert scheduler.lost_room(bind) == ""
    add_objects(scheduler, pod("f", node="n1", spec=PORT))
    assert scheduler.lost_room(bind) == "node(s) didn't have free ports for the requested pod ports"


def test_node_has_no_room_if_it_has_a_new_taint_that_the_pod_does_not_tolerate() -> None:
    for tolerations, reason in [([], "node(s) had untolerated taint(s)"), ([{"operator": "Exists"}], "")]:
        scheduler, bind = decided(pod("p", tolerations=tolerations), node("n1"))
        scheduler.apply(updated("Node", node("n1"), node("n1", taints=[TAINT])), 0.0)
        assert scheduler.lost_room(bind) == reason


def test_node_that_shrinks_has_no_room_and_a_deleted_node_is_not_checked() -> None:
    scheduler, bind = decided(pod("p", cpu="2"), node("n1", cpu="2"))
    scheduler.apply(updated("Node", node("n1", cpu="2"), node("n1", cpu="1")), 0.0)
    assert scheduler.lost_room(bind) == "Insufficient cpu"
    scheduler.apply(deleted("Node", node("n1", cpu="1")), 0.0)
    assert scheduler.lost_room(bind) == ""


def test_resources_are_not_checked_if_the_profile_does_not_filter_by_resources() -> None:
    lenient = profile()
    scheduler = scheduler_of(node("n1", cpu="2"), pod("p", cpu="2"), profiles=(lenient,))
    bind = next_outcome(scheduler, Bind)
    add_objects(scheduler, pod("f", node="n1", cpu="2"))
    assert scheduler.lost_room(bind) == ""


def test_overcommitted_node_has_room_if_the_pod_does_not_request_the_resource() -> None:
    scheduler, bind = decided(pod("p", memory="1Gi"), node("n1", cpu="2"))
    add_objects(scheduler, pod("f", node="n1", cpu="3"))
    assert scheduler.lost_room(bind) == ""


def test_pod_is_bound_to_another_node_after_its_first_node_lost_the_room() -> None:
    scheduler, bind = decided(pod("p", cpu="2"), node("n1", cpu="2"))
    add_objects(scheduler, pod("f", node="n1", cpu="2"), node("n2", cpu="2"))
    finish_binding(scheduler, bind, scheduler.lost_room(bind))
    scheduler.tick(2.0)
    assert next_outcome(scheduler, Bind, 2.0).node_name == "n2"

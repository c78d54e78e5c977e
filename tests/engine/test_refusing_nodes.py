"""A node rests after its kubelet refused a pod: for some time the scheduler binds no pods to the node."""

from builders import node, pod
from engine.doubles import SCHEDULER
from engine.scheduler_driver import add_objects, finish_binding, kube_profile, next_outcome, scheduler_of
from moorage.engine.messages import NodeRefused
from moorage.engine.outcomes import Bind, SchedulingFailed, Unschedulable
from moorage.engine.refusing_nodes import FIRST_REST_SECONDS, LONGEST_REST_SECONDS, RefusingNodes
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import deleted


def refused_on_n1(*others: str) -> Scheduler:
    """Return a scheduler after the kubelet of n1 refused a pod of 2 CPUs, for which n1 has room."""
    nodes = [node(name, cpu="2") for name in ("n1", *others)]
    scheduler = scheduler_of(nodes[0], pod("refused", cpu="2"), profiles=(kube_profile(SCHEDULER),))
    bind = next_outcome(scheduler, Bind)
    finish_binding(scheduler, bind)
    scheduler.apply(deleted("Pod", bind.pod), 0.0)
    add_objects(scheduler, *nodes[1:])
    scheduler.apply(NodeRefused(bind.pod, "n1", bind.profile), 0.0)
    return scheduler


def test_pod_is_bound_to_another_node_while_a_node_rests() -> None:
    scheduler = refused_on_n1("n2")
    add_objects(scheduler, pod("a", cpu="2"))
    assert next_outcome(scheduler, Bind).node_name == "n2"


def test_pod_that_fits_only_on_a_resting_node_waits_and_is_not_unschedulable() -> None:
    scheduler = refused_on_n1()
    add_objects(scheduler, pod("a", cpu="2"))
    assert "their kubelets refused pods" in next_outcome(scheduler, SchedulingFailed).message
    scheduler.tick(FIRST_REST_SECONDS)
    assert next_outcome(scheduler, Bind, FIRST_REST_SECONDS).node_name == "n1"


def test_resting_node_does_not_change_the_message_of_a_pod_that_fits_nowhere() -> None:
    scheduler = refused_on_n1("n2")
    add_objects(scheduler, pod("large", cpu="3"))
    message = next_outcome(scheduler, Unschedulable).message
    assert message.startswith("0/2 nodes are available: 2 Insufficient cpu.")


def test_pod_is_bound_to_another_node_while_its_nominated_node_rests() -> None:
    scheduler = refused_on_n1("n2")
    add_objects(scheduler, pod("a", cpu="2", status={"nominatedNodeName": "n1"}))
    assert next_outcome(scheduler, Bind).node_name == "n2"


def test_node_does_not_rest_if_the_cache_shows_no_room_for_the_refused_pod() -> None:
    scheduler = scheduler_of(node("n1", cpu="2"), pod("f", node="n1", cpu="1"), profiles=(kube_profile(SCHEDULER),))
    scheduler.apply(NodeRefused(pod("refused", node="n1", cpu="2"), "n1", kube_profile(SCHEDULER)), 0.0)
    add_objects(scheduler, pod("small", cpu="1"))
    assert next_outcome(scheduler, Bind).node_name == "n1"


def test_refusal_by_a_deleted_node_is_ignored() -> None:
    scheduler = scheduler_of(node("n2"), profiles=(kube_profile(SCHEDULER),))
    scheduler.apply(NodeRefused(pod("refused", node="n1"), "n1", kube_profile(SCHEDULER)), 0.0)
    add_objects(scheduler, pod("a"))
    assert next_outcome(scheduler, Bind).node_name == "n2"


def test_rest_doubles_with_each_refusal_up_to_a_limit_and_is_short_again_after_a_pause() -> None:
    nodes, now, rests = RefusingNodes(), 0.0, []
    for _ in range(6):
        nodes.add("n1", now)
        rest = next(seconds for seconds in range(200) if "n1" not in nodes.names(now + seconds))
        rests.append(rest)
        now += rest
    assert rests == [5, 10, 20, 40, 60, 60]

    now += LONGEST_REST_SECONDS
    assert nodes.names(now) == frozenset()
    nodes.add("n1", now)
    assert nodes.names(now + FIRST_REST_SECONDS) == frozenset()

import pytest
from hypothesis import given

from builders import Object, node, pod, snapshot_of
from moorage.framework.cluster_events import added, deleted, updated
from moorage.framework.status import Code
from moorage.model.node import Node
from moorage.model.pods.pod import HostPort, Pod
from moorage.plugins.upstream.node_ports import NodePorts
from plugin_runs import passes, rejections
from strategies import clusters, pods

TAKEN = (Code.UNSCHEDULABLE, ["node(s) didn't have free ports for the requested pod ports"])


def with_port(name: str, port: Object, on: str = "") -> Pod:
    return pod(name, containers=[{"name": "c0", "image": "app:1", "ports": [{"containerPort": 1, **port}]}], node=on)


@pytest.mark.parametrize(
    ("used", "wanted", "conflict"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 81}, False),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "UDP"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 80, "hostIP": "10.0.0.1"}, True),
        ({"hostPort": 80, "hostIP": "::"}, {"hostPort": 80, "hostIP": "10.0.0.1"}, False),
    ],
)
def test_node_is_rejected_if_protocol_number_and_address_of_a_port_conflict(
    used: Object, wanted: Object, *, conflict: bool
) -> None:
    occupant, incoming = with_port("e", used, on="busy"), with_port("p", wanted)
    cluster = snapshot_of([node("busy"), node("free")], [occupant])

    assert rejections(NodePorts(), incoming, cluster) == {"busy": TAKEN if conflict else None, "free": None}
    assert NodePorts().queueing_hint(incoming, deleted("Pod", occupant)) == conflict


def test_pre_filter_skips_a_pod_without_host_ports() -> None:
    assert NodePorts().pre_filter(pod(), snapshot_of([node()])).status.code is Code.SKIP


def test_pod_is_queued_only_if_a_placed_pod_is_deleted_or_a_node_is_added() -> None:
    incoming = pod(host_ports=[80])

    assert not NodePorts().queueing_hint(incoming, deleted("Pod", pod("waiting", host_ports=[80])))
    assert not NodePorts().queueing_hint(incoming, updated("Pod", pod("e", node="n"), pod("e", node="n")))
    assert NodePorts().queueing_hint(incoming, added("Node", node()))
    assert not NodePorts().queueing_hint(incoming, updated("Node", node(), node()))


def _conflicts(one: HostPort, other: HostPort) -> bool:
    same = one.port == other.port and one.protocol == other.protocol
    return same and (one.ip == other.ip or "0.0.0.0" in {one.ip, other.ip})


@given(clusters(max_pods=6), pods())
def test_filter_agrees_with_a_check_of_each_pod(cluster: tuple[list[Node], list[Pod]], incoming: Pod) -> None:
    nodes, placed = cluster
    taken = {
        other.node_name
        for other in placed
        for wanted in incoming.shape.host_ports
        for used in other.shape.host_ports
        if _conflicts(wanted, used)
    }

    assert passes(NodePorts(), incoming, snapshot_of(nodes, placed)) == {each.name for each in nodes} - taken

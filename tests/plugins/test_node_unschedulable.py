from hypothesis import given

from builders import node, pod, snapshot_of
from moorage.framework.cluster_events import added, deleted, updated
from moorage.framework.status import Code
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.node_unschedulable import NodeUnschedulable
from plugin_runs import passes, rejections
from strategies import clusters, pods

TOLERATES_CORDON = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}


def test_cordoned_node_rejects_a_pod_without_the_toleration() -> None:
    cluster = snapshot_of([node("cordoned", unschedulable=True), node("open")])

    assert rejections(NodeUnschedulable(), pod(), cluster) == {
        "cordoned": (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["node(s) were unschedulable"]),
        "open": None,
    }
    assert passes(NodeUnschedulable(), pod(tolerations=[TOLERATES_CORDON]), cluster) == {"cordoned", "open"}


@given(clusters(max_pods=0), pods())
def test_filter_agrees_with_a_check_of_each_node(cluster: tuple[list[Node], list[Pod]], incoming: Pod) -> None:
    nodes, _ = cluster
    tolerant = any(
        toleration.operator == "Exists" and toleration.key == "" and toleration.effect in {"", "NoSchedule"}
        for toleration in incoming.shape.tolerations
    )

    assert passes(NodeUnschedulable(), incoming, snapshot_of(nodes)) == {
        each.name for each in nodes if tolerant or not each.unschedulable
    }


def test_pod_is_queued_if_a_node_is_uncordoned_or_the_pod_gets_a_toleration() -> None:
    plugin, waiting = NodeUnschedulable(), pod()
    cordoned, opened = node(unschedulable=True), node()

    assert plugin.queueing_hint(waiting, added("Node", opened))
    assert plugin.queueing_hint(waiting, updated("Node", cordoned, opened))
    assert not plugin.queueing_hint(waiting, updated("Node", opened, cordoned))
    assert not plugin.queueing_hint(waiting, updated("Node", opened, opened))
    assert not plugin.queueing_hint(waiting, added("Node", cordoned))
    assert not plugin.queueing_hint(waiting, deleted("Node", opened))
    assert plugin.queueing_hint(waiting, updated("Pod", waiting, pod(tolerations=[TOLERATES_CORDON])))
    assert not plugin.queueing_hint(waiting, updated("Pod", waiting, pod(labels={"a": "b"})))
    assert not plugin.queueing_hint(waiting, updated("Pod", pod("o"), pod("o", tolerations=[TOLERATES_CORDON])))

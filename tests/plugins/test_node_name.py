from hypothesis import given
from hypothesis import strategies as st

from builders import node, pod, snapshot_of
from moorage.framework.cluster_events import added, updated
from moorage.framework.status import Code
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.node_name import NodeName
from plugin_runs import passes, rejections
from strategies import NODE_NAMES, clusters


def test_only_the_named_node_passes() -> None:
    cluster = snapshot_of([node("n1"), node("n2")])

    assert rejections(NodeName(), pod(node="n2"), cluster) == {
        "n1": (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["node(s) didn't match the requested node name"]),
        "n2": None,
    }


@given(clusters(max_pods=0), st.sampled_from(["", "elsewhere", *NODE_NAMES]))
def test_filter_agrees_with_a_check_of_each_node(cluster: tuple[list[Node], list[Pod]], wanted: str) -> None:
    nodes, _ = cluster

    assert passes(NodeName(), pod(node=wanted), snapshot_of(nodes)) == {
        each.name for each in nodes if wanted in {"", each.name}
    }


def test_pod_is_queued_if_a_node_is_added_but_not_if_a_node_changes() -> None:
    assert NodeName().queueing_hint(pod(node="n1"), added("Node", node("n1")))
    assert not NodeName().queueing_hint(pod(node="n1"), updated("Node", node("n1"), node("n1")))

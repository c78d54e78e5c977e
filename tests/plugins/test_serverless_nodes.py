import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Object, node, pod, snapshot_of
from moorage.framework.cluster_events import added, deleted
from moorage.framework.status import Code
from moorage.plugins.own.serverless_nodes import ServerlessNodes
from plugin_runs import passes, rejections

FARGATE = {"labels": {"eks.amazonaws.com/compute-type": "fargate"}}
AUTO_MODE = {"labels": {"eks.amazonaws.com/compute-type": "auto"}}
VIRTUAL_KUBELET = {"labels": {"type": "virtual-kubelet"}}
TAINTED = {"taints": [{"key": "virtual-kubelet.io/provider", "value": "azure", "effect": "NoSchedule"}]}
PLAIN: Object = {}


@pytest.mark.parametrize("fields", [FARGATE, VIRTUAL_KUBELET, TAINTED])
def test_serverless_node_is_rejected_and_does_not_queue_a_pod(fields: Object) -> None:
    serverless = (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["node(s) were serverless"])

    assert rejections(ServerlessNodes(), pod(), snapshot_of([node("n", **fields)])) == {"n": serverless}
    assert not ServerlessNodes().queueing_hint(pod(), added("Node", node(**fields)))


def test_serverless_node_rejects_even_a_pod_that_tolerates_all_taints() -> None:
    tolerant = pod(tolerations=[{"operator": "Exists"}])

    assert passes(ServerlessNodes(), tolerant, snapshot_of([node("n", **TAINTED)])) == set()


@pytest.mark.parametrize("fields", [PLAIN, AUTO_MODE])
def test_ordinary_node_passes_and_queues_a_pod(fields: Object) -> None:
    assert passes(ServerlessNodes(), pod(), snapshot_of([node("n", **fields)])) == {"n"}
    assert ServerlessNodes().queueing_hint(pod(), added("Node", node(**fields)))
    assert not ServerlessNodes().queueing_hint(pod(), deleted("Node", node(**fields)))


@given(st.lists(st.sampled_from([PLAIN, AUTO_MODE, FARGATE, VIRTUAL_KUBELET, TAINTED]), min_size=1, max_size=6))
def test_filter_agrees_with_a_check_of_each_node(kinds: list[Object]) -> None:
    cluster = snapshot_of(node(f"n{index}", **each) for index, each in enumerate(kinds))

    assert passes(ServerlessNodes(), pod(), cluster) == {
        f"n{index}" for index, each in enumerate(kinds) if each in (PLAIN, AUTO_MODE)
    }

from hypothesis import given
from hypothesis import strategies as st

from builders import node, pod, snapshot_of
from moorage.framework.cluster_events import added, updated
from moorage.framework.status import Code
from moorage.plugins.upstream.node_declared_features import NodeDeclaredFeatures
from plugin_runs import passes, rejections

FEATURE = "RestartAllContainersOnContainerExits"
RESTARTING = {
    "name": "c0",
    "image": "app:1",
    "restartPolicyRules": [
        {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}},
    ],
}


def test_pod_that_restarts_all_containers_needs_a_node_with_the_feature() -> None:
    cluster = snapshot_of([node("new", features=[FEATURE, "Other"]), node("old", features=["Other"])])

    assert rejections(NodeDeclaredFeatures(), pod(containers=[RESTARTING]), cluster) == {
        "new": None,
        "old": (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["node(s) didn't match Pod's required features"]),
    }


def test_pre_filter_skips_a_pod_that_needs_no_feature() -> None:
    assert NodeDeclaredFeatures().pre_filter(pod(), snapshot_of([node()])).status.code is Code.SKIP


feature_lists = st.lists(st.sampled_from([FEATURE, "A", "B"]), unique=True)


@given(st.lists(feature_lists, min_size=1, max_size=5))
def test_filter_agrees_with_a_check_of_each_node(declared: list[list[str]]) -> None:
    cluster = snapshot_of(node(f"n{index}", features=each) for index, each in enumerate(declared))
    incoming = pod(containers=[RESTARTING])

    assert passes(NodeDeclaredFeatures(), incoming, cluster) == {
        f"n{index}" for index, each in enumerate(declared) if incoming.shape.required_features <= set(each)
    }


def test_pod_is_queued_if_a_node_has_new_features_or_the_pod_needs_other_features() -> None:
    plugin, waiting = NodeDeclaredFeatures(), pod(containers=[RESTARTING])

    assert plugin.queueing_hint(waiting, added("Node", node()))
    assert plugin.queueing_hint(waiting, updated("Node", node(), node(features=[FEATURE])))
    assert not plugin.queueing_hint(waiting, updated("Node", node(), node(labels={"a": "b"})))
    assert plugin.queueing_hint(waiting, updated("Pod", waiting, pod()))
    assert not plugin.queueing_hint(waiting, updated("Pod", waiting, waiting))
    assert not plugin.queueing_hint(waiting, updated("Pod", waiting, pod("other")))

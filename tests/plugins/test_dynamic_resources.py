from builders import node, pod, snapshot_of
from moorage.framework.cluster_events import updated
from moorage.framework.status import Code
from moorage.plugins.upstream.dynamic_resources import DynamicResources
from plugin_runs import passes, scores

CLAIMING = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu-0"}]}


def test_pod_with_claims_is_rejected_with_a_reason() -> None:
    status = DynamicResources().pre_filter(pod(spec=CLAIMING), snapshot_of([node()])).status

    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.reasons == ("pod uses resource claims, which moorage does not allocate",)


def test_all_nodes_pass_and_score_0_for_a_pod_without_claims() -> None:
    cluster = snapshot_of([node("n1"), node("n2")])

    assert DynamicResources().pre_filter(pod(), cluster).status.code is Code.SKIP
    assert passes(DynamicResources(), pod(), cluster) == {"n1", "n2"}
    assert scores(DynamicResources(), pod(), cluster) == {"n1": 0, "n2": 0}


def test_post_filter_returns_the_message_of_kube_scheduler_for_a_pod_without_claims() -> None:
    status = DynamicResources().post_filter(None, pod())

    assert (status.code, status.reasons) == (Code.UNSCHEDULABLE, ("no new claims to deallocate",))


def test_pod_is_queued_only_if_its_claims_are_removed() -> None:
    waiting = pod(spec=CLAIMING)

    assert DynamicResources().queueing_hint(waiting, updated("Pod", waiting, pod()))
    assert not DynamicResources().queueing_hint(waiting, updated("Pod", waiting, waiting))
    assert not DynamicResources().queueing_hint(waiting, updated("Pod", pod("other"), pod("other")))

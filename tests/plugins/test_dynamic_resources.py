from builders import node, pod, snapshot_of
from moorage.framework.cluster_events import updated
from moorage.framework.status import Code
from moorage.plugins.upstream.dynamic_resources import DynamicResources
from plugin_runs import passes, scores

CLAIMING = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu-0"}]}


def test_pod_with_claims_is_turned_away_with_a_reason_that_says_so() -> None:
    status = DynamicResources().pre_filter(pod(spec=CLAIMING), snapshot_of([node()])).status

    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.reasons == ("pod uses resource claims, which moorage does not allocate",)


def test_pod_without_claims_passes_everywhere_and_gains_nothing() -> None:
    cluster = snapshot_of([node("n1"), node("n2")])

    assert DynamicResources().pre_filter(pod(), cluster).status.code is Code.SKIP
    assert passes(DynamicResources(), pod(), cluster) == {"n1", "n2"}
    assert scores(DynamicResources(), pod(), cluster) == {"n1": 0, "n2": 0}


def test_post_filter_says_what_kube_scheduler_says_without_claims() -> None:
    status = DynamicResources().post_filter(None, pod())

    assert (status.code, status.reasons) == (Code.UNSCHEDULABLE, ("no new claims to deallocate",))


def test_only_its_own_loss_of_claims_queues_a_pod() -> None:
    waiting = pod(spec=CLAIMING)

    assert DynamicResources().queueing_hint(waiting, updated("Pod", waiting, pod()))
    assert not DynamicResources().queueing_hint(waiting, updated("Pod", waiting, waiting))
    assert not DynamicResources().queueing_hint(waiting, updated("Pod", pod("other"), pod("other")))

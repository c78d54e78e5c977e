from __future__ import annotations

import pytest

from builders import Object, make, node, pod
from moorage.cluster.what_if import NodeWhatIf
from moorage.framework.cluster_events import added, deleted, updated
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.node_volume_limits import REASON, NodeVolumeLimits
from plugin_runs import passes, rejections
from storage_builders import DRIVER, claim, csi_node, mounting, storage_class, storage_snapshot, volume

NODES = (node("a"), node("b"))
PLUGIN = NodeVolumeLimits()


def bound(name: str) -> tuple[Object, Object]:
    return claim(name, volume=f"pv-{name}"), volume(f"pv-{name}", handle=f"h-{name}")


def attachment(volume_name: str, node_name: str) -> Object:
    spec = {"attacher": DRIVER, "nodeName": node_name, "source": {"persistentVolumeName": volume_name}}
    return {"kind": "VolumeAttachment", "metadata": {"name": f"{volume_name}-{node_name}"}, "spec": spec}


def limit(count: int) -> Object:
    return csi_node("a", csi_example_com=count)


def aws(name: str, node_name: str = "") -> Pod:
    return pod(
        name, node=node_name, spec={"volumes": [{"name": "disk", "awsElasticBlockStore": {"volumeID": f"vol-{name}"}}]}
    )


def test_node_is_rejected_if_it_has_reached_its_volume_limit() -> None:
    snapshot = storage_snapshot(NODES, [mounting("e", "x", node="a")], *bound("x"), *bound("y"), limit(1))

    rejected = rejections(PLUGIN, mounting("p", "y"), snapshot)

    assert rejected == {"a": (Code.UNSCHEDULABLE, [REASON]), "b": None}


def test_volume_that_is_already_in_use_on_the_node_does_not_count_again() -> None:
    snapshot = storage_snapshot(NODES, [mounting("e", "x", node="a")], *bound("x"), limit(1))

    assert passes(PLUGIN, mounting("p", "x"), snapshot) == {"a", "b"}


def test_volume_that_is_still_attached_counts_after_its_pod_was_deleted() -> None:
    snapshot = storage_snapshot(NODES, [], *bound("x"), *bound("y"), limit(1), attachment("pv-x", "a"))

    assert passes(PLUGIN, mounting("p", "y"), snapshot) == {"b"}


def test_volume_that_is_attached_and_used_by_a_pod_counts_once() -> None:
    pods = [mounting("e", "x", node="a")]
    snapshot = storage_snapshot(NODES, pods, *bound("x"), *bound("y"), limit(2), attachment("pv-x", "a"))

    assert passes(PLUGIN, mounting("p", "y"), snapshot) == {"a", "b"}


def test_unbound_claim_counts_for_the_driver_of_its_storage_class() -> None:
    late = storage_class()
    claims = [claim("x", storage_class="late"), claim("y", storage_class="late")]
    snapshot = storage_snapshot(NODES, [mounting("e", "x", node="a")], late, *claims, limit(1))

    assert passes(PLUGIN, mounting("p", "y"), snapshot) == {"b"}


def test_in_tree_disk_counts_for_its_csi_driver() -> None:
    snapshot = storage_snapshot(NODES, [aws("e", "a")], csi_node("a", ebs_csi_aws_com=1))

    assert passes(PLUGIN, aws("p"), snapshot) == {"b"}


def test_claim_of_an_in_tree_storage_class_counts_for_its_csi_driver() -> None:
    gp2 = storage_class("gp2", provisioner="kubernetes.io/aws-ebs")
    snapshot = storage_snapshot(
        NODES, [aws("e", "a")], gp2, claim("data", storage_class="gp2"), csi_node("a", ebs_csi_aws_com=1)
    )

    assert passes(PLUGIN, mounting("p", "data"), snapshot) == {"b"}


def test_what_if_does_not_count_volumes_of_a_removed_pod() -> None:
    user, incoming = mounting("e", "x", node="a"), mounting("p", "y")
    snapshot = storage_snapshot(NODES, [user], *bound("x"), *bound("y"), limit(1))
    what_if = NodeWhatIf(snapshot, 0)

    what_if.remove_pod(user)

    assert PLUGIN.filter(None, incoming, what_if).passed.tolist() == [True]


def test_rejection_for_a_missing_claim_is_unresolvable() -> None:
    rejected = rejections(PLUGIN, mounting("p", "gone"), storage_snapshot(NODES, []))

    reason = 'looking up PVC default/gone: persistentvolumeclaim "gone" not found'
    assert rejected["a"] == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, [reason])


def test_pre_filter_skips_a_pod_without_volumes() -> None:
    assert PLUGIN.pre_filter(pod("p"), storage_snapshot(NODES, [])).status.code is Code.SKIP


@pytest.mark.parametrize(
    ("gates", "passing"), [(frozenset[str](), {"a", "b"}), (frozenset({"VolumeLimitScaling"}), {"a"})]
)
def test_node_without_the_driver_is_rejected_if_its_csi_driver_object_asks_for_this(
    gates: frozenset[str], passing: set[str]
) -> None:
    plugin = NodeVolumeLimits.model_validate({}, context={"feature_gates": gates})
    driver = {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"preventPodSchedulingIfMissing": True}}
    snapshot = storage_snapshot(NODES, [], *bound("x"), limit(1), driver)

    assert passes(plugin, mounting("p", "x"), snapshot) == passing


def test_pod_is_queued_if_volumes_are_freed_or_limits_are_raised() -> None:
    waiting = mounting("p", "x")
    one, two = make("CSINode", limit(1)), make("CSINode", limit(2))
    gone = make("VolumeAttachment", attachment("pv-x", "a"))

    assert PLUGIN.queueing_hint(waiting, updated("CSINode", one, two))
    assert not PLUGIN.queueing_hint(waiting, updated("CSINode", two, one))
    assert PLUGIN.queueing_hint(waiting, deleted("VolumeAttachment", gone))
    assert PLUGIN.queueing_hint(waiting, deleted("Pod", mounting("e", "y", node="a")))
    assert not PLUGIN.queueing_hint(waiting, deleted("Pod", pod("e", node="a")))
    assert not PLUGIN.queueing_hint(waiting, deleted("Pod", mounting("e", "y")))
    assert PLUGIN.queueing_hint(waiting, added("PersistentVolumeClaim", make("PersistentVolumeClaim", claim("x"))))

from __future__ import annotations

import pytest

from builders import Object, node, pod
from moorage.cluster.what_if import NodeWhatIf
from moorage.framework.cluster_events import added, deleted
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.volume_restrictions import CLAIM_REASON, DISK_REASON, VolumeRestrictions
from plugin_runs import passes, rejections
from storage_builders import claim, mounting, storage_snapshot

NODES = (node("a"), node("b"))
EXCLUSIVE = claim("only", modes=["ReadWriteOncePod"])
PLUGIN = VolumeRestrictions()


def gce(name: str = "disk", *, read_only: bool = False) -> Object:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def aws(*, read_only: bool = False) -> Object:
    return {"awsElasticBlockStore": {"volumeID": "vol-1", "readOnly": read_only}}


def iscsi(*, read_only: bool = False) -> Object:
    return {"iscsi": {"iqn": "iqn.2001-04.com.example:storage", "readOnly": read_only, "targetPortal": "", "lun": 0}}


def rbd(monitor: str, *, read_only: bool = False) -> Object:
    return {"rbd": {"monitors": [monitor], "pool": "rbd", "image": "image", "readOnly": read_only}}


def with_disk(name: str, disk: Object, node_name: str = "") -> Pod:
    return pod(name, node=node_name, spec={"volumes": [{"name": "disk", **disk}]})


@pytest.mark.parametrize(
    ("mounted", "wanted", "passing"),
    [
        (gce(), gce(read_only=True), {"b"}),
        (gce(read_only=True), gce(read_only=True), {"a", "b"}),
        (gce(), gce("other"), {"a", "b"}),
        (aws(read_only=True), aws(read_only=True), {"b"}),
        (iscsi(), iscsi(), {"b"}),
        (iscsi(read_only=True), iscsi(read_only=True), {"a", "b"}),
        (rbd("m1"), rbd("m1"), {"b"}),
        (rbd("m1"), rbd("m2"), {"a", "b"}),
        (rbd("m1", read_only=True), rbd("m1", read_only=True), {"a", "b"}),
    ],
)
def test_node_with_the_disk_in_use_passes_only_if_all_mounts_are_read_only(
    mounted: Object, wanted: Object, passing: set[str]
) -> None:
    snapshot = storage_snapshot(NODES, [with_disk("e", mounted, "a")])

    assert passes(PLUGIN, with_disk("p", wanted), snapshot) == passing


def test_preemption_may_help_if_a_disk_is_in_use() -> None:
    snapshot = storage_snapshot(NODES, [with_disk("e", gce(), "a")])

    assert rejections(PLUGIN, with_disk("p", gce()), snapshot)["a"] == (Code.UNSCHEDULABLE, [DISK_REASON])


def test_what_if_frees_the_disk_of_a_removed_pod() -> None:
    user, incoming = with_disk("e", gce(), "a"), with_disk("p", gce())
    snapshot = storage_snapshot(NODES, [user])
    state, what_if = PLUGIN.pre_filter(incoming, snapshot).state, NodeWhatIf(snapshot, 0)
    assert state is not None

    what_if.remove_pod(user)

    assert PLUGIN.filter(state, incoming, what_if).passed.tolist() == [True]


def test_all_nodes_are_rejected_if_a_read_write_once_pod_claim_is_in_use() -> None:
    snapshot = storage_snapshot(NODES, [mounting("e", "only", node="a")], EXCLUSIVE)

    rejected = (Code.UNSCHEDULABLE, [CLAIM_REASON])
    assert rejections(PLUGIN, mounting("p", "only"), snapshot) == {"a": rejected, "b": rejected}


def test_what_if_frees_a_read_write_once_pod_claim_of_a_removed_pod() -> None:
    user, incoming = mounting("e", "only", node="a"), mounting("p", "only")
    snapshot = storage_snapshot(NODES, [user], EXCLUSIVE)
    state, what_if = PLUGIN.pre_filter(incoming, snapshot).state, NodeWhatIf(snapshot, 0)
    assert state is not None

    freed = PLUGIN.remove_pod(state, incoming, user, what_if)
    taken = PLUGIN.add_pod(freed, incoming, user, what_if)

    assert PLUGIN.filter(freed, incoming, what_if).passed.tolist() == [True]
    assert PLUGIN.filter(taken, incoming, what_if).passed.tolist() == [False]


def test_pre_filter_skips_a_pod_whose_claims_can_be_shared_or_are_unused() -> None:
    snapshot = storage_snapshot(NODES, [mounting("e", "data", node="a")], claim("data"), EXCLUSIVE)

    for name in ("data", "only"):
        assert PLUGIN.pre_filter(mounting("p", name), snapshot).status.code is Code.SKIP


def test_pod_is_rejected_if_its_claim_does_not_exist() -> None:
    status = PLUGIN.pre_filter(mounting("p", "gone"), storage_snapshot(NODES, [])).status

    assert (status.code, status.message) == (
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        'persistentvolumeclaim "gone" not found',
    )


def test_pod_is_queued_if_an_event_may_free_its_disk_or_claim() -> None:
    waiting, other = mounting("p", "only"), mounting("e", "only", node="a")

    assert PLUGIN.queueing_hint(waiting, deleted("Pod", other))
    assert not PLUGIN.queueing_hint(waiting, added("Pod", other))
    assert not PLUGIN.queueing_hint(waiting, deleted("Pod", mounting("e", "data", node="a")))
    assert PLUGIN.queueing_hint(with_disk("p", gce()), deleted("Pod", with_disk("e", gce(), "a")))
    assert PLUGIN.queueing_hint(waiting, added("Node", node("c")))
    assert not PLUGIN.queueing_hint(waiting, deleted("Node", node("c")))

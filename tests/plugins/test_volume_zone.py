from __future__ import annotations

import pytest

from builders import Object, make, node
from moorage.framework.cluster_events import added, updated
from moorage.framework.status import Code
from moorage.plugins.upstream.volume_zone import REASON, VolumeZone
from plugin_runs import passes, rejections
from storage_builders import claim, mounting, storage_class, storage_snapshot, volume

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
NODES = (
    node("a", zone="z1", labels={REGION: "r1"}),
    node("b", zone="z2", labels={REGION: "r1"}),
    node("old", labels={BETA_ZONE: "z1"}),
    node("nowhere"),
)
PLUGIN = VolumeZone()


@pytest.mark.parametrize(
    ("labels", "passing"),
    [
        ({ZONE: "z1"}, {"a", "nowhere"}),
        ({ZONE: "z1__z2"}, {"a", "b", "nowhere"}),
        ({BETA_ZONE: "z1"}, {"a", "old", "nowhere"}),
        ({REGION: "r1", ZONE: "z2"}, {"b", "nowhere"}),
    ],
)
def test_only_nodes_in_the_volumes_zone_pass(labels: Object, passing: set[str]) -> None:
    snapshot = storage_snapshot(NODES, [], claim("data", volume="pv"), volume("pv", labels=labels))

    assert passes(PLUGIN, mounting("p", "data"), snapshot) == passing


def test_node_must_be_in_the_zone_of_all_volumes() -> None:
    objects = [claim("one", volume="pv1"), claim("two", volume="pv2")]
    volumes = [volume("pv1", labels={ZONE: "z1__z2"}), volume("pv2", labels={ZONE: "z2"})]
    snapshot = storage_snapshot(NODES, [], *objects, *volumes)

    assert passes(PLUGIN, mounting("p", "one", "two"), snapshot) == {"b", "nowhere"}


def test_rejection_for_a_wrong_zone_is_unresolvable() -> None:
    snapshot = storage_snapshot(NODES, [], claim("data", volume="pv"), volume("pv", labels={ZONE: "z1"}))

    rejected = rejections(PLUGIN, mounting("p", "data"), snapshot)

    assert rejected["b"] == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, [REASON])


@pytest.mark.parametrize("value", ["z1__", ""])
def test_label_that_names_no_zone_is_ignored(value: str) -> None:
    snapshot = storage_snapshot(NODES, [], claim("data", volume="pv"), volume("pv", labels={ZONE: value}))

    assert PLUGIN.pre_filter(mounting("p", "data"), snapshot).status.code is Code.SKIP


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([], 'persistentvolumeclaim "data" not found'),
        ([claim("data")], "PersistentVolumeClaim had no pv name and storageClass name"),
        ([claim("data", storage_class="gone")], 'storageclass.storage.k8s.io "gone" not found'),
        (
            [claim("data", storage_class="late"), storage_class("late", mode=None)],
            'VolumeBindingMode not set for StorageClass "late"',
        ),
        ([claim("data", storage_class="now"), storage_class("now", mode="Immediate")], "PersistentVolume had no name"),
        ([claim("data", volume="gone")], 'persistentvolume "gone" not found'),
    ],
)
def test_pod_is_rejected_if_its_claim_has_no_usable_volume(objects: list[Object], message: str) -> None:
    status = PLUGIN.pre_filter(mounting("p", "data"), storage_snapshot(NODES, [], *objects)).status

    assert (status.code, status.message) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, message)


def test_pre_filter_skips_a_claim_that_waits_for_its_first_consumer() -> None:
    snapshot = storage_snapshot(NODES, [], claim("data", storage_class="late"), storage_class("late"))

    assert PLUGIN.pre_filter(mounting("p", "data"), snapshot).status.code is Code.SKIP


def test_result_is_the_same_without_pre_filter() -> None:
    snapshot = storage_snapshot(NODES, [], claim("data", volume="pv"), volume("pv", labels={ZONE: "z1"}))

    assert PLUGIN.filter(None, mounting("p", "data"), snapshot).passed.tolist() == [True, False, False, True]
    result = PLUGIN.filter(None, mounting("p", "gone"), snapshot)
    assert not result.passed.any()
    assert [each.reason for each in result.rejections()] == ['persistentvolumeclaim "gone" not found']


def test_pod_is_queued_if_topology_labels_claims_or_storage_classes_change() -> None:
    waiting = mounting("p", "data")
    here, there = (make("PersistentVolume", volume("pv", labels={ZONE: zone})) for zone in ("z1", "z2"))

    assert PLUGIN.queueing_hint(waiting, updated("PersistentVolume", here, there))
    assert not PLUGIN.queueing_hint(waiting, updated("PersistentVolume", here, here))
    assert PLUGIN.queueing_hint(waiting, added("PersistentVolumeClaim", make("PersistentVolumeClaim", claim("data"))))
    assert not PLUGIN.queueing_hint(waiting, added("PersistentVolumeClaim", make("PersistentVolumeClaim", claim("x"))))
    assert PLUGIN.queueing_hint(waiting, added("StorageClass", make("StorageClass", storage_class())))
    assert not PLUGIN.queueing_hint(
        waiting, added("StorageClass", make("StorageClass", storage_class(mode="Immediate")))
    )
    assert PLUGIN.queueing_hint(waiting, updated("Node", node("a", zone="z1"), node("a", zone="z2")))
    assert not PLUGIN.queueing_hint(waiting, updated("Node", node("a", zone="z1"), node("a", zone="z1", cpu="8")))

"""Assumed volumes and claims: assume, revert, and new versions from the watch."""

from __future__ import annotations

from dataclasses import replace

from builders import make
from moorage.cluster.cluster_objects import ClusterObjects
from moorage.cluster.generations import Generations
from moorage.cluster.intents import BindVolume, SelectNode
from moorage.cluster.volumes.assumed_volumes import AssumedVolumes
from moorage.model.volumes.storage_objects import ClaimRef, PersistentVolume, PersistentVolumeClaim
from storage_builders import claim, volume

CLAIM: PersistentVolumeClaim = make("PersistentVolumeClaim", claim("data"))
VOLUME: PersistentVolume = make("PersistentVolume", volume("pv"))
BIND = BindVolume(
    volume_name="pv",
    volume_resource_version="1",
    claim_namespace="default",
    claim_name="data",
    claim_uid="claim-data",
)
SELECT = SelectNode(claim_namespace="default", claim_name="data", claim_resource_version="1", node_name="a")


class Storage:
    """The objects of a cluster with one claim and one volume."""

    def __init__(self) -> None:
        self.objects = ClusterObjects(Generations())
        self.assumed = AssumedVolumes(self.objects)
        self.assumed.observe("PersistentVolumeClaim", "default/data", CLAIM)
        self.assumed.observe("PersistentVolume", "pv", VOLUME)

    @property
    def claim(self) -> PersistentVolumeClaim:
        found: PersistentVolumeClaim = self.objects.of_kind("PersistentVolumeClaim")["default/data"]
        return found

    @property
    def volume(self) -> PersistentVolume:
        found: PersistentVolume = self.objects.of_kind("PersistentVolume")["pv"]
        return found


def test_snapshot_has_the_assumed_versions_of_objects() -> None:
    storage = Storage()

    storage.assumed.assume("p", [BIND, SELECT])

    assert storage.volume.claim_ref == ClaimRef("default", "data", "claim-data")
    assert storage.claim.selected_node == "a"


def test_revert_restores_only_the_objects_that_the_pod_assumed() -> None:
    storage = Storage()
    storage.assumed.assume("p", [BIND, SELECT])

    storage.assumed.revert("other")
    assert storage.claim.selected_node == "a"

    storage.assumed.revert("p")
    assert (storage.volume, storage.claim) == (VOLUME, CLAIM)


def test_assumed_version_is_kept_if_the_watch_sends_the_previous_version() -> None:
    storage = Storage()
    storage.assumed.assume("p", [SELECT])

    storage.assumed.observe("PersistentVolumeClaim", "default/data", CLAIM)

    assert storage.claim.selected_node == "a"


def test_newer_version_replaces_the_assumed_version_and_is_kept_after_a_revert() -> None:
    storage, newer = Storage(), replace(CLAIM, resource_version="2")
    storage.assumed.assume("p", [SELECT])

    storage.assumed.observe("PersistentVolumeClaim", "default/data", newer)
    storage.assumed.revert("p")

    assert storage.claim == newer


def test_revert_after_two_assumptions_restores_the_observed_version() -> None:
    storage = Storage()
    storage.assumed.assume("p", [SELECT])
    storage.assumed.assume("q", [replace(SELECT, node_name="b")])

    storage.assumed.revert("q")

    assert storage.claim == CLAIM


def test_removed_object_stays_removed_after_assume_and_revert() -> None:
    storage = Storage()
    storage.assumed.assume("p", [BIND])
    storage.assumed.remove("PersistentVolume", "pv")

    storage.assumed.revert("p")
    storage.assumed.assume("p", [BIND])

    assert not storage.objects.of_kind("PersistentVolume")

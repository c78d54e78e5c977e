"""Decoding of claims, volumes and storage.k8s.io objects."""

from __future__ import annotations

import pytest

from builders import Object, make
from moorage.model.selectors import LabelSelector, Requirement
from moorage.model.volumes.csi_translation import AWS_EBS_DRIVER, AZURE_DISK_DRIVER, GCE_PD_DRIVER
from moorage.model.volumes.storage_objects import ClaimRef, CSINode, PersistentVolume
from storage_builders import claim, csi_node, storage_class, volume


def test_claim_is_bound_only_if_the_controller_has_confirmed_the_binding() -> None:
    assert make("PersistentVolumeClaim", claim(volume="pv")).is_bound
    assert not make("PersistentVolumeClaim", claim(volumeName="pv")).is_bound


def test_storage_class_in_the_old_annotation_overrides_the_spec() -> None:
    old = {"volume.beta.kubernetes.io/storage-class": "old"}

    assert make("PersistentVolumeClaim", claim(storage_class="new", annotations=old)).class_name == "old"
    assert make("PersistentVolume", volume(storage_class="new")).class_name == "new"


def test_decoded_claim_has_size_selector_selected_node_and_owner() -> None:
    read = make(
        "PersistentVolumeClaim",
        claim(
            size="1Gi",
            annotations={"volume.kubernetes.io/selected-node": "a"},
            selector={"matchLabels": {"tier": "fast"}},
            metadata={"ownerReferences": [{"uid": "other"}, {"uid": "owner", "controller": True}]},
        ),
    )

    assert (read.request_bytes, read.selected_node, read.owner_uid) == (2**30, "a", "owner")
    assert read.selector == LabelSelector((Requirement("tier", "In", frozenset({"fast"})),))


def test_reserved_volume_has_a_claim_ref_without_uid() -> None:
    read = make("PersistentVolume", volume(kept_for="data"))

    assert read.claim_ref == ClaimRef("default", "data")


@pytest.mark.parametrize(
    ("source", "driver", "handle"),
    [
        ({"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-1"}}, AWS_EBS_DRIVER, "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, AWS_EBS_DRIVER, "vol-1"),
        (
            {"gcePersistentDisk": {"pdName": "disk"}},
            GCE_PD_DRIVER,
            "projects/UNSPECIFIED/zones/europe-west1-b/disks/disk",
        ),
        ({"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/1/d"}}, AZURE_DISK_DRIVER, "/subscriptions/1/d"),
    ],
)
def test_in_tree_disk_is_decoded_with_the_driver_and_handle_of_its_csi_driver(
    source: Object, driver: str, handle: str
) -> None:
    zone = {"topology.kubernetes.io/zone": "europe-west1-b"}
    read: PersistentVolume = make("PersistentVolume", volume(labels=zone, **source))

    assert (read.csi_driver, read.csi_handle, read.in_tree) == (driver, handle, True)


def test_local_volume_has_no_driver_and_csi_volume_is_not_in_tree() -> None:
    assert make("PersistentVolume", volume(local={"path": "/mnt"})).csi_driver == ""
    assert not make("PersistentVolume", volume(handle="h")).in_tree


def test_csi_node_has_all_drivers_and_limits_only_for_drivers_that_state_one() -> None:
    body = csi_node("a", ebs_csi_aws_com=25)
    body["spec"]["drivers"].append({"name": "unlimited"})
    read: CSINode = make("CSINode", body)

    assert read.drivers == {"ebs.csi.aws.com", "unlimited"}
    assert read.limits == {"ebs.csi.aws.com": 25}


def test_allowed_topologies_are_decoded_as_requirements() -> None:
    terms = [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]

    read = make("StorageClass", storage_class(allowedTopologies=terms))

    assert read.allowed_topologies == ((Requirement("zone", "In", frozenset({"a", "b"})),),)


@pytest.mark.parametrize(
    ("kind", "body", "path"),
    [
        ("PersistentVolumeClaim", claim(size="much"), "spec.resources.requests.storage"),
        ("PersistentVolume", volume(size="much"), "spec.capacity.storage"),
        (
            "CSIStorageCapacity",
            {"metadata": {"name": "c"}, "storageClassName": "late", "maximumVolumeSize": "much"},
            "maximumVolumeSize",
        ),
        (
            "PersistentVolumeClaim",
            claim(selector={"matchExpressions": [{"key": "a", "operator": "?"}]}),
            "spec.selector",
        ),
    ],
)
def test_invalid_field_raises_value_error_with_its_path(kind: str, body: Object, path: str) -> None:
    with pytest.raises(ValueError, match=path):
        make(kind, body)

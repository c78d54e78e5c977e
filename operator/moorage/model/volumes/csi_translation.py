"""Names that in-tree volumes and provisioners have after their migration to CSI drivers.

Upstream: `staging/src/k8s.io/csi-translation-lib`.
"""

from __future__ import annotations

from urllib.parse import urlsplit

AWS_EBS_DRIVER = "ebs.csi.aws.com"
AZURE_DISK_DRIVER = "disk.csi.azure.com"
GCE_PD_DRIVER = "pd.csi.storage.gke.io"

MIGRATED_PROVISIONERS = {
    "kubernetes.io/aws-ebs": AWS_EBS_DRIVER,
    "kubernetes.io/azure-disk": AZURE_DISK_DRIVER,
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": GCE_PD_DRIVER,
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
"""CSI drivers by the in-tree provisioner that they replace."""


def ebs_volume_id(volume: str) -> str:
    """Return the id of a volume; the in-tree source may write it as `aws://zone/vol-0123`."""
    return urlsplit(volume).path.strip("/") if volume.startswith("aws://") else volume


def gce_volume_handle(disk: str, zone: str | None = None) -> str:
    """Return the CSI handle of a disk; an in-tree source never names the project, and not always the zone."""
    return f"projects/UNSPECIFIED/zones/{zone or 'UNSPECIFIED'}/disks/{disk}"

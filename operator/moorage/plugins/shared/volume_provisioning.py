"""The nodes for which a volume can be provisioned, by the StorageClass's topology and the free storage capacity.

Upstream: `checkVolumeProvisions` and `hasEnoughCapacity` in volumebinding/binder.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moorage.plugins.shared.node_reach import NodeReach

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.volumes.storage_objects import CSIStorageCapacity, PersistentVolumeClaim, StorageClass

NO_PROVISIONER = "kubernetes.io/no-provisioner"
"""The provisioner of classes whose volumes an administrator creates."""


def can_be_provisioned(claim: PersistentVolumeClaim, nodes: Snapshot) -> BoolArray:
    """Return the nodes for which the claim's class can provision volumes."""
    storage_class: StorageClass = nodes.objects("StorageClass")[claim.class_name]
    if storage_class.provisioner in {"", NO_PROVISIONER}:
        return np.zeros(nodes.size, np.bool_)
    if not storage_class.allowed_topologies:
        return np.ones(nodes.size, np.bool_)
    reach = NodeReach(nodes)
    allowed = np.zeros(nodes.size, np.bool_)
    for term in storage_class.allowed_topologies:
        if term:  # a term without expressions selects no node
            allowed[reach.of_labels(term)] = True
    return allowed


def has_space(claim: PersistentVolumeClaim, nodes: Snapshot) -> BoolArray:
    """Return the nodes that can reach enough free storage; all nodes if the driver does not report its capacity."""
    storage_class: StorageClass = nodes.objects("StorageClass")[claim.class_name]
    driver = nodes.objects("CSIDriver").get(storage_class.provisioner)
    if claim.request_bytes is None or driver is None or not driver.storage_capacity:
        return np.ones(nodes.size, np.bool_)
    reach = NodeReach(nodes)
    reaches = np.zeros(nodes.size, np.bool_)
    capacity: CSIStorageCapacity
    for capacity in nodes.objects("CSIStorageCapacity").values():
        if capacity.class_name != claim.class_name or capacity.node_topology is None:
            continue
        if capacity.limit_bytes is not None and capacity.limit_bytes >= claim.request_bytes:
            reaches[reach.of_labels(capacity.node_topology.requirements)] = True
    return reaches

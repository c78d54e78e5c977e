"""Where a volume that does not exist yet could be made: by its class's topology, and by what storage has left.

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
"""What classes name whose volumes somebody makes by hand."""


def can_be_provisioned(claim: PersistentVolumeClaim, nodes: Snapshot) -> BoolArray:
    """Which nodes the claim's class makes volumes for."""
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
    """Which nodes can reach storage with enough left, where the driver says at all how much it has left."""
    storage_class: StorageClass = nodes.objects("StorageClass")[claim.class_name]
    driver = nodes.objects("CSIDriver").get(storage_class.provisioner)
    if claim.request_bytes is None or driver is None or not driver.storage_capacity:
        return np.ones(nodes.size, np.bool_)
    reach = NodeReach(nodes)
    reaching = np.zeros(nodes.size, np.bool_)
    capacity: CSIStorageCapacity
    for capacity in nodes.objects("CSIStorageCapacity").values():
        if capacity.class_name != claim.class_name or capacity.node_topology is None:
            continue
        if capacity.limit_bytes is not None and capacity.limit_bytes >= claim.request_bytes:
            reaching[reach.of_labels(capacity.node_topology.requirements)] = True
    return reaching

"""The objects that volume binding reads: the informers' stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod
    from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeStores:
    """Objects by `namespace/name`, or by name for cluster-scoped kinds."""

    pods: Mapping[str, Pod]
    nodes: Mapping[str, Node]
    claims: Mapping[str, PersistentVolumeClaim]
    volumes: Mapping[str, PersistentVolume]

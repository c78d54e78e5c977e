"""The volumes of a pod that scheduling reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PodVolume:
    """An entry of `spec.volumes`: a claim, an ephemeral claim, or an in-tree disk."""

    name: str
    claim_name: str = ""
    """The claim of a `persistentVolumeClaim` source; empty for an ephemeral volume."""
    ephemeral: bool = False
    """Whether a controller creates the claim. Then the claim's name is made from the names of the pod and the
    volume."""
    read_only: bool = False
    disk: tuple[str, ...] | None = None
    """The kind of an in-tree disk (`gce`, `aws`, `iscsi`, `rbd`) and then its identity; None for claims."""
    monitors: frozenset[str] = frozenset()
    """Ceph monitors of an `rbd` disk; two disks with equal images but disjoint monitors are different disks."""

    @property
    def is_claim(self) -> bool:
        """Whether the volume uses a PersistentVolumeClaim."""
        return self.ephemeral or bool(self.claim_name)

    def claim_of(self, pod_name: str) -> str:
        """Return the name of the claim that the volume uses in the pod `pod_name`."""
        return f"{pod_name}-{self.name}" if self.ephemeral else self.claim_name

"""What a cycle wants written before the binding: Reserve plugins return intents, the runtime carries them out.

An intent is a value. It names the object and what it was when the decision was made, so that whoever carries it out can
tell that somebody else has changed it since.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BindVolume:
    """Set `spec.claimRef` of a PersistentVolume, so that the volume controller binds it to the claim."""

    volume_name: str
    volume_resource_version: str
    claim_namespace: str
    claim_name: str
    claim_uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectNode:
    """Set the annotation `volume.kubernetes.io/selected-node` on a claim, so that its volume is provisioned there."""

    claim_namespace: str
    claim_name: str
    claim_resource_version: str
    node_name: str


Intent = BindVolume | SelectNode

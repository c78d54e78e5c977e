"""Intents: writes to the API server that Reserve plugins request and the runtime executes before the binding.

An intent is a value. It holds the resourceVersion of the object at the time of the decision. So the runtime detects
whether the object has changed after the decision.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BindVolume:
    """An intent to set `spec.claimRef` of a PersistentVolume, so that the volume controller binds it to the claim."""

    volume_name: str
    volume_resource_version: str
    claim_namespace: str
    claim_name: str
    claim_uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectNode:
    """An intent to set the annotation `volume.kubernetes.io/selected-node` of a claim, so that provisioning starts."""

    claim_namespace: str
    claim_name: str
    claim_resource_version: str
    node_name: str


Intent = BindVolume | SelectNode

"""Conversion of objects between the stored version and the served versions."""

from moorage.sandbox.kinds import event_versions
from moorage.sandbox.kinds.resource_types import ResourceType
from moorage.sandbox.objects import Object


def to_stored(resource: ResourceType, obj: Object) -> Object:
    """Convert an object of a served version to the stored version."""
    return event_versions.to_core(obj) if resource.group == "events.k8s.io" else obj


def from_stored(resource: ResourceType, obj: Object) -> Object:
    """Convert a stored object to the version that `resource` serves."""
    if resource.group == "events.k8s.io":
        return event_versions.to_modern(obj)
    if obj.get("apiVersion") != resource.api_version:
        return obj | {"apiVersion": resource.api_version}
    return obj

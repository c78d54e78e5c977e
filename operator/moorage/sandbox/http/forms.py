"""The forms of an object: as stored, and as each version of its resource serves it."""

from moorage.sandbox.kinds import events
from moorage.sandbox.kinds.resources import ResourceType
from moorage.sandbox.objects import Object, encode
from moorage.sandbox.storage.store import Record


def to_stored(resource: ResourceType, obj: Object) -> Object:
    """Bring an object from the form its version serves to the one it is stored in."""
    return events.to_core(obj) if resource.group == "events.k8s.io" else obj


def from_stored(resource: ResourceType, obj: Object) -> Object:
    """Bring a stored object to the form that a version serves."""
    if resource.group == "events.k8s.io":
        return events.to_modern(obj)
    if obj.get("apiVersion") != resource.api_version:
        return obj | {"apiVersion": resource.api_version}
    return obj


def served_json(resource: ResourceType, record: Record) -> bytes:
    """Encode an object in the form that a version serves, once."""
    if record.obj.get("apiVersion") == resource.api_version:
        return record.json()
    found = record.encodings.get(resource.api_version)
    if found is None:
        found = record.encodings[resource.api_version] = encode(from_stored(resource, record.obj))
    return found

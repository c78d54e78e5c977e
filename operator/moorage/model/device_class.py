"""DeviceClass, and how it is decoded. moorage allocates no devices; it reads which extended resources request them."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct, json

from moorage.model.api_metadata import ApiMetadata

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Upstream: ResourceDeviceClassPrefix. The prefix and the name of a class together name an extended resource of that
class."""


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A `resource.k8s.io/v1.DeviceClass`."""

    name: str
    extended_resource_name: str = ""
    """The extended resource by which pods may request devices of the class; empty if there is only the resource with
    IMPLICIT_PREFIX."""

    def provides(self, resource: str) -> bool:
        """Return whether pods request devices of the class by this resource."""
        return resource in {self.extended_resource_name, f"{IMPLICIT_PREFIX}{self.name}"}


class _ApiDeviceClassSpec(Struct, frozen=True, rename="camel"):
    extended_resource_name: str | None = None


class _ApiDeviceClass(Struct, frozen=True):
    metadata: ApiMetadata
    spec: _ApiDeviceClassSpec = _ApiDeviceClassSpec()


def decode_device_class(raw: bytes) -> DeviceClass:
    """Decode a DeviceClass."""
    api = json.decode(raw, type=_ApiDeviceClass)
    return DeviceClass(api.metadata.name, api.spec.extended_resource_name or "")

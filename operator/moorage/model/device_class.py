"""DeviceClass, and its decoder.

moorage allocates no devices. It only reads by which extended resources pods can request the devices of a class.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct, json

from moorage.model.api_metadata import ApiMetadata

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Pods can request devices of each class by an extended resource that is named by this prefix and the name of the
class (upstream: ResourceDeviceClassPrefix)."""


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A `resource.k8s.io/v1.DeviceClass`."""

    name: str
    extended_resource_name: str = ""
    """Another extended resource by which pods can request devices of the class; empty if the class has none."""

    def provides(self, resource: str) -> bool:
        """Return whether pods can request devices of the class by this resource."""
        return resource in {self.extended_resource_name, f"{IMPLICIT_PREFIX}{self.name}"}


class ApiDeviceClassSpec(Struct, frozen=True, rename="camel"):
    """`resource/v1.DeviceClassSpec`."""

    extended_resource_name: str | None = None


class ApiDeviceClass(Struct, frozen=True):
    """`resource/v1.DeviceClass`: only the fields that scheduling reads."""

    metadata: ApiMetadata
    spec: ApiDeviceClassSpec = ApiDeviceClassSpec()


def decode_device_class(raw: bytes) -> DeviceClass:
    """Decode a DeviceClass."""
    api = json.decode(raw, type=ApiDeviceClass)
    return DeviceClass(api.metadata.name, api.spec.extended_resource_name or "")

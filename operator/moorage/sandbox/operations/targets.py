"""The object or collection that a request names."""

from dataclasses import dataclass

from moorage.sandbox.kinds.resource_types import ResourceType
from moorage.sandbox.objects import Key


@dataclass(frozen=True, slots=True)
class Target:
    """The resource, namespace, name and subresource of a request. `name` is empty for a collection."""

    resource: ResourceType
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> Key:
        """The object's key in the store."""
        return self.namespace, self.name

    @property
    def qualified(self) -> tuple[str, str, str]:
        """The plural, group and name: the first arguments of the error constructors in `api_status`."""
        return self.resource.plural, self.resource.group, self.name

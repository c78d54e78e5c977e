"""The resources that the server serves now: built-in resources, and resources of CustomResourceDefinitions."""

from collections.abc import Iterator

from moorage.sandbox.kinds.builtin_resources import builtin_resources
from moorage.sandbox.kinds.resource_types import ResourceType


class ServedResources:
    """All served resources. `generation` grows with each change, so that readers can drop outdated results."""

    def __init__(self) -> None:
        """Start with the built-in kinds."""
        self._types: dict[tuple[str, str, str], ResourceType] = {}
        self.generation = 0
        for resource in builtin_resources():
            self.add(resource)

    def add(self, resource: ResourceType) -> None:
        """Serve a resource. Replaces a resource with the same group, version and plural."""
        self._types[resource.group, resource.version, resource.plural] = resource
        self.generation += 1

    def remove_custom(self, group: str, plural: str) -> None:
        """Stop serving all versions of a custom resource."""
        for key in [key for key in self._types if key[0] == group and key[2] == plural]:
            del self._types[key]
        self.generation += 1

    @property
    def pods(self) -> ResourceType:
        """The resource of pods."""
        return self._types["", "v1", "pods"]

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """Return the resource at a URL path, or None."""
        return self._types.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> ResourceType | None:
        """Return the resource of objects with that apiVersion and kind, or None."""
        return next((found for found in self if found.api_version == api_version and found.kind == kind), None)

    def __iter__(self) -> Iterator[ResourceType]:
        """Iterate over all resources, in the order in which they were added."""
        return iter(self._types.values())

"""What a request is about, and how it wants to be done."""

from dataclasses import dataclass, field

from moorage.sandbox.kinds.resources import ResourceType
from moorage.sandbox.objects import Key


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about. `name` is empty for a collection, `subresource` mostly."""

    resource: ResourceType
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> Key:
        """Return the object's key in the store."""
        return self.namespace, self.name

    @property
    def qualified(self) -> tuple[str, str, str]:
        """Resource, group and name, as errors want them."""
        return self.resource.plural, self.resource.group, self.name


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The query of a write, and the warnings that its response will carry."""

    manager: str = "sandbox"
    force: bool = False
    dry_run: bool = False
    field_validation: str = "Ignore"
    named: bool = False
    """Whether the writer gave its name itself (fieldManager), instead of having it guessed from its user agent."""
    warnings: list[str] = field(default_factory=list)

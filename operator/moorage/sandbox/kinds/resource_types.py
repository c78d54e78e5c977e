"""The description of one resource: the values for discovery, and the collection of its objects in the store."""

from dataclasses import dataclass, field

from moorage.sandbox.kinds.custom_kinds import CustomKind

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

# Names of store collections that several modules use.
PODS = "pods."
NODES = "nodes."
NAMESPACES = "namespaces."
EVENTS = "events"
PRIORITY_CLASSES = "priorityclasses.scheduling.k8s.io"
DISRUPTION_BUDGETS = "poddisruptionbudgets.policy"
CUSTOM_RESOURCE_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One resource of one API version, as discovery describes it."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    subresources: tuple[str, ...] = ()
    singular: str = ""
    verbs: tuple[str, ...] = ALL_VERBS
    stored_as: str = ""
    """The name of the store's collection. Empty means PLURAL.GROUP. The two event resources share one collection."""
    custom: CustomKind | None = field(default=None, compare=False)

    @property
    def api_version(self) -> str:
        """The apiVersion of objects of the resource, such as `v1` or `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def collection(self) -> str:
        """The name of the collection that holds the objects of the resource in the store."""
        return self.stored_as or f"{self.plural}.{self.group}"

    @property
    def list_kind(self) -> str:
        """The kind of lists of the resource, such as `PodList`."""
        return (self.custom and self.custom.list_kind) or f"{self.kind}List"

    @property
    def all_subresources(self) -> tuple[str, ...]:
        """The names of all subresources. The status is the last one."""
        return (*self.subresources, "status") if self.has_status else self.subresources

"""Which resources are served: the table of built-in kinds, and the registry that custom kinds join."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.sandbox.kinds.custom import CustomKind

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


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
    """Where objects live if not under the resource's own name: both kinds of events share one place."""
    custom: "CustomKind | None" = field(default=None, compare=False)

    @property
    def api_version(self) -> str:
        """`v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage(self) -> str:
        """The store's name for the place where objects of this resource live."""
        return self.stored_as or f"{self.plural}.{self.group}"

    @property
    def list_kind(self) -> str:
        """The kind of a list of these."""
        return (self.custom and self.custom.list_kind) or f"{self.kind}List"


class Resources:
    """The resources served now. Custom resources come and go with their CustomResourceDefinitions."""

    def __init__(self) -> None:
        """Start with the built-in kinds."""
        self._types: dict[tuple[str, str, str], ResourceType] = {}
        self.generation = 0
        for resource in _builtin():
            self.add(resource)

    def add(self, resource: ResourceType) -> None:
        """Serve a resource from now on, in place of one with the same name."""
        self._types[resource.group, resource.version, resource.plural] = resource
        self.generation += 1

    def remove_custom(self, group: str, plural: str) -> None:
        """Serve no version of a custom resource any more."""
        for key in [key for key in self._types if key[0] == group and key[2] == plural]:
            del self._types[key]
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """Find a resource by its place in a URL."""
        return self._types.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> ResourceType | None:
        """Find a resource by what an object says it is."""
        return next((found for found in self if found.api_version == api_version and found.kind == kind), None)

    def __iter__(self) -> Iterator[ResourceType]:
        """Go over all resources in the order they were added."""
        return iter(self._types.values())


def _builtin() -> Iterator[ResourceType]:
    yield from _core()
    yield from _workloads()
    yield from _storage()
    yield from _scheduling()
    yield from _reviews()
    yield ResourceType(
        "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions",
        namespaced=False, short_names=("crd", "crds"), categories=("api-extensions",), has_status=True,
    )  # fmt: skip


def _core() -> Iterator[ResourceType]:
    everything = ("all",)
    yield ResourceType(
        "", "v1", "Pod", "pods", short_names=("po",), categories=everything, has_status=True,
        subresources=("binding", "eviction"),
    )  # fmt: skip
    yield ResourceType("", "v1", "Node", "nodes", namespaced=False, short_names=("no",), has_status=True)
    yield ResourceType("", "v1", "Namespace", "namespaces", namespaced=False, short_names=("ns",), has_status=True)
    yield ResourceType("", "v1", "Binding", "bindings", verbs=("create",))
    yield ResourceType("", "v1", "Service", "services", short_names=("svc",), categories=everything, has_status=True)
    yield ResourceType(
        "", "v1", "ReplicationController", "replicationcontrollers",
        short_names=("rc",), categories=everything, has_status=True,
    )  # fmt: skip
    yield ResourceType("", "v1", "ServiceAccount", "serviceaccounts", short_names=("sa",))
    yield ResourceType("", "v1", "ConfigMap", "configmaps", short_names=("cm",))
    yield ResourceType("", "v1", "Secret", "secrets")
    yield ResourceType("", "v1", "Event", "events", short_names=("ev",), stored_as="events")
    yield ResourceType("events.k8s.io", "v1", "Event", "events", short_names=("ev",), stored_as="events")


def _workloads() -> Iterator[ResourceType]:
    everything = ("all",)
    for kind, short in (("Deployment", "deploy"), ("ReplicaSet", "rs"), ("StatefulSet", "sts"), ("DaemonSet", "ds")):
        yield ResourceType(
            "apps", "v1", kind, f"{kind.lower()}s", short_names=(short,), categories=everything, has_status=True
        )
    yield ResourceType("batch", "v1", "Job", "jobs", categories=everything, has_status=True)
    yield ResourceType(
        "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", short_names=("pdb",), has_status=True
    )
    yield ResourceType("coordination.k8s.io", "v1", "Lease", "leases")
    for kind, namespaced in (
        ("ClusterRole", False), ("ClusterRoleBinding", False), ("Role", True), ("RoleBinding", True),
    ):  # fmt: skip
        yield ResourceType("rbac.authorization.k8s.io", "v1", kind, f"{kind.lower()}s", namespaced=namespaced)


def _storage() -> Iterator[ResourceType]:
    yield ResourceType(
        "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", short_names=("pvc",), has_status=True
    )
    yield ResourceType(
        "", "v1", "PersistentVolume", "persistentvolumes", namespaced=False, short_names=("pv",), has_status=True
    )
    group = "storage.k8s.io"
    yield ResourceType(group, "v1", "StorageClass", "storageclasses", namespaced=False, short_names=("sc",))
    yield ResourceType(group, "v1", "CSINode", "csinodes", namespaced=False)
    yield ResourceType(group, "v1", "CSIDriver", "csidrivers", namespaced=False)
    yield ResourceType(group, "v1", "VolumeAttachment", "volumeattachments", namespaced=False, has_status=True)
    yield ResourceType(group, "v1", "CSIStorageCapacity", "csistoragecapacities")


def _scheduling() -> Iterator[ResourceType]:
    yield ResourceType(
        "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False, short_names=("pc",)
    )
    group = "resource.k8s.io"
    yield ResourceType(group, "v1", "ResourceClaim", "resourceclaims", has_status=True, subresources=("binding",))
    yield ResourceType(group, "v1", "ResourceClaimTemplate", "resourceclaimtemplates")
    yield ResourceType(group, "v1", "ResourceSlice", "resourceslices", namespaced=False)
    yield ResourceType(group, "v1", "DeviceClass", "deviceclasses", namespaced=False)


def _reviews() -> Iterator[ResourceType]:
    verbs = ("create",)
    yield ResourceType("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False, verbs=verbs)
    group = "authorization.k8s.io"
    for kind in ("SubjectAccessReview", "SelfSubjectAccessReview"):
        yield ResourceType(group, "v1", kind, f"{kind.lower()}s", namespaced=False, verbs=verbs)
    yield ResourceType(group, "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=verbs)

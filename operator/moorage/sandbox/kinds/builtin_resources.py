"""The table of built-in resources that the sandbox serves."""

from collections.abc import Iterator

from moorage.sandbox.kinds.resource_types import EVENTS, ResourceType


def builtin_resources() -> Iterator[ResourceType]:
    """Yield the built-in resources in the order in which discovery lists them."""
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
    yield ResourceType("", "v1", "Event", "events", short_names=("ev",), stored_as=EVENTS)
    yield ResourceType("events.k8s.io", "v1", "Event", "events", short_names=("ev",), stored_as=EVENTS)


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

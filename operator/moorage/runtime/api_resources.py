"""The API paths of the kinds that moorage reads and writes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource in one API version."""

    kind: str
    api_version: str
    plural: str
    namespaced: bool = True
    field_selector: str = ""
    """The field selector of lists and watches."""
    optional: bool = False
    """Whether scheduling works if the API server does not serve the resource or forbids reading it."""

    @property
    def collection(self) -> str:
        """The path of all objects in the cluster."""
        return f"{self._root}/{self.plural}"

    @property
    def discovery(self) -> str:
        """The path at which the API server lists the resources of this API group and version."""
        return self._root

    def path(self, name: str, namespace: str = "") -> str:
        """Return the path of one object."""
        return f"{self.within(namespace)}/{name}"

    def within(self, namespace: str) -> str:
        """Return the path of the objects in a namespace, or of all objects of a cluster-scoped kind."""
        return f"{self._root}/namespaces/{namespace}/{self.plural}" if self.namespaced else self.collection

    @property
    def permission(self) -> str:
        """The API group and the plural name, which an RBAC rule needs, such as `storage.k8s.io/csinodes`."""
        group = self.api_version.rpartition("/")[0]
        return f"{group}/{self.plural}" if group else self.plural

    @property
    def _root(self) -> str:
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"


POD = Resource("Pod", "v1", "pods", field_selector="status.phase!=Succeeded,status.phase!=Failed")
NODE = Resource("Node", "v1", "nodes", namespaced=False)
NAMESPACE = Resource("Namespace", "v1", "namespaces", namespaced=False)
EVENT = Resource("Event", "events.k8s.io/v1", "events")
LEASE = Resource("Lease", "coordination.k8s.io/v1", "leases")
SCHEDULING_POLICY = Resource(
    "SchedulingPolicy", "scheduling.moorage.dev/v1alpha1", "schedulingpolicies", namespaced=False
)
SERVICE = Resource("Service", "v1", "services", optional=True)
REPLICATION_CONTROLLER = Resource("ReplicationController", "v1", "replicationcontrollers", optional=True)
REPLICA_SET = Resource("ReplicaSet", "apps/v1", "replicasets", optional=True)
STATEFUL_SET = Resource("StatefulSet", "apps/v1", "statefulsets", optional=True)
POD_DISRUPTION_BUDGET = Resource("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", optional=True)
PERSISTENT_VOLUME_CLAIM = Resource("PersistentVolumeClaim", "v1", "persistentvolumeclaims", optional=True)
PERSISTENT_VOLUME = Resource("PersistentVolume", "v1", "persistentvolumes", namespaced=False, optional=True)
STORAGE_CLASS = Resource("StorageClass", "storage.k8s.io/v1", "storageclasses", namespaced=False, optional=True)
CSI_NODE = Resource("CSINode", "storage.k8s.io/v1", "csinodes", namespaced=False, optional=True)
CSI_DRIVER = Resource("CSIDriver", "storage.k8s.io/v1", "csidrivers", namespaced=False, optional=True)
CSI_STORAGE_CAPACITY = Resource("CSIStorageCapacity", "storage.k8s.io/v1", "csistoragecapacities", optional=True)
VOLUME_ATTACHMENT = Resource(
    "VolumeAttachment", "storage.k8s.io/v1", "volumeattachments", namespaced=False, optional=True
)

DEVICE_CLASS = Resource("DeviceClass", "resource.k8s.io/v1", "deviceclasses", namespaced=False, optional=True)

INFORMED = (
    NODE, POD, NAMESPACE, SERVICE, REPLICATION_CONTROLLER, REPLICA_SET, STATEFUL_SET, POD_DISRUPTION_BUDGET,
    PERSISTENT_VOLUME_CLAIM, PERSISTENT_VOLUME, STORAGE_CLASS, CSI_NODE, CSI_DRIVER, CSI_STORAGE_CAPACITY,
    VOLUME_ATTACHMENT, DEVICE_CLASS,
)  # fmt: skip
"""The kinds that the informers list and watch for the engine."""

HOLDER_POD = "moorage.dev/holder-pod"
"""The Lease's annotation with the `namespace/name` of the holder's pod."""

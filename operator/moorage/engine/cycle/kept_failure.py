"""The last failure of a pod of one shape, which equal pods share until the cluster changes.

An event may requeue hundreds of pods of one template. The first pods take the room, and all others fail for the same
reasons. Only the first pod that fails runs the plugins.
"""

from msgspec import Struct

from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.fit_error import FitError
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod

State = tuple[int, int, int, int, int]
"""All generations of the cluster."""


class KeptFailure(Struct, eq=False):
    """The last failure of the pods of one shape with one profile."""

    _failure: FitError | None = None
    _state: State = (0, 0, 0, 0, 0)

    def of(self, pod: Pod, cluster: Snapshot) -> FitError | None:
        """Return the kept failure if this pod would fail in the same way, otherwise None.

        The pod fails in the same way if neither the cluster nor a field that plugins read differs.
        """
        failure = self._failure
        if failure is None or self._state != _state_of(cluster):
            return None
        other = failure.pre_filtered.pod
        is_equal = pod.priority == other.priority and pod.preemption_policy == other.preemption_policy
        return failure if is_equal and not cluster.nominated_nodes else None

    def keep(self, failure: FitError, cluster: Snapshot) -> None:
        """Keep a failure. It must not depend on nominated pods or on answers of extenders."""
        self._failure = failure
        self._state = _state_of(cluster)


def kept_failure(profile: Profile, pod: Pod, cluster: Snapshot) -> KeptFailure | None:
    """Return the store of the last failure of equal pods; None if such pods may have different results.

    For example, pods with volumes may use claims that are named after the pod, and a pod that is nominated to a node
    may preempt only there.
    """
    shape = pod.shape
    if shape.volumes or shape.resource_claims or pod.nominated_node_name or pod.required_node_name:
        return None
    return cluster.memo((profile, "failure"), shape, None, KeptFailure)


def _state_of(cluster: Snapshot) -> State:
    seen = cluster.generations
    return seen.nodes, seen.pods, seen.images, seen.namespaces, seen.objects

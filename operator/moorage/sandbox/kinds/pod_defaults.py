"""Defaults of absent pod fields, and admission of new pods: the priority and the tolerations of eviction taints."""

from collections.abc import Iterable

from moorage.sandbox.api_status import StatusError, forbidden
from moorage.sandbox.objects import Object, metadata

_EVICTION_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_EVICTION_SECONDS = 300  # the default of the admission plugin DefaultTolerationSeconds
_POD_DEFAULTS = {
    "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler", "enableServiceLinks": True,
}  # fmt: skip
_CONTAINER_DEFAULTS = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}


def default_pod(pod: Object) -> None:
    """Set absent fields of the spec to their defaults, in place."""
    spec = pod.setdefault("spec", {})
    for name, value in _POD_DEFAULTS.items():
        spec.setdefault(name, value)
    spec.setdefault("securityContext", {})
    for container in all_containers(pod):
        _default_container(container, host_network=bool(spec.get("hostNetwork")))


def all_containers(pod: Object) -> list[Object]:
    """Return the init containers, then the containers."""
    spec = pod.get("spec") or {}
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def admit_pod(pod: Object, priority_classes: Iterable[Object]) -> None:
    """Set the priority and the default tolerations of a new pod, in place.

    Does the work of the admission plugins Priority and DefaultTolerationSeconds. Raises a 403 for an unknown
    PriorityClass, and for a priority that differs from the value of the class.
    """
    _admit_priority(pod, list(priority_classes))
    tolerations = list(pod["spec"].get("tolerations") or ())
    for key in _EVICTION_TAINTS:
        if not any(_tolerates_eviction(toleration, key) for toleration in tolerations):
            tolerations.append(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _EVICTION_SECONDS}
            )
    pod["spec"]["tolerations"] = tolerations


def _default_container(container: Object, *, host_network: bool) -> None:
    for name, value in _CONTAINER_DEFAULTS.items():
        container.setdefault(name, value)
    image = container.get("image") or ""
    tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
    latest = "@" not in image and tag in {"", "latest"}
    container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if host_network and not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort")
    resources = container.setdefault("resources", {})
    if isinstance(resources.get("limits"), dict):
        resources["requests"] = resources["limits"] | (resources.get("requests") or {})


def _tolerates_eviction(toleration: Object, key: str) -> bool:
    return toleration.get("key", "") in {"", key} and toleration.get("effect", "") in {"", "NoExecute"}


def _admit_priority(pod: Object, classes: list[Object]) -> None:
    spec = pod["spec"]
    wanted = spec.get("priorityClassName")
    if wanted:
        found = next((item for item in classes if item["metadata"]["name"] == wanted), None)
        if found is None:
            raise _forbidden(pod, f"no PriorityClass with name {wanted} was found")
    else:
        found = next((item for item in classes if item.get("globalDefault")), None)
    value = found.get("value", 0) if found else 0
    if spec.get("priority", value) != value:
        reason = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise _forbidden(pod, reason)
    spec["priority"] = value
    if found:
        spec["priorityClassName"] = found["metadata"]["name"]
    spec.setdefault("preemptionPolicy", (found or {}).get("preemptionPolicy") or "PreemptLowerPriority")


def _forbidden(pod: Object, reason: str) -> StatusError:
    return forbidden("pods", "", metadata(pod).get("name") or "", reason)

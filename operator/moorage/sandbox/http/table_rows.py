"""The cells that `kubectl get` prints for kinds with special columns.

Upstream: pkg/printers/internalversion/printers.go. The function for a kind has the name of the kind.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from moorage.sandbox.objects import Object, dig, encode, find_condition, metadata, parse_timestamp

_NONE = "<none>"
_UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY
_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def age(stamp: Any, now: datetime) -> str:
    """Return the time since a timestamp, as kubectl prints it."""
    if not stamp:
        return _UNKNOWN
    return duration(int((now - parse_timestamp(stamp)).total_seconds()))


def duration(seconds: int) -> str:
    """Return a duration as kubectl prints it: 45s, 3m20s, 5h, 2d4h."""
    if seconds < 0:
        return "0s" if seconds > -2 else "<invalid>"  # noqa: PLR2004 - upstream tolerates almost two seconds of clock skew
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    steps = (
        (10 * _MINUTE, _MINUTE, "m", 1, "s"), (3 * _HOUR, _MINUTE, "m", 0, ""), (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
        (2 * _DAY, _HOUR, "h", 0, ""), (8 * _DAY, _DAY, "d", _HOUR, "h"), (2 * _YEAR, _DAY, "d", 0, ""),
        (8 * _YEAR, _YEAR, "y", _DAY, "d"),
    )  # fmt: skip
    for limit, unit, mark, small, small_mark in steps:
        if seconds < limit:
            rest = seconds % unit // small if small else 0
            return f"{seconds // unit}{mark}" + (f"{rest}{small_mark}" if rest else "")
    return f"{seconds // _YEAR}y"


def compact(value: Any) -> str:
    """Return a value of any type as the text of one cell."""
    return value if isinstance(value, str) else encode(value).decode()


def generic(obj: Object, now: datetime) -> list[Any]:
    """Return name and age."""
    return [_name(obj), _age(obj, now)]


def pod(obj: Object, now: datetime) -> list[Any]:
    """Return readiness, reason, restarts, age, address, node, nominated node and readiness gates."""
    spec, status = obj["spec"], obj.get("status") or {}
    statuses = status.get("containerStatuses") or []
    ready = sum(bool(item.get("ready")) for item in statuses)
    restarts = sum(item.get("restartCount", 0) for item in statuses)
    total = len(spec.get("containers") or ())
    ips = status.get("podIPs") or [{}]
    return [
        _name(obj), f"{ready}/{total}", _pod_reason(obj), str(restarts), _age(obj, now), ips[0].get("ip") or _NONE,
        spec.get("nodeName") or _NONE, status.get("nominatedNodeName") or _NONE, _readiness_gates(obj),
    ]  # fmt: skip


def node(obj: Object, now: datetime) -> list[Any]:
    """Return readiness, roles, age, version, addresses and system."""
    info = dig(obj, "status", "nodeInfo") or {}
    state = {"True": "Ready", "False": "NotReady"}.get(
        (find_condition(obj, "Ready") or {}).get("status", ""), "Unknown"
    )
    if dig(obj, "spec", "unschedulable"):
        state += ",SchedulingDisabled"
    prefix = "node-role.kubernetes.io/"
    roles = [label.removeprefix(prefix) for label in metadata(obj).get("labels") or {} if label.startswith(prefix)]
    addresses = {item.get("type"): item.get("address") for item in dig(obj, "status", "addresses") or ()}
    return [
        _name(obj), state, ",".join(sorted(roles)) or _NONE, _age(obj, now), info.get("kubeletVersion") or "",
        addresses.get("InternalIP") or _NONE, addresses.get("ExternalIP") or _NONE, info.get("osImage") or _UNKNOWN,
        info.get("kernelVersion") or _UNKNOWN, info.get("containerRuntimeVersion") or _UNKNOWN,
    ]  # fmt: skip


def event(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of an event in the stored version, core/v1."""
    involved = obj.get("involvedObject") or {}
    series = obj.get("series") or {}
    count = series.get("count") or obj.get("count") or 1
    first = obj.get("firstTimestamp") or obj.get("eventTime")
    last = series.get("lastObservedTime") or obj.get("lastTimestamp") or first
    seen = age(last, now)
    if count > 1:
        seen = f"{seen} (x{count} over {age(first, now)})"
    subject = f"{(involved.get('kind') or '').lower()}/{involved.get('name') or ''}"
    source = dig(obj, "source", "component") or obj.get("reportingComponent") or ""
    host = dig(obj, "source", "host") or obj.get("reportingInstance")
    return [
        seen, obj.get("type") or "", obj.get("reason") or "", subject, involved.get("fieldPath") or "",
        f"{source}, {host}" if host else source, (obj.get("message") or "").strip(), age(first, now), str(count),
        _name(obj),
    ]  # fmt: skip


def lease(obj: Object, now: datetime) -> list[Any]:
    """Return the holder."""
    return [_name(obj), dig(obj, "spec", "holderIdentity") or "", _age(obj, now)]


def namespace(obj: Object, now: datetime) -> list[Any]:
    """Return the phase: Active or Terminating."""
    return [_name(obj), dig(obj, "status", "phase") or "", _age(obj, now)]


def budget(obj: Object, now: datetime) -> list[Any]:
    """Return the bounds and the allowed disruptions."""
    spec = obj["spec"]
    bounds = [compact(spec[name]) if name in spec else "N/A" for name in ("minAvailable", "maxUnavailable")]
    return [_name(obj), *bounds, dig(obj, "status", "disruptionsAllowed") or 0, _age(obj, now)]


def priority_class(obj: Object, now: datetime) -> list[Any]:
    """Return the value, whether it is the global default, and the preemption policy."""
    is_default = "true" if obj.get("globalDefault") else "false"
    return [_name(obj), obj.get("value", 0), is_default, _age(obj, now), obj.get("preemptionPolicy") or ""]


def definition(obj: Object, now: datetime) -> list[Any]:
    """Return the creation time."""
    del now
    return [_name(obj), metadata(obj).get("creationTimestamp")]


def replica_set(obj: Object, now: datetime) -> list[Any]:
    """Return the desired, current and ready replicas."""
    status = obj.get("status") or {}
    counts = [obj["spec"].get("replicas", 1), status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [_name(obj), *counts, _age(obj, now)]


def deployment(obj: Object, now: datetime) -> list[Any]:
    """Return the ready, updated and available replicas."""
    status = obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{obj['spec'].get('replicas', 1)}"
    return [_name(obj), ready, status.get("updatedReplicas", 0), status.get("availableReplicas", 0), _age(obj, now)]


def claim(obj: Object, now: datetime) -> list[Any]:
    """Return the phase, the bound volume and its size."""
    spec, status = obj["spec"], obj.get("status") or {}
    size, modes = "", ""
    if spec.get("volumeName"):
        size = dig(status, "capacity", "storage") or ""
        modes = _modes(status.get("accessModes") or ())
    return [
        _name(obj), status.get("phase") or "", spec.get("volumeName") or "", size, modes,
        spec.get("storageClassName") or "", spec.get("volumeAttributesClassName") or "<unset>", _age(obj, now),
    ]  # fmt: skip


def storage_class(obj: Object, now: datetime) -> list[Any]:
    """Return the provisioner, the reclaim policy, the binding mode, and whether volumes can grow."""
    name = _name(obj)
    if dig(obj, "metadata", "annotations", "storageclass.kubernetes.io/is-default-class") == "true":
        name += " (default)"
    return [
        name, obj.get("provisioner") or "", obj.get("reclaimPolicy") or "Delete", obj.get("volumeBindingMode") or "",
        bool(obj.get("allowVolumeExpansion")), _age(obj, now),
    ]  # fmt: skip


def _pod_reason(obj: Object) -> str:
    status = obj.get("status") or {}
    phase = str(status.get("phase") or "")
    if metadata(obj).get("deletionTimestamp") and phase not in {"Succeeded", "Failed"}:
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    if (find_condition(obj, "PodScheduled") or {}).get("reason") == "SchedulingGated":
        return "SchedulingGated"
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        reason = dig(state, "waiting", "reason") or dig(state, "terminated", "reason")
        if reason:
            return str(reason)
    return str(status.get("reason") or phase)


def _readiness_gates(obj: Object) -> str:
    gates = obj["spec"].get("readinessGates") or []
    if not gates:
        return _NONE
    conditions = (find_condition(obj, gate.get("conditionType") or "") or {} for gate in gates)
    return f"{sum(condition.get('status') == 'True' for condition in conditions)}/{len(gates)}"


def _modes(modes: Iterable[str]) -> str:
    return ",".join(_ACCESS_MODES.get(mode, mode) for mode in modes)


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _age(obj: Object, now: datetime) -> str:
    return age(metadata(obj).get("creationTimestamp"), now)

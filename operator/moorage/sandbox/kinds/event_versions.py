"""The two versions of an event: core/v1, which the store holds, and events.k8s.io/v1, which recorders write.

Upstream: pkg/apis/events/v1/conversion.go; the validation is in pkg/apis/core/validation/events.go.
"""

from collections.abc import Iterator

from moorage.sandbox.api_status import FieldError
from moorage.sandbox.objects import Object, dig

_NAMES = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("reportingComponent", "reportingController"),
)
_TO_CORE = {modern: core for core, modern in _NAMES}
_TO_MODERN = dict(_NAMES)

NOTE_LIMIT_BYTES = 1024
_NAME_LIMIT = 128


def to_core(event: Object) -> Object:
    """Convert an events.k8s.io/v1 event to core/v1."""
    core = {_TO_CORE.get(name, name): value for name, value in event.items()}
    core["apiVersion"] = "v1"
    core.setdefault("source", {})
    core.setdefault("firstTimestamp", None)
    core.setdefault("lastTimestamp", None)
    return core


def to_modern(event: Object) -> Object:
    """Convert a core/v1 event to events.k8s.io/v1."""
    modern = {_TO_MODERN.get(name, name): value for name, value in event.items()}
    modern["apiVersion"] = "events.k8s.io/v1"
    modern.setdefault("eventTime", None)
    return modern


def modern_errors(event: Object) -> Iterator[FieldError]:
    """Yield the errors of a new events.k8s.io/v1 event that is already converted to core/v1."""
    for name, shown in (
        ("eventTime", "eventTime"), ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"), ("action", "action"), ("reason", "reason"),
    ):  # fmt: skip
        value = event.get(name)
        if not value:
            yield FieldError(shown, "FieldValueRequired")
        elif name not in {"eventTime", "reportingComponent"} and len(value) > _NAME_LIMIT:
            yield FieldError(shown, "FieldValueInvalid", value, f"can have at most {_NAME_LIMIT} characters")
    if len((event.get("message") or "").encode()) > NOTE_LIMIT_BYTES:
        yield FieldError(
            "message", "FieldValueInvalid", event["message"], f"can have at most {NOTE_LIMIT_BYTES} characters"
        )
    if event.get("type") not in {"Normal", "Warning"}:
        yield FieldError("type", "FieldValueInvalid", event.get("type") or "", "has invalid value: ")
    for name in ("source", "firstTimestamp", "lastTimestamp", "count"):
        if event.get(name):
            yield FieldError(name, "FieldValueInvalid", event[name], "needs to be unset")
    involved = dig(event, "involvedObject", "namespace") or ""
    own = event["metadata"].get("namespace")
    if involved and involved != own:
        yield FieldError("involvedObject.namespace", "FieldValueInvalid", involved, "does not match event.namespace")

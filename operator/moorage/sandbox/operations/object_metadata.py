"""Rules for the metadata of written objects: names, preconditions, and the fields that only the server sets.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/{create,update,meta}.go.
"""

import uuid

from moorage.sandbox.api_status import FieldError, bad_request, conflict, invalid, stale
from moorage.sandbox.objects import Object
from moorage.sandbox.operations.targets import Target
from moorage.sandbox.storage.store import Record

_GENERATED_NAME_CHARACTERS = 5  # utilrand.String(5) in apiserver's storage/names
_KEPT_ON_UPDATE = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "namespace", "name",
    "generateName",
)  # fmt: skip
_RESET_ON_CREATE = ("uid", "creationTimestamp", "deletionTimestamp", "managedFields", "generation", "selfLink")


def prepare_new_metadata(target: Target, obj: Object) -> None:
    """Generate the name if needed, and remove the fields that only the server sets, in place. Raises 400 and 422."""
    meta = obj["metadata"]
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = meta["generateName"] + uuid.uuid4().hex[:_GENERATED_NAME_CHARACTERS]
    if not meta.get("name"):
        error = FieldError("metadata.name", "FieldValueRequired", detail="name or generateName is required")
        raise invalid(target.resource.kind, target.resource.group, "", [error])
    if meta.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    for name in _RESET_ON_CREATE:
        meta.pop(name, None)


def keep_system_metadata(new: Object, old: Object) -> None:
    """Restore the old values of the fields that an update cannot change, in place."""
    meta, before = new["metadata"], old["metadata"]
    for name in _KEPT_ON_UPDATE:
        if name in before:
            meta[name] = before[name]
        else:
            meta.pop(name, None)
    if meta.get("managedFields") is None and before.get("managedFields") is not None:
        meta["managedFields"] = before["managedFields"]
    meta["resourceVersion"] = before["resourceVersion"]


def check_update_preconditions(target: Target, new: Object, old: Record) -> None:
    """Raise a 409 if a uid or resourceVersion in the new version differs from the stored version's."""
    if why := uid_mismatch(new["metadata"], old):
        raise conflict(*target.qualified, why)
    version = new["metadata"].get("resourceVersion")
    if version and version != str(old.revision):
        raise stale(*target.qualified)


def uid_mismatch(meta: Object, record: Record) -> str:
    """Return kube-apiserver's message if a uid in `meta` differs from the stored object's, or else an empty string."""
    wanted, uid = meta.get("uid"), record.obj["metadata"]["uid"]
    if not wanted or wanted == uid:
        return ""
    return f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {uid}"


def is_unchanged(new: Object, old: Object) -> bool:
    """Return whether two versions are equal. Ignores resourceVersion and the times in managedFields."""
    return _without_times(new) == _without_times(old)


def _without_times(obj: Object) -> Object:
    meta = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    if "managedFields" in meta:
        meta["managedFields"] = [{**entry, "time": None} for entry in meta["managedFields"]]
    return obj | {"metadata": meta}

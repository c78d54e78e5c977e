"""Lists: selected, paged, of now or of a past moment, in the form that the client takes."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from moorage.sandbox.http.forms import from_stored, served_json
from moorage.sandbox.http.request_info import integer
from moorage.sandbox.http.tables import Tables, partial_metadata
from moorage.sandbox.http.targets import Target
from moorage.sandbox.kinds.resources import ResourceType
from moorage.sandbox.objects import Object, decode, encode, key_of
from moorage.sandbox.status import ApiError, bad_request, expired
from moorage.sandbox.storage.registry import Registry
from moorage.sandbox.storage.selectors import Predicate, both, field_predicate, label_predicate
from moorage.sandbox.storage.store import Compacted, Record

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter."
)


@dataclass(frozen=True, slots=True)
class Form:
    """What the Accept header asks for: objects as they are, Tables, or only metadata."""

    kind: str
    include: str = "Metadata"

    @classmethod
    def of(cls, accept: str, query: Mapping[str, str]) -> "Form":
        """Read the header and `includeObject`."""
        for part in accept.split(","):
            if "as=Table" in part and "v=v1;" in part + ";":
                return cls("table", query.get("includeObject") or "Metadata")
            if "as=PartialObjectMetadata" in part:
                return cls("partial")
            if "application/json" in part or "*/*" in part:
                break
        return cls("json")


@dataclass(frozen=True, slots=True)
class Page:
    """Some records of a list, and what is known of the rest."""

    records: Sequence[Record]
    revision: int
    token: str = ""
    remaining: int = 0

    def metadata(self) -> Object:
        """Make the metav1.ListMeta."""
        meta: Object = {"resourceVersion": str(self.revision)}
        if self.token:
            meta |= {"continue": self.token, "remainingItemCount": self.remaining}
        return meta


def predicate_of(target: Target, query: Mapping[str, str]) -> Predicate | None:
    """Combine label selector, field selector and, on a single object, its name."""
    resource = target.resource
    selectable = resource.custom.selectable_fields if resource.custom else frozenset()
    fields = field_predicate(query.get("fieldSelector") or "", resource.storage, selectable)
    found = both(label_predicate(query.get("labelSelector") or ""), fields)
    if not target.name:
        return found
    return both(found, lambda obj: bool(obj["metadata"]["name"] == target.name))


def page(registry: Registry, target: Target, query: Mapping[str, str]) -> Page:
    """Select a page; raises 400, 410 and 504 (a revision from the future)."""
    predicate = predicate_of(target, query)
    limit = integer(query, "limit")
    revision, after = registry.store.revision, None
    if token := query.get("continue"):
        revision, after = _read_token(token)
        records = _past(registry, target, revision, _TOO_OLD)
    else:
        records, revision = _start(registry, target, query)
    if predicate is not None:
        records = [record for record in records if predicate(record.obj)]
    if after is not None:
        records = [record for record in records if key_of(record.obj) > after]
    if not limit or len(records) <= limit:
        return Page(records, revision)
    return Page(records[:limit], revision, _token(revision, records[limit - 1]), len(records) - limit)


def _start(registry: Registry, target: Target, query: Mapping[str, str]) -> tuple[Sequence[Record], int]:
    store = registry.store
    wanted, match = integer(query, "resourceVersion"), query.get("resourceVersionMatch")
    if wanted > store.revision:
        details = {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }
        message = f"Too large resource version: {wanted}, current: {store.revision}"
        raise ApiError(HTTPStatus.GATEWAY_TIMEOUT, "Timeout", message, details)
    if match == "Exact":
        return _past(
            registry, target, wanted, f"The resourceVersion for the provided list is too old: {wanted}"
        ), wanted
    return store.records(target.resource.storage, target.namespace), store.revision


def _past(registry: Registry, target: Target, revision: int, complaint: str) -> Sequence[Record]:
    try:
        return registry.store.records_at(target.resource.storage, revision, target.namespace)
    except Compacted as error:
        raise expired(complaint) from error


def _token(revision: int, last: Record) -> str:
    text = encode({"rv": revision, "after": key_of(last.obj)})
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, Any]:
    try:
        value = decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(value["rv"]), tuple(value["after"])
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise bad_request("continue key is not valid") from error


def list_json(resource: ResourceType, found: Page, form: Form, tables: Tables) -> bytes:
    """Encode a list; each object's own JSON is made once for all lists and watches."""
    meta = found.metadata()
    if form.kind == "table":
        return encode(tables.table(resource, found.records, meta, form.include))
    if form.kind == "partial":
        items = [partial_metadata(from_stored(resource, record.obj)) for record in found.records]
        kind = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
        return encode(kind | {"metadata": meta, "items": items})
    head = encode({"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": meta})
    items_json = b",".join(served_json(resource, record) for record in found.records)
    return head[:-1] + b',"items":[' + items_json + b"]}"


def object_json(resource: ResourceType, record: Record, form: Form, tables: Tables) -> bytes:
    """Encode one object in the form asked for."""
    if form.kind == "table":
        return encode(tables.table(resource, [record], {"resourceVersion": str(record.revision)}, form.include))
    if form.kind == "partial":
        return encode(partial_metadata(record.obj))
    return served_json(resource, record)

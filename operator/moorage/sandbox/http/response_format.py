"""Content negotiation. A client gets plain objects, Tables for kubectl, or metadata only.

The plain JSON of each stored version is encoded only once, for all lists and watches.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from moorage.sandbox.http.tables import META_API_VERSION, Tables, partial_metadata
from moorage.sandbox.kinds.conversion import from_stored
from moorage.sandbox.kinds.resource_types import ResourceType
from moorage.sandbox.objects import encode
from moorage.sandbox.operations.list_pages import RecordPage
from moorage.sandbox.storage.store import Record


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """The format that a client requests. `include` says which part of each object a Table contains."""

    kind: Literal["json", "table", "partial"] = "json"
    include: str = "Metadata"

    @classmethod
    def of(cls, accept: str, query: Mapping[str, str]) -> "ResponseFormat":
        """Return the format for an Accept header and a query. Uses the first known media type of the header."""
        for part in accept.split(","):
            if "as=Table" in part and "v=v1;" in part + ";":
                return cls("table", query.get("includeObject") or "Metadata")
            if "as=PartialObjectMetadata" in part:
                return cls("partial")
            if "application/json" in part or "*/*" in part:
                break
        return cls()


class ResponseEncoder:
    """The encoder for all resources and formats."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        """Use the clock `now` for ages in Tables."""
        self._tables = Tables(now)

    def encode_list(self, resource: ResourceType, page: RecordPage, form: ResponseFormat) -> bytes:
        """Return the JSON of a list."""
        meta = page.metadata()
        if form.kind == "table":
            return encode(self._tables.table(resource, page.records, meta, form.include))
        if form.kind == "partial":
            items = [partial_metadata(from_stored(resource, record.obj)) for record in page.records]
            kind = {"kind": "PartialObjectMetadataList", "apiVersion": META_API_VERSION}
            return encode(kind | {"metadata": meta, "items": items})
        head = encode({"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": meta})
        items_json = b",".join(_served_json(resource, record) for record in page.records)
        return head[:-1] + b',"items":[' + items_json + b"]}"

    def encode_object(self, resource: ResourceType, record: Record, form: ResponseFormat) -> bytes:
        """Return the JSON of one object."""
        if form.kind == "table":
            meta = {"resourceVersion": str(record.revision)}
            return encode(self._tables.table(resource, [record], meta, form.include))
        if form.kind == "partial":
            return encode(partial_metadata(record.obj))
        return _served_json(resource, record)


def _served_json(resource: ResourceType, record: Record) -> bytes:
    """Return the JSON of an object in the version that `resource` serves. Encodes it only once."""
    if record.obj.get("apiVersion") == resource.api_version:
        return record.json()
    found = record.encodings.get(resource.api_version)
    if found is None:
        found = record.encodings[resource.api_version] = encode(from_stored(resource, record.obj))
    return found

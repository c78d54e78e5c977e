"""Selection and paging of lists, at the current revision or a past one."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from moorage.sandbox.api_status import StatusError, bad_request, expired
from moorage.sandbox.objects import Object, decode, encode, key_of
from moorage.sandbox.operations.request_options import ListOptions
from moorage.sandbox.operations.selector_syntax import Predicate, both_match, field_predicate, label_predicate
from moorage.sandbox.operations.targets import Target
from moorage.sandbox.storage.store import Compacted, Record, Store

_CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter."
)
_VERSION_TOO_OLD = "The resourceVersion for the provided list is too old: {}"


@dataclass(frozen=True, slots=True)
class RecordPage:
    """The records of one page. `token` is the continue token. `remaining` is the number of records after the page."""

    records: Sequence[Record]
    revision: int
    token: str = ""
    remaining: int = 0

    def metadata(self) -> Object:
        """Return the metav1.ListMeta."""
        meta: Object = {"resourceVersion": str(self.revision)}
        if self.token:
            meta |= {"continue": self.token, "remainingItemCount": self.remaining}
        return meta


def predicate_of(target: Target, options: ListOptions) -> Predicate | None:
    """Return a predicate for the selectors and the target's name, or None if every object matches. Raises a 400."""
    resource = target.resource
    selectable = resource.custom.selectable_fields if resource.custom else frozenset()
    fields = field_predicate(options.field_selector, resource.collection, selectable)
    selected = both_match(label_predicate(options.label_selector), fields)
    if not target.name:
        return selected
    return both_match(selected, lambda obj: bool(obj["metadata"]["name"] == target.name))


def select_page(store: Store, target: Target, options: ListOptions) -> RecordPage:
    """Return one page of a list. Raises a 400, a 410 for a compacted revision, and a 504 for a future one."""
    predicate = predicate_of(target, options)
    after: Any = None
    if options.continue_token:
        revision, after = _read_token(options.continue_token)
        records = _records_at(store, target, revision, _CONTINUE_TOO_OLD)
    else:
        records, revision = _first_records(store, target, options)
    if predicate is not None:
        records = [record for record in records if predicate(record.obj)]
    if after is not None:
        records = [record for record in records if key_of(record.obj) > after]
    limit = options.limit
    if not limit or len(records) <= limit:
        return RecordPage(records, revision)
    return RecordPage(records[:limit], revision, _token(revision, records[limit - 1]), len(records) - limit)


def _first_records(store: Store, target: Target, options: ListOptions) -> tuple[Sequence[Record], int]:
    wanted = options.resource_version
    if wanted > store.revision:
        details = {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }
        message = f"Too large resource version: {wanted}, current: {store.revision}"
        raise StatusError(HTTPStatus.GATEWAY_TIMEOUT, "Timeout", message, details)
    if options.resource_version_match == "Exact":
        return _records_at(store, target, wanted, _VERSION_TOO_OLD.format(wanted)), wanted
    return store.records(target.resource.collection, target.namespace), store.revision


def _records_at(store: Store, target: Target, revision: int, message: str) -> Sequence[Record]:
    try:
        return store.records_at(target.resource.collection, revision, target.namespace)
    except Compacted as error:
        raise expired(message) from error


def _token(revision: int, last: Record) -> str:
    text = encode({"rv": revision, "after": key_of(last.obj)})
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, Any]:
    try:
        value = decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(value["rv"]), tuple(map(str, value["after"]))
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise bad_request("continue key is not valid") from error

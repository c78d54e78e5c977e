"""Checks the media types of patch requests, and computes the patched object. Does not validate the object."""

from typing import Any

from moorage.sandbox.api_status import bad_request, unsupported_media_type
from moorage.sandbox.kinds.resource_types import ResourceType
from moorage.sandbox.kinds.schemas import Schemas
from moorage.sandbox.objects import Object
from moorage.sandbox.patching.json_patch import json_patch
from moorage.sandbox.patching.media_types import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from moorage.sandbox.patching.merge_patch import merge_patch
from moorage.sandbox.patching.strategic_merge import strategic_merge

_FOR_BUILTIN_KINDS = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
_FOR_CUSTOM_KINDS = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def check_media_type(resource: ResourceType, media_type: str) -> None:
    """Raise a 415 for a patch that the resource does not accept."""
    accepted = _FOR_BUILTIN_KINDS if resource.custom is None else _FOR_CUSTOM_KINDS
    if media_type not in accepted:
        raise unsupported_media_type(accepted)


def apply_patch(schemas: Schemas, resource: ResourceType, media_type: str, served: Object, patch: Any) -> Object:
    """Return the patched copy of a served object. Handles all patches except apply. Raises 400 and 422."""
    if media_type == JSON_PATCH:
        return json_patch(served, patch)
    if not isinstance(patch, dict):
        raise bad_request("a merge patch must be an object")
    if media_type == STRATEGIC_MERGE_PATCH:
        return strategic_merge(served, patch, schemas.builtin(resource.group, resource.version, resource.kind))
    merged: Object = merge_patch(served, patch)
    return merged

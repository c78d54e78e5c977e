"""Decoding of request bodies: JSON, YAML, and kubectl's protobuf."""

from typing import Any

import yaml
from aiohttp import web

from moorage.sandbox.api_status import bad_request, unsupported_media_type
from moorage.sandbox.http import protobuf
from moorage.sandbox.objects import decode
from moorage.sandbox.patching.media_types import APPLY_PATCH


async def read_body(request: web.Request) -> Any:
    """Return the decoded body, or None if it is empty. Raises a 400 or a 415."""
    data = await request.read()
    if not data:
        return None
    try:
        if data.startswith(protobuf.MAGIC):
            return protobuf.decode(data)
        if request.content_type in {APPLY_PATCH, "application/yaml"} and not data.lstrip().startswith(b"{"):
            return yaml.safe_load(data)
        return decode(data)
    except protobuf.UnknownMessageError as error:
        message = (
            f"the sandbox cannot decode the kind {error} from protobuf, which `kubectl create` sends; run "
            "`kubectl create ... --dry-run=client -o yaml | kubectl apply -f -` instead"
        )
        raise unsupported_media_type(["application/json", "application/yaml"], message) from error
    except (ValueError, yaml.YAMLError) as error:
        raise bad_request(f"the body cannot be decoded: {error}") from error

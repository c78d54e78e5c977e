"""Handlers of non-resource paths: health, version, discovery and OpenAPI."""

from aiohttp import web

from moorage.sandbox.api_status import no_such_resource
from moorage.sandbox.http import discovery
from moorage.sandbox.http.openapi import OpenApi
from moorage.sandbox.http.responses import json_response
from moorage.sandbox.objects import Object, encode
from moorage.sandbox.operations.object_registry import ObjectRegistry

_OPENAPI_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


class NonResourceHandlers:
    """The handlers of requests that name no resource."""

    def __init__(self, registry: ObjectRegistry) -> None:
        """Describe the resources of `registry`."""
        self._resources = registry.resources
        self._openapi = OpenApi(registry.resources, registry.schemas)

    def handle(self, request: web.Request) -> web.Response | None:
        """Return the response, or None if the path names a resource. Raises a 404 for an unknown path."""
        match request.path.strip("/").split("/"):
            case ["healthz" | "livez" | "readyz", *_]:
                return web.Response(text="ok")
            case ["version"]:
                return json_response(encode(discovery.version()))
            case ["openapi", "v2"]:
                # kubectl reads this before it creates the items of a v1 List. An empty protobuf document is enough.
                return web.Response(body=b"", content_type=_OPENAPI_V2)
            case ["openapi", "v3"]:
                return json_response(encode(self._openapi.index()))
            case ["openapi", "v3", *rest]:
                return _response(self._openapi.document("/".join(rest)))
            case ["api" | "apis" as root, *rest]:
                return self._discover(root, rest, request.headers.get("Accept", ""))
            case _:
                raise no_such_resource()

    def _discover(self, root: str, rest: list[str], accept: str) -> web.Response | None:
        match root, rest:
            case _, [] if discovery.wants_aggregated(accept):
                body = encode(discovery.aggregated(self._resources, core=root == "api"))
                return web.Response(body=body, headers={"Content-Type": discovery.AGGREGATED})
            case _, []:
                found = discovery.core_versions() if root == "api" else discovery.group_list(self._resources)
                return json_response(encode(found))
            case "api", [version]:
                return _encoded_response(discovery.resource_list(self._resources, "", version))
            case "apis", [group]:
                return _encoded_response(discovery.group(self._resources, group))
            case "apis", [group, version]:
                return _encoded_response(discovery.resource_list(self._resources, group, version))
            case _:
                return None


def _encoded_response(body: Object | None) -> web.Response:
    return _response(None if body is None else encode(body))


def _response(body: bytes | None) -> web.Response:
    if body is None:
        raise no_such_resource()
    return json_response(body)

"""Answers to what is not about resources: health, version, discovery, OpenAPI."""

from aiohttp import web

from moorage.sandbox.http import discovery
from moorage.sandbox.http.handlers import json_response
from moorage.sandbox.http.openapi import OpenApi
from moorage.sandbox.objects import Object, encode
from moorage.sandbox.status import no_such_resource
from moorage.sandbox.storage.registry import Registry

OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version"})
"""Paths that even a wrong token may read."""
_OPENAPI_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


class General:
    """What a client asks first, to find out what else it can ask."""

    def __init__(self, registry: Registry) -> None:
        """Describe what a registry serves."""
        self._resources = registry.resources
        self._openapi = OpenApi(registry.resources, registry.schemas)

    def answer(self, request: web.Request) -> web.Response | None:
        """Answer, or None for a request about resources; raises a 404."""
        match request.path.strip("/").split("/"):
            case ["healthz" | "livez" | "readyz", *_]:
                return web.Response(text="ok")
            case ["version"]:
                return json_response(encode(discovery.version()))
            case ["openapi", "v2"]:
                # An empty document of the protobuf that kubectl asks for. It falls back on it for a v1 List.
                return web.Response(body=b"", content_type=_OPENAPI_V2)
            case ["openapi", "v3"]:
                return json_response(encode(self._openapi.index()))
            case ["openapi", "v3", *rest]:
                return _found(self._openapi.document("/".join(rest)))
            case ["api" | "apis" as root, *rest]:
                return self._discovery(root, rest, request.headers.get("Accept", ""))
            case _:
                raise no_such_resource()

    def _discovery(self, root: str, rest: list[str], accept: str) -> web.Response | None:
        match root, rest:
            case _, [] if discovery.wants_aggregated(accept):
                body = encode(discovery.aggregated(self._resources, core=root == "api"))
                return web.Response(body=body, headers={"Content-Type": discovery.AGGREGATED})
            case _, []:
                found = discovery.core_versions() if root == "api" else discovery.group_list(self._resources)
                return json_response(encode(found))
            case "api", [version]:
                return _described(discovery.resource_list(self._resources, "", version))
            case "apis", [group]:
                return _described(discovery.group(self._resources, group))
            case "apis", [group, version]:
                return _described(discovery.resource_list(self._resources, group, version))
            case _:
                return None


def _described(body: Object | None) -> web.Response:
    return _found(None if body is None else encode(body))


def _found(body: bytes | None) -> web.Response:
    if body is None:
        raise no_such_resource()
    return json_response(body)

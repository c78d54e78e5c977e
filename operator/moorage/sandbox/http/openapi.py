"""OpenAPI v3 documents, with only the parts that kubectl explain, apply and diff read: schemas, and verbs of kinds."""

from collections.abc import Iterator, Mapping
from typing import Any

from moorage.sandbox.kinds.resource_types import ResourceType
from moorage.sandbox.kinds.schemas import SERVED_VERSION, Schemas
from moorage.sandbox.kinds.served_resources import ServedResources
from moorage.sandbox.objects import Object, encode
from moorage.sandbox.patching.media_types import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH

_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_PREFIX = "#/components/schemas/"
_QUERY = [
    {"name": name, "in": "query", "schema": {"type": "string"}}
    for name in ("dryRun", "fieldManager", "fieldValidation", "force")
]


class OpenApi:
    """The OpenAPI documents, one for each group and version. They are cached until the served resources change."""

    def __init__(self, resources: ServedResources, schemas: Schemas) -> None:
        """Describe `resources`. `schemas` has the schemas of the built-in kinds."""
        self._resources = resources
        self._schemas = schemas
        self._generation = -1
        self._documents: dict[str, bytes] = {}

    def index(self) -> Object:
        """Return the body of /openapi/v3. The hash in each URL changes when the served resources change."""
        paths = dict.fromkeys(_path(resource) for resource in self._resources)
        generation = self._resources.generation
        return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={generation}"} for path in paths}}

    def document(self, path: str) -> bytes | None:
        """Return the body of /openapi/v3/PATH, or None for an unknown path such as `apis/none/v1`."""
        if self._generation != self._resources.generation:
            self._documents.clear()
            self._generation = self._resources.generation
        if path not in self._documents:
            found = [resource for resource in self._resources if _path(resource) == path]
            if not found:
                return None
            self._documents[path] = encode(self._describe(found))
        return self._documents[path]

    def _describe(self, found: list[ResourceType]) -> Object:
        schemas: Object = {}
        paths: Object = {}
        for resource in found:
            name = self._add_schema(resource, schemas)
            if name:
                paths.update(_paths(resource, name))
        info = {"title": "moorage sandbox", "version": SERVED_VERSION}
        return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}

    def _add_schema(self, resource: ResourceType, schemas: Object) -> str:
        if resource.custom is not None:
            name = ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
            schemas[name] = _custom_schema(resource)
            self._add_definition(_META, schemas)
            return name
        found = self._schemas.name_of(resource.group, resource.version, resource.kind)
        if found:
            self._add_definition(found, schemas)
        return found or ""

    def _add_definition(self, name: str, schemas: Object) -> None:
        if name in schemas:
            return
        node = self._schemas.definitions[name]
        schemas[name] = _published(node)
        for reference in _references(node):
            self._add_definition(reference, schemas)


def _path(resource: ResourceType) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def _custom_schema(resource: ResourceType) -> Object:
    raw = resource.custom.raw_schema if resource.custom else {}
    properties = {
        "apiVersion": {"type": "string", "description": "The version of this kind's API."},
        "kind": {"type": "string", "description": "The kind of the object."},
        "metadata": {"allOf": [{"$ref": _PREFIX + _META}], "description": "Standard object metadata."},
    }
    properties |= {name: node for name, node in (raw.get("properties") or {}).items() if name not in properties}
    gvk = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    return {**raw, "properties": properties, "x-kubernetes-group-version-kind": [gvk]}


def _published(node: Any) -> Any:
    """Convert a node of kubernetes-validate's JSON Schema to OpenAPI, with one type, and references to components."""
    if isinstance(node, list):
        return [_published(item) for item in node]
    if not isinstance(node, dict):
        return node
    result = {}
    for name, value in node.items():
        if name == "type" and isinstance(value, list):
            result[name] = next(item for item in value if item != "null")
        elif name == "$ref" and isinstance(value, str):
            result[name] = value.replace("#/$defs/", _PREFIX)
        elif name != "x-moorage-any" and not (name == "enum" and isinstance(value, list)):
            result[name] = _published(value)
    if isinstance(result.get("$ref"), str) and len(result) > 1:
        result["allOf"] = [{"$ref": result.pop("$ref")}]
    return result


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _references(item)
    elif isinstance(node, Mapping):
        for name, value in node.items():
            if name == "$ref" and isinstance(value, str):
                yield value.rpartition("/")[2]
            else:
                yield from _references(value)


def _paths(resource: ResourceType, schema_name: str) -> Object:
    base = f"/{_path(resource)}" + ("/namespaces/{namespace}" if resource.namespaced else "") + f"/{resource.plural}"
    gvk = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    content = {"application/json": {"schema": {"$ref": _PREFIX + schema_name}}}
    answer = {"200": {"description": "OK", "content": content}}

    def operation(action: str, body: Mapping[str, Any] | None = None) -> Object:
        made: Object = {"x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk, "responses": answer}
        if body is not None:
            made |= {"parameters": _QUERY, "requestBody": {"content": body}}
        return made

    collection = {"post": operation("post", content)}
    if "list" not in resource.verbs:
        return {base: collection}
    kinds = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH] + ([] if resource.custom else [STRATEGIC_MERGE_PATCH])
    patch = operation("patch", {kind: {"schema": {"type": "object"}} for kind in kinds})
    item = {"get": operation("get"), "put": operation("put", content), "patch": patch, "delete": operation("delete")}
    return {base: {"get": operation("list"), **collection}, base + "/{name}": item}

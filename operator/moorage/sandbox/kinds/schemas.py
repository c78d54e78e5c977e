"""Schemas of kinds. Defaulting, pruning, validation and patches use the same class for built-in and custom kinds."""

from collections.abc import Mapping
from functools import cached_property
from importlib import resources
from typing import Any

from moorage.errors import MoorageError
from moorage.sandbox.objects import decode

SERVED_VERSION = "v1.36.0"
"""The Kubernetes release whose kinds the sandbox serves."""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_ANY_JSON = frozenset(
    {
        f"{_EXTENSIONS}JSON",
        f"{_EXTENSIONS}JSONSchemaPropsOrStringArray",
        f"{_META}FieldsV1",
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
    }
)
"""Definitions whose values can be any JSON. They have no named fields."""


class MissingSandboxExtraError(MoorageError):
    """An error for a missing library of the `sandbox` extra."""

    def __init__(self, library: str) -> None:
        """Name the library and the command that installs it."""
        super().__init__(f"the sandbox needs {library}: pip install 'moorage[sandbox]'")


class Schema:
    """One node of an OpenAPI schema. It follows references, and creates child nodes on first use."""

    def __init__(self, node: Mapping[str, Any], definitions: Mapping[str, Any]) -> None:
        """Wrap a node whose `$ref`s point into `definitions`."""
        self._definitions = definitions
        self._children: dict[str, Schema | None] = {}
        self.node = _resolve(node, definitions)

    @cached_property
    def types(self) -> frozenset[str]:
        """The JSON types that the value may have, without `null`. Empty means any type."""
        if self.node.get("x-kubernetes-int-or-string") or "oneOf" in self.node:
            return frozenset(("integer", "number", "string")) if self.is_quantity else frozenset(("integer", "string"))
        found = self.node.get("type")
        names = found if isinstance(found, list) else [found] if found else []
        return frozenset(name for name in names if name != "null")

    @cached_property
    def is_quantity(self) -> bool:
        """Whether the value is a quantity of a built-in kind."""
        return any("number" in (option.get("type") or ()) for option in self.node.get("oneOf", ()))

    @cached_property
    def properties(self) -> Mapping[str, Any]:
        """The nodes of the named fields."""
        found: Mapping[str, Any] = self.node.get("properties") or {}
        return found

    @cached_property
    def keeps_unknown(self) -> bool:
        """Whether pruning keeps fields that the schema does not name."""
        if self.node.get("x-kubernetes-preserve-unknown-fields") or self.node.get("additionalProperties") is True:
            return True
        return bool(self.node.get("x-moorage-any"))

    def field(self, name: str) -> "Schema | None":
        """Return the schema of a named field or of a map's values, or None for an unknown field."""
        if name not in self._children:
            node = self.properties.get(name)
            if node is None and isinstance(self.node.get("additionalProperties"), dict):
                node = self.node["additionalProperties"]
            self._children[name] = None if node is None else Schema(node, self._definitions)
        return self._children[name]

    @cached_property
    def items(self) -> "Schema | None":
        """The schema of a list's items, or None."""
        node = self.node.get("items")
        return None if node is None else Schema(node, self._definitions)

    @property
    def list_type(self) -> str:
        """The merge strategy of a list in server-side apply: atomic, set or map."""
        return str(self.node.get("x-kubernetes-list-type") or "atomic")

    @property
    def list_keys(self) -> tuple[str, ...]:
        """The fields that identify an item of a list of type map."""
        return tuple(self.node.get("x-kubernetes-list-map-keys") or ())

    @property
    def is_atomic_map(self) -> bool:
        """Whether server-side apply treats an object as one value."""
        return self.node.get("x-kubernetes-map-type") == "atomic" or (self.keeps_unknown and not self.properties)

    @property
    def merge_key(self) -> str:
        """The field that identifies list items in strategic merge patches.

        If it is empty, a patch replaces or extends the whole list.
        """
        return str(self.node.get("x-kubernetes-patch-merge-key") or "")

    @property
    def patch_strategies(self) -> frozenset[str]:
        """The strategies of strategic merge patches for the value: merge, retainKeys, replace."""
        return frozenset(str(self.node.get("x-kubernetes-patch-strategy") or "").split(","))


class Schemas:
    """The schemas of the built-in kinds. They come from the package kubernetes-validate and are read on first use."""

    @cached_property
    def definitions(self) -> dict[str, Any]:
        """All definitions by name. Their `$ref`s have the form `#/$defs/NAME`."""
        try:
            package = resources.files("kubernetes_validate")
        except ModuleNotFoundError as error:
            raise MissingSandboxExtraError("kubernetes-validate") from error
        path = package / "kubernetes-json-schema" / f"{SERVED_VERSION}-local" / "_definitions.json"
        found: dict[str, Any] = decode(path.read_bytes())["$defs"]
        for name in _ANY_JSON & found.keys():
            found[name] |= {"x-moorage-any": True}
        nested = found[f"{_EXTENSIONS}JSONSchemaProps"]
        found[f"{_EXTENSIONS}JSONSchemaPropsOrArray"] |= {"type": "object", "properties": nested["properties"]}
        found[f"{_EXTENSIONS}JSONSchemaPropsOrBool"] |= {
            "type": ["object", "boolean"],
            "properties": nested["properties"],
        }  # the package gives no types here. Arrays of schemas are not structural, so the server refuses them.
        return found

    def name_of(self, group: str, version: str, kind: str) -> str | None:
        """Return the name of a kind's definition, or None."""
        return self._names.get((group, version, kind))

    def builtin(self, group: str, version: str, kind: str) -> Schema | None:
        """Return the schema of a built-in kind, or None."""
        name = self.name_of(group, version, kind)
        if name is None:
            return None
        if name not in self._built:
            self._built[name] = Schema(self.definitions[name], self.definitions)
        return self._built[name]

    def custom(self, node: Mapping[str, Any]) -> Schema:
        """Return the schema of a custom kind, with the metadata schema that all objects share."""
        properties = dict(node.get("properties") or {})
        properties |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
        properties["metadata"] = {"$ref": f"#/$defs/{_META}ObjectMeta"}
        return Schema(dict(node) | {"properties": properties}, self.definitions)

    @cached_property
    def _names(self) -> dict[tuple[str, str, str], str]:
        return {
            (gvk["group"], gvk["version"], gvk["kind"]): name
            for name, node in self.definitions.items()
            for gvk in node.get("x-kubernetes-group-version-kind", ())
        }

    @cached_property
    def _built(self) -> dict[str, Schema]:
        return {}


def _resolve(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    while reference := node.get("$ref"):
        siblings = {name: value for name, value in node.items() if name != "$ref"}
        node = {**definitions[reference.rpartition("/")[2]], **siblings}
    return node

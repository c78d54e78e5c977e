"""The resources that a CustomResourceDefinition defines, and the defaults and status of the definition."""

from collections.abc import Iterator

from moorage.sandbox.kinds.cel import CelRules
from moorage.sandbox.kinds.custom_kinds import CustomKind
from moorage.sandbox.kinds.resource_types import ResourceType
from moorage.sandbox.kinds.schemas import Schemas
from moorage.sandbox.objects import Object, copy, dig


def served_types(crd: Object, schemas: Schemas, rules: CelRules) -> Iterator[ResourceType]:
    """Yield one resource for each served version of a CustomResourceDefinition."""
    spec = crd["spec"]
    names = spec["names"]
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        raw = dig(version, "schema", "openAPIV3Schema") or {"type": "object"}
        paths = (field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ())
        schema = schemas.custom(raw)
        custom = CustomKind(
            schema, rules, names["listKind"],
            tuple(version.get("additionalPrinterColumns") or ()), frozenset(paths), raw, rules.present_in(schema),
        )  # fmt: skip
        yield ResourceType(
            spec["group"], version["name"], names["kind"], names["plural"],
            namespaced=spec["scope"] == "Namespaced", singular=names["singular"],
            short_names=tuple(names.get("shortNames") or ()), categories=tuple(names.get("categories") or ()),
            has_status=dig(version, "subresources", "status") is not None, custom=custom,
        )  # fmt: skip


def default_definition(crd: Object) -> None:
    """Set the defaults of a CustomResourceDefinition, in place."""
    names = crd["spec"].setdefault("names", {})
    if "kind" in names:
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")
    crd["spec"].setdefault("conversion", {"strategy": "None"})


def established_status(crd: Object, now: str) -> Object:
    """Return a status that reports accepted names and a served kind. Keeps the conditions of the definition, if any."""
    conditions = [
        {
            "type": "NamesAccepted", "status": "True", "lastTransitionTime": now,
            "reason": "NoConflicts", "message": "no conflicts found",
        },
        {
            "type": "Established", "status": "True", "lastTransitionTime": now,
            "reason": "InitialNamesAccepted", "message": "the initial names have been accepted",
        },
    ]  # fmt: skip
    kept = dig(crd, "status", "conditions")
    stored = next(version["name"] for version in crd["spec"]["versions"] if version.get("storage"))
    versions = list(dict.fromkeys([*(dig(crd, "status", "storedVersions") or ()), stored]))
    return {
        "acceptedNames": copy(crd["spec"]["names"]), "conditions": kept or conditions, "storedVersions": versions,
    }  # fmt: skip

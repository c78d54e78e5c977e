"""Discovery documents, aggregated or unaggregated. They list the served groups, versions and resources."""

from collections import defaultdict
from collections.abc import Mapping

from moorage.sandbox.kinds.resource_types import ResourceType
from moorage.sandbox.kinds.schemas import SERVED_VERSION
from moorage.sandbox.kinds.served_resources import ServedResources
from moorage.sandbox.objects import Object

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_SUBRESOURCE_VERBS = {"status": ["get", "patch", "update"], "binding": ["create"], "eviction": ["create"]}
_SUBRESOURCE_KINDS = {
    "pods/binding": ("", "v1", "Binding"),
    "pods/eviction": ("policy", "v1", "Eviction"),
}


def version() -> Object:
    """Return the body of /version."""
    major, minor, _ = SERVED_VERSION.removeprefix("v").split(".")
    return {
        "major": major, "minor": minor, "gitVersion": SERVED_VERSION, "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "moorage/sandbox",
    }  # fmt: skip


def wants_aggregated(accept: str) -> bool:
    """Return whether the client accepts aggregated discovery."""
    return "as=APIGroupDiscoveryList" in accept and "v=v2" in accept.replace("v=v2beta1", "")


def aggregated(resources: ServedResources, *, core: bool) -> Object:
    """Return the aggregated body of /api if `core` is true, and of /apis otherwise."""
    groups = _by_group(resources)
    items = [
        {
            "metadata": {"name": group} if group else {"creationTimestamp": None},
            "versions": [
                {"version": name, "resources": [_aggregated(item) for item in found], "freshness": "Current"}
                for name, found in versions.items()
            ],
        }
        for group, versions in groups.items()
        if (not group) is core
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def core_versions() -> Object:
    """Return the unaggregated body of /api."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def group_list(resources: ServedResources) -> Object:
    """Return the unaggregated body of /apis."""
    groups = [_group(name, list(versions)) for name, versions in _by_group(resources).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(resources: ServedResources, name: str) -> Object | None:
    """Return the body of /apis/GROUP, or None for an unknown group."""
    versions = _by_group(resources).get(name)
    return None if not versions else {"kind": "APIGroup", "apiVersion": "v1", **_group(name, list(versions))}


def resource_list(resources: ServedResources, group_name: str, version_: str) -> Object | None:
    """Return the body of /api/v1 or /apis/GROUP/VERSION, or None for an unknown version."""
    found = _by_group(resources).get(group_name, {}).get(version_)
    if not found:
        return None
    listed: list[Object] = []
    for resource in found:
        listed.append(_listed(resource))
        listed.extend(_listed_subresource(resource, name) for name in resource.all_subresources)
    return {
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": found[0].api_version, "resources": listed,
    }  # fmt: skip


def _by_group(resources: ServedResources) -> Mapping[str, Mapping[str, list[ResourceType]]]:
    groups: dict[str, dict[str, list[ResourceType]]] = defaultdict(lambda: defaultdict(list))
    for resource in resources:
        groups[resource.group][resource.version].append(resource)
    return groups


def _aggregated(resource: ResourceType) -> Object:
    found: Object = {
        "resource": resource.plural, "responseKind": _kind(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster", "singularResource": _singular(resource),
        "verbs": list(resource.verbs), **_optional_fields(resource),
    }  # fmt: skip
    subresources = [
        {
            "subresource": name,
            "responseKind": _kind(*_subresource_kind(resource, name)),
            "verbs": _SUBRESOURCE_VERBS[name],
        }
        for name in resource.all_subresources
    ]
    return found | {"subresources": subresources} if subresources else found


def _subresource_kind(resource: ResourceType, name: str) -> tuple[str, str, str]:
    own = (resource.group, resource.version, resource.kind)
    return _SUBRESOURCE_KINDS.get(f"{resource.plural}/{name}", own)


def _kind(group: str, version_: str, kind: str) -> Object:
    return {"group": group, "version": version_, "kind": kind}


def _singular(resource: ResourceType) -> str:
    return resource.singular or resource.kind.lower()


def _optional_fields(resource: ResourceType) -> Object:
    """Return the short names and the categories. Omits empty lists."""
    names = {"shortNames": list(resource.short_names), "categories": list(resource.categories)}
    return {name: values for name, values in names.items() if values}


def _group(name: str, versions: list[str]) -> Object:
    found = [{"groupVersion": f"{name}/{version_}", "version": version_} for version_ in versions]
    return {"name": name, "versions": found, "preferredVersion": found[0]}


def _listed(resource: ResourceType) -> Object:
    return {
        "name": resource.plural, "singularName": _singular(resource), "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": list(resource.verbs), **_optional_fields(resource),
    }  # fmt: skip


def _listed_subresource(resource: ResourceType, name: str) -> Object:
    group_name, version_, kind = _subresource_kind(resource, name)
    entry = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced, "kind": kind}
    if group_name != resource.group:
        entry |= {"group": group_name, "version": version_}
    return entry | {"verbs": _SUBRESOURCE_VERBS[name]}

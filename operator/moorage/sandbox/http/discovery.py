"""What the server says about its own API: versions, groups and resources, aggregated and the old way."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from moorage.sandbox.kinds.resources import Resources, ResourceType
from moorage.sandbox.kinds.schemas import SERVED_VERSION
from moorage.sandbox.objects import Object

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_SUBRESOURCE_VERBS = {"status": ["get", "patch", "update"], "binding": ["create"], "eviction": ["create"]}
_SUBRESOURCE_KINDS = {
    "pods/binding": ("", "v1", "Binding"),
    "pods/eviction": ("policy", "v1", "Eviction"),
}


def version() -> Object:
    """Answer /version."""
    major, minor, _ = SERVED_VERSION.removeprefix("v").split(".")
    return {
        "major": major, "minor": minor, "gitVersion": SERVED_VERSION, "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "moorage/sandbox",
    }  # fmt: skip


def wants_aggregated(accept: str) -> bool:
    """Whether the client takes aggregated discovery."""
    return "as=APIGroupDiscoveryList" in accept and "v=v2" in accept.replace("v=v2beta1", "")


def aggregated(resources: Resources, *, core: bool) -> Object:
    """Answer /api (core) or /apis with everything below it."""
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


def _by_group(resources: Resources) -> Mapping[str, Mapping[str, list[ResourceType]]]:
    groups: dict[str, dict[str, list[ResourceType]]] = defaultdict(lambda: defaultdict(list))
    for resource in resources:
        groups[resource.group][resource.version].append(resource)
    return groups


def _aggregated(resource: ResourceType) -> Object:
    found: Object = {
        "resource": resource.plural, "responseKind": _kind(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster", "singularResource": _singular(resource),
        "verbs": list(resource.verbs),
    }  # fmt: skip
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    subresources = [
        {
            "subresource": name,
            "responseKind": _kind(*_subresource_kind(resource, name)),
            "verbs": _SUBRESOURCE_VERBS[name],
        }
        for name in _subresources(resource)
    ]
    return found | {"subresources": subresources} if subresources else found


def _subresources(resource: ResourceType) -> list[str]:
    return [*resource.subresources, *(["status"] if resource.has_status else [])]


def _subresource_kind(resource: ResourceType, name: str) -> tuple[str, str, str]:
    own = (resource.group, resource.version, resource.kind)
    return _SUBRESOURCE_KINDS.get(f"{resource.plural}/{name}", own)


def _kind(group: str, version_: str, kind: str) -> Object:
    return {"group": group, "version": version_, "kind": kind}


def _singular(resource: ResourceType) -> str:
    return resource.singular or resource.kind.lower()


def core_versions() -> Object:
    """Answer /api the old way."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def group_list(resources: Resources) -> Object:
    """Answer /apis the old way."""
    groups = [_group(name, list(versions)) for name, versions in _by_group(resources).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(resources: Resources, name: str) -> Object | None:
    """Answer /apis/GROUP."""
    versions = _by_group(resources).get(name)
    return None if not versions else {"kind": "APIGroup", "apiVersion": "v1", **_group(name, list(versions))}


def _group(name: str, versions: list[str]) -> Object:
    found = [{"groupVersion": f"{name}/{version_}", "version": version_} for version_ in versions]
    return {"name": name, "versions": found, "preferredVersion": found[0]}


def resource_list(resources: Resources, group_name: str, version_: str) -> Object | None:
    """Answer /api/v1 or /apis/GROUP/VERSION."""
    found = _by_group(resources).get(group_name, {}).get(version_)
    if not found:
        return None
    listed: list[Object] = []
    for resource in found:
        listed.append(_listed(resource))
        listed.extend(_listed_subresource(resource, name) for name in _subresources(resource))
    return {
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": found[0].api_version, "resources": listed,
    }  # fmt: skip


def _listed(resource: ResourceType) -> Object:
    entry: dict[str, Any] = {
        "name": resource.plural, "singularName": _singular(resource), "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": list(resource.verbs),
    }  # fmt: skip
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    return entry


def _listed_subresource(resource: ResourceType, name: str) -> Object:
    group_name, version_, kind = _subresource_kind(resource, name)
    entry = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced, "kind": kind}
    if group_name != resource.group:
        entry |= {"group": group_name, "version": version_}
    return entry | {"verbs": _SUBRESOURCE_VERBS[name]}

"""Replaces the names in a SchedulingPolicy. Zones, instance types, GPU models and plugins keep their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from moorage.inventory.names import Names
from moorage.inventory.read_fields import Json
from moorage.inventory.rename_fields import rename
from moorage.model.api_selectors import ApiLabelSelector
from moorage.model.pods.api_constraints import ApiNodeAffinity, ApiSpreadConstraint

Section = Callable[[Names, Any], Any]

WITHOUT_NAMES = frozenset(
    {
        "DefaultPreemption", "DynamicResources", "InstanceType", "InterPodAffinity", "NodeDeclaredFeatures",
        "ServerlessNodes", "VolumeBinding", "ZoneSpread",
    }
)  # fmt: skip
"""Plugins whose arguments contain no names that must be replaced."""
SPEC_WITHOUT_NAMES = frozenset(
    {
        "allowDefaultScheduler", "backoff", "instanceTypes", "mode", "paused", "percentageOfNodesToScore", "plugins",
        "preemption", "preset", "weights", "zones",
    }
)  # fmt: skip
"""Fields of the spec that contain no names that must be replaced."""


def rename_policy(names: Names, policy: Json, note: Callable[[str], None]) -> Json:
    """Return a policy with tokens. Call `note` for arguments of a plugin that this module does not know."""
    metadata, spec = dict(policy["metadata"]), dict(policy.get("spec") or {})
    name = metadata["name"]
    metadata |= {"name": names.scheduler(name)}
    if "uid" in metadata:
        metadata["uid"] = names.uid(metadata["uid"])
    for field, rule in _SPEC.items():
        if spec.get(field):
            spec[field] = rule(names, spec[field])
    if spec.get("pluginConfig"):
        spec["pluginConfig"] = [_plugin_config(names, each, name, note) for each in spec["pluginConfig"]]
    return {**policy, "metadata": metadata, "spec": spec}


def _plugin_config(names: Names, config: Json, policy: str, note: Callable[[str], None]) -> Json:
    plugin, arguments = str(config.get("name")), config.get("args")
    if not arguments:
        return config
    if plugin not in _ARGUMENTS:
        if plugin not in WITHOUT_NAMES:
            note(f"the arguments of the plugin {plugin} in the policy {policy} are kept as they are")
        return config
    return {**config, "args": _ARGUMENTS[plugin](names, arguments)}


def _fields(**rules: Section) -> Section:
    """Return a rule for a mapping. Each named field has its own rule; other fields are not changed."""

    def apply(names: Names, value: Any) -> Any:
        return {key: rules[key](names, each) if key in rules and each else each for key, each in value.items()}

    return apply


def _each(rule: Section) -> Section:
    return lambda names, value: [rule(names, each) for each in value]


def _resource_keys(names: Names, value: Any) -> Any:
    return {names.resource(key): each for key, each in value.items()}


def _source(names: Names, value: Any) -> Any:
    """Rename a lifecycle source: the key of a label, and the values that name a class."""
    key = value.get("key", "")
    classes = {
        field: [names.value(key, each) for each in value[field]]
        for field in ("spot", "onDemand", "reserved")
        if value.get(field)
    }
    return {**value, "key": names.key(key), **classes}


def _pod_label(names: Names, key: Any) -> Any:
    """Rename the label with which pods request a lifecycle.

    Keep its values, because they are the names of lifecycles.
    """
    names.keep_values(key)
    return names.key(key)


def _extender(names: Names, value: Any) -> Any:
    """Replace an extender's host and path. Certificates are left out, because they name their owner."""
    url = urlsplit(value.get("urlPrefix", ""))
    renamed = {**value, "urlPrefix": f"{url.scheme}://{names.token('extender', url.netloc + url.path)}.example"}
    if value.get("tlsConfig"):
        renamed["tlsConfig"] = {"insecure": True}
    if value.get("managedResources"):
        resources = value["managedResources"]
        renamed["managedResources"] = [{**each, "name": names.resource(each.get("name", ""))} for each in resources]
    return renamed


_SELECTOR = rename(ApiLabelSelector)
_NAMED_RESOURCE = _fields(name=Names.resource)
_LIFECYCLE = _fields(podLabel=_pod_label, sources=_each(_source))
_RESOURCES = _fields(resources=_each(Names.resource))
_SPEC: Mapping[str, Section] = {
    "schedulerName": Names.scheduler,
    "shadowOf": Names.scheduler,
    "canary": _fields(of=Names.scheduler),
    "allowedNamespaces": _SELECTOR,
    "filters": _fields(nodeSelector=_SELECTOR),
    "resources": _fields(weights=_resource_keys),
    "lifecycle": _LIFECYCLE,
    "gpu": _RESOURCES,
    "scarcity": _RESOURCES,
    "extenders": _each(_extender),
}
"""The rules of the spec's fields that contain names."""
_ARGUMENTS: Mapping[str, Section] = {
    "NodeAffinity": _fields(addedAffinity=rename(ApiNodeAffinity)),
    "PodTopologySpread": _fields(defaultConstraints=rename(list[ApiSpreadConstraint])),
    "NodeResourcesFit": _fields(
        ignoredResources=_each(Names.resource),
        ignoredResourceGroups=_each(Names.domain),
        scoringStrategy=_fields(resources=_each(_NAMED_RESOURCE)),
    ),
    "NodeResourcesBalancedAllocation": _fields(resources=_each(_NAMED_RESOURCE)),
    "Lifecycle": _LIFECYCLE,
    "Gpu": _RESOURCES,
    "Scarcity": _RESOURCES,
}
"""Rules of the arguments of plugins, by plugin."""

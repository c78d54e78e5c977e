"""Finds removed and unknown plugins in a configuration file.

These functions read the content before validation, so that they find names even if other parts are faulty.
"""

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from moorage.configuration.located_content import LocatedContent, mappings_in
from moorage.errors import Fault, Location

ALL_PLUGINS = "*"
"""The name that stands for all default plugins in `disabled`."""

REMOVED_PLUGINS = {
    "AzureDiskLimits": "NodeVolumeLimits counts CSI volumes",
    "CinderLimits": "NodeVolumeLimits counts CSI volumes",
    "DefaultPodTopologySpread": "PodTopologySpread spreads by default",
    "EBSLimits": "NodeVolumeLimits counts CSI volumes",
    "GCEPDLimits": "NodeVolumeLimits counts CSI volumes",
    "NodeLabel": "NodeAffinity's addedAffinity selects nodes by label",
    "NodePreferAvoidPods": "taints with the effect PreferNoSchedule do the same",
    "NodeResourceLimits": "NodeResourcesFit checks requests",
    "NodeResourcesLeastAllocated": "NodeResourcesFit has the scoring strategy LeastAllocated",
    "NodeResourcesMostAllocated": "NodeResourcesFit has the scoring strategy MostAllocated",
    "RequestedToCapacityRatio": "NodeResourcesFit has the scoring strategy RequestedToCapacityRatio",
    "SelectorSpread": "PodTopologySpread spreads by default",
    "ServiceAffinity": "PodTopologySpread and InterPodAffinity place pods together",
}
"""Plugins that kube-scheduler no longer has, each with a sentence about its replacement."""


class _Mention(NamedTuple):
    """A plugin name in the file."""

    location: Location
    name: str
    disabled: bool


def plugin_faults(source: LocatedContent, known: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each unknown plugin, and for each removed plugin that the file enables or configures."""
    for mention in _unknown(source, known):
        if mention.name not in REMOVED_PLUGINS:
            near = get_close_matches(mention.name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "`moorage plugins` lists the known ones"
            yield source.fault(mention.location, f"there is no plugin {mention.name!r}; {hint}")
        elif not mention.disabled:
            yield source.fault(mention.location, _removed(mention.name))


def plugin_warnings(source: LocatedContent, known: Collection[str]) -> Iterator[Fault]:
    """Yield a warning for each removed plugin that the file disables."""
    for mention in _unknown(source, known):
        if mention.disabled and mention.name in REMOVED_PLUGINS:
            yield source.fault(mention.location, _removed(mention.name))


def unknown_plugins(source: LocatedContent, known: Collection[str]) -> Iterator[Location]:
    """Yield the locations of names that are not known plugins."""
    return (mention.location for mention in _unknown(source, known))


def _removed(name: str) -> str:
    return f"the plugin {name!r} was removed from kube-scheduler; {REMOVED_PLUGINS[name]}"


def _unknown(source: LocatedContent, known: Collection[str]) -> Iterator[_Mention]:
    for mention in _mentions(source.content):
        if mention.name not in known and not (mention.disabled and mention.name == ALL_PLUGINS):
            yield mention


def _mentions(content: Mapping[str, Any]) -> Iterator[_Mention]:
    for index, profile in mappings_in(content.get("profiles")):
        points = profile.get("plugins")
        for point, plugin_set in points.items() if isinstance(points, Mapping) else ():
            if isinstance(plugin_set, Mapping):
                for side in ("enabled", "disabled"):
                    yield from _named(("profiles", index, "plugins", point, side), plugin_set.get(side))
        yield from _named(("profiles", index, "pluginConfig"), profile.get("pluginConfig"))


def _named(location: Location, plugins: Any) -> Iterator[_Mention]:
    for index, plugin in mappings_in(plugins):
        if isinstance(plugin.get("name"), str):
            yield _Mention((*location, index, "name"), plugin["name"], disabled=location[-1] == "disabled")

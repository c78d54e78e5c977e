"""Merges a profile's `plugins` with the defaults, and expands multiPoint, by kube-scheduler's rules.

Upstream: pkg/scheduler/apis/config/v1/default_plugins.go (mergePlugins), pkg/scheduler/framework/runtime/framework.go
(expandMultiPointPlugins, getScoreWeights).
"""

from collections.abc import Mapping

from moorage.api.plugin_config import PluginEntry, Plugins, PluginSet
from moorage.errors import Fault
from moorage.framework.extension_points import (
    BindPlugin,
    FilterPlugin,
    Plugin,
    PostFilterPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)

ALL = "*"
"""A name in `disabled` that stands for all default plugins of the point."""
MULTI_POINT = "multiPoint"

POINT_CLASSES: Mapping[str, type[Plugin] | None] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": ScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": None,
    "preBind": ReservePlugin,  # a Reserve plugin returns what PreBind writes
    "bind": BindPlugin,
    "postBind": None,
    "placementGenerate": None,
    "placementScore": None,
}
"""The extension points: the name in configurations, and the class of plugins. None if no plugin can have the point."""

RESOURCE_FILTERS = frozenset({"NodePorts", "NodeResourcesFit"})
"""The Filter plugins that read the pods of a node. In kube-scheduler's order, the Filter plugins before them read only
the node."""

Classes = Mapping[str, type[Plugin]]


def implements(plugin: type[Plugin], point: str) -> bool:
    """Return whether a plugin class has an extension point."""
    base = POINT_CLASSES[point]
    if base is None or not issubclass(plugin, base):
        return False
    return point != "preScore" or (issubclass(plugin, ScorePlugin) and plugin.pre_score is not ScorePlugin.pre_score)


def merge(defaults: Plugins, custom: Plugins) -> Plugins:
    """Merge a profile's plugins into the defaults.

    An enabled plugin replaces the default plugin of the same name and takes its position. If there is no default plugin
    of this name, the enabled plugin is appended.
    """
    points = dict(custom.points())
    return Plugins.model_validate({point: _merge_set(base, points[point]) for point, base in defaults.points()})


def _merge_set(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    disabled = (*custom.disabled, *defaults.disabled)
    removed = {entry.name for entry in disabled}
    replacements = {entry.name: entry for entry in custom.enabled}
    kept = [] if ALL in removed else [entry for entry in defaults.enabled if entry.name not in removed]
    in_place = {entry.name for entry in kept}
    enabled = [replacements.get(entry.name, entry) for entry in kept]
    enabled += [entry for entry in custom.enabled if not (entry.name in in_place and replacements[entry.name] is entry)]
    # Skip validation, because the merged list may be longer than a list that users may write.
    return PluginSet.model_construct(enabled=tuple(enabled), disabled=disabled)


def expand(plugins: Plugins, classes: Classes) -> dict[str, tuple[str, ...]]:
    """Return the plugins of each extension point, in the order in which they run. Expand multiPoint.

    First come plugins that both multiPoint and the point enable, then the other plugins of multiPoint, then plugins
    that only the point enables.
    """
    points = dict(plugins.points())
    multi_point = tuple(entry.name for entry in points.pop(MULTI_POINT).enabled)
    return {point: _expand_point(point, plugin_set, multi_point, classes) for point, plugin_set in points.items()}


def _expand_point(point: str, plugin_set: PluginSet, multi_point: tuple[str, ...], classes: Classes) -> tuple[str, ...]:
    own = [entry.name for entry in plugin_set.enabled]
    disabled = {entry.name for entry in plugin_set.disabled}
    if ALL in disabled:
        return tuple(own)
    expanded = [name for name in multi_point if name not in disabled and implements(classes[name], point)]
    overriding = [name for name in own if name in expanded]
    return tuple(dict.fromkeys([*overriding, *expanded, *own]))


def before_resources(filters: tuple[str, ...], early: tuple[str, ...]) -> tuple[str, ...]:
    """Return the Filter plugins, and move the plugins in `early` before the first of RESOURCE_FILTERS.

    kube-scheduler's rules cannot express this order, because plugins that only the point enables always run last.
    """
    moved = tuple(name for name in early if name in filters)
    others = [name for name in filters if name not in moved]
    index = next((index for index, name in enumerate(others) if name in RESOURCE_FILTERS), len(others))
    return (*others[:index], *moved, *others[index:])


def weight_of(name: str, plugins: Plugins, default_weight: int) -> int:
    """Return a Score plugin's weight at `score`, or its weight at multiPoint; `default_weight` if the weight is 0."""
    entries: tuple[PluginEntry, ...] = (*plugins.score.enabled, *plugins.multi_point.enabled)
    return next((entry.weight for entry in entries if entry.name == name), 0) or default_weight


def faults_of(plugins: Plugins, classes: Classes) -> list[Fault]:
    """Return a fault for each plugin that a point enables twice, and for each that does not implement the point."""
    faults = []
    for point, plugin_set in plugins.points():
        seen: set[str] = set()
        for index, entry in enumerate(plugin_set.enabled):
            location = ("plugins", point, "enabled", index, "name")
            if entry.name in seen:
                faults.append(Fault(location, None, f"plugin {entry.name} is enabled twice; remove one entry"))
            elif point != MULTI_POINT and not implements(classes[entry.name], point):
                faults.append(Fault(location, None, f"plugin {entry.name} has no extension point {point}"))
            seen.add(entry.name)
    return faults

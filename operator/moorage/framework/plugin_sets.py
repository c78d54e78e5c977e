"""Which plugins run where: a profile's `plugins` laid over the defaults, by kube-scheduler's rules.

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
"""In `disabled`: every default plugin of the point."""
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
    "preBind": ReservePlugin,  # what Reserve decides is carried out there
    "bind": BindPlugin,
    "postBind": None,
}
"""Extension points as they are written, and the class that a plugin of each derives from; None: no plugin has it."""

Classes = Mapping[str, type[Plugin]]


def implements(plugin: type[Plugin], point: str) -> bool:
    """Whether a plugin class has an extension point."""
    base = POINT_CLASSES[point]
    if base is None or not issubclass(plugin, base):
        return False
    return point != "preScore" or (issubclass(plugin, ScorePlugin) and plugin.pre_score is not ScorePlugin.pre_score)


def merge(defaults: Plugins, custom: Plugins) -> Plugins:
    """Lay a profile's plugins over others: what is enabled replaces its namesake in place, or is appended."""
    points = dict(custom.points())
    return Plugins.model_validate({point: _merge_set(base, points[point]) for point, base in defaults.points()})


def _merge_set(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    disabled = (*custom.disabled, *defaults.disabled)
    gone = {entry.name for entry in disabled}
    replacements = {entry.name: entry for entry in custom.enabled}
    kept = [] if ALL in gone else [entry for entry in defaults.enabled if entry.name not in gone]
    in_place = {entry.name for entry in kept}
    enabled = [replacements.get(entry.name, entry) for entry in kept]
    enabled += [entry for entry in custom.enabled if not (entry.name in in_place and replacements[entry.name] is entry)]
    # Not validated: what is merged may be longer than what anybody may write.
    return PluginSet.model_construct(enabled=tuple(enabled), disabled=disabled)


def expand(plugins: Plugins, classes: Classes) -> dict[str, tuple[str, ...]]:
    """Return the plugins of every extension point in the order in which they run, multiPoint spread out.

    First come the multiPoint plugins that the point enables by itself, then the other multiPoint plugins, then what
    only the point enables.
    """
    points = dict(plugins.points())
    everywhere = tuple(entry.name for entry in points.pop(MULTI_POINT).enabled)
    return {point: _expand_point(point, wanted, everywhere, classes) for point, wanted in points.items()}


def _expand_point(point: str, wanted: PluginSet, everywhere: tuple[str, ...], classes: Classes) -> tuple[str, ...]:
    own = [entry.name for entry in wanted.enabled]
    disabled = {entry.name for entry in wanted.disabled}
    if ALL in disabled:
        return tuple(own)
    spread = [name for name in everywhere if name not in disabled and implements(classes[name], point)]
    overriding = [name for name in own if name in spread]
    return tuple(dict.fromkeys([*overriding, *spread, *own]))


def weight_of(name: str, plugins: Plugins, default_weight: int) -> int:
    """Return a Score plugin's weight: the one at the score point counts before the one at multiPoint; 0 is none."""
    entries: tuple[PluginEntry, ...] = (*plugins.score.enabled, *plugins.multi_point.enabled)
    return next((entry.weight for entry in entries if entry.name == name), 0) or default_weight


def faults_of(plugins: Plugins, classes: Classes) -> list[Fault]:
    """Return what upstream refuses at start: doubled plugins, and plugins at a point that they do not have."""
    faults = []
    for point, wanted in plugins.points():
        seen: set[str] = set()
        for index, entry in enumerate(wanted.enabled):
            location = ("plugins", point, "enabled", index, "name")
            if entry.name in seen:
                faults.append(Fault(location, None, f"plugin {entry.name} is enabled twice; name it once"))
            elif point != MULTI_POINT and not implements(classes[entry.name], point):
                faults.append(Fault(location, None, f"plugin {entry.name} has no extension point {point}"))
            seen.add(entry.name)
    return faults

"""The plugin registry: finds plugin classes and builds profiles from them.

Plugins are the classes in the modules of `moorage.plugins`, and the classes that other distributions register under the
entry point group `moorage.plugins`. The layers above build one registry when the process starts, and never change it.
"""

import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Self, cast

from pydantic import ValidationError

from moorage.api.plugin_config import PluginConfig, PluginEntry, Plugins, PluginSet
from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.errors import MAX_FAULTS, ConfigurationError, Fault, Location, UnknownPlugin, UnknownPlugins
from moorage.framework import plugin_sets
from moorage.framework.defaults import DEFAULT_GATES, DEFAULT_PLUGINS, GATED_PLUGINS
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
from moorage.framework.plugin_arguments import ProfileArguments, build_plugin, read_arguments
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.framework.profile import Profile, ProfileSpec, WeightedScore

ENTRY_POINT_GROUP = "moorage.plugins"
PLUGIN_PACKAGE = "moorage.plugins"


class Registry:
    """All plugin classes by name, and the states of the feature gates."""

    def __init__(self, classes: Mapping[str, type[Plugin]], gates: Mapping[str, bool] | None = None) -> None:
        """Store the classes. `gates` override the default feature gates of kube-scheduler 1.36."""
        self.classes = classes
        self.gates = {**DEFAULT_GATES, **(gates or {})}

    @classmethod
    def discover(cls, gates: Mapping[str, bool] | None = None) -> Self:
        """Import all plugins; raise ConfigurationError if two have the same name."""
        classes: dict[str, type[Plugin]] = {}
        for found in (*_bundled_plugins(), *_installed_plugins()):
            if classes.setdefault(found.__name__, found) is not found:
                fault = Fault((f"{found.__module__}.{found.__qualname__}",), None, "another plugin has the same name")
                raise ConfigurationError([fault])
        return cls(classes, gates)

    def policy_plugins(self) -> tuple[type[PolicyPlugin], ...]:
        """Return the plugins that fields of a policy configure, in the order of their sections in the spec."""
        order = [None, *SchedulingPolicySpec.model_fields]
        found = (cls for cls in self.classes.values() if issubclass(cls, PolicyPlugin))
        return tuple(sorted(found, key=lambda cls: order.index(cls.policy_section)))

    def default_plugins(self) -> Plugins:
        """Return the default plugins in the form of a configuration."""
        entries = [
            PluginEntry(name=name, weight=weight)
            for name, weight in DEFAULT_PLUGINS.items()
            if self.gates.get(GATED_PLUGINS.get(name, ""), True)
        ]
        return Plugins(multi_point=PluginSet(enabled=tuple(entries)))

    def build_profile(self, spec: ProfileSpec) -> Profile:
        """Build a profile. Raise UnknownPlugins with all unknown names, or ConfigurationError with all other faults."""
        if unknown := self.unknown_plugins(spec.plugins, spec.plugin_config):
            raise UnknownPlugins(unknown)
        plugins = plugin_sets.merge(self.default_plugins(), spec.plugins)
        faults = plugin_sets.faults_of(plugins, self.classes)
        points = plugin_sets.expand(plugins, self.classes)
        points["filter"] = plugin_sets.before_resources(points["filter"], spec.filters_before_resources)
        faults += _point_faults(points)
        arguments = read_arguments(spec, self.classes)
        names = (name for point in points.values() for name in point)
        built, invalid = self._build_plugins(names, arguments)
        if faults or arguments.faults or invalid:
            raise ConfigurationError([*faults, *arguments.faults, *invalid])
        ordered = {point: tuple(built[name] for name in order) for point, order in points.items()}
        return _assemble(spec, plugins, ordered)

    def unknown_plugins(self, plugins: Plugins, configs: Iterable[PluginConfig]) -> list[Fault]:
        """Return a fault for each unregistered plugin that a profile names, at most MAX_FAULTS."""
        mentions: list[tuple[Location, str]] = []
        for point, plugin_set in plugins.points():
            for side, entries in (("enabled", plugin_set.enabled), ("disabled", plugin_set.disabled)):
                here = ("plugins", point, side)
                named = [((*here, index, "name"), entry.name) for index, entry in enumerate(entries)]
                mentions += [each for each in named if side == "enabled" or each[1] != plugin_sets.ALL]
        mentions += [(("pluginConfig", index, "name"), config.name) for index, config in enumerate(configs)]
        return self._unknown(mentions)

    def unknown_weights(self, weights: Iterable[str]) -> list[Fault]:
        """Return a fault for each unregistered plugin in a policy's `weights`."""
        return self._unknown((("weights", name), name) for name in weights)

    def _unknown(self, mentions: Iterable[tuple[Location, str]]) -> list[Fault]:
        unknown = [mention for mention in mentions if mention[1] not in self.classes]
        return [
            Fault(location, None, str(UnknownPlugin(name, self.classes))) for location, name in unknown[:MAX_FAULTS]
        ]

    def _build_plugins(
        self, names: Iterable[str], arguments: ProfileArguments
    ) -> tuple[dict[str, Plugin], list[Fault]]:
        """Build each plugin once. Also build plugins that have arguments but do not run, to check the arguments."""
        built: dict[str, Plugin] = {}
        faults: list[Fault] = []
        for name in dict.fromkeys([*names, *arguments.values]):
            try:
                built[name] = build_plugin(self.classes[name], arguments.values.get(name, {}), self.gates)
            except ValidationError as error:
                faults += arguments.faults_of(self.classes[name], error)
        return built, faults


def _bundled_plugins() -> Iterator[type[Plugin]]:
    package = import_module(PLUGIN_PACKAGE)
    for module in pkgutil.walk_packages(package.__path__, f"{PLUGIN_PACKAGE}."):
        for _, found in inspect.getmembers(import_module(module.name), inspect.isclass):
            if issubclass(found, Plugin) and found.__module__ == module.name and _is_plugin(found):
                yield found


def _installed_plugins() -> Iterator[type[Plugin]]:
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        found = entry.load()
        if not (inspect.isclass(found) and issubclass(found, Plugin)):
            fault = Fault((entry.value,), None, "the entry point is not a plugin class; use a subclass of Plugin")
            raise ConfigurationError([fault])
        yield found


def _is_plugin(found: type[Plugin]) -> bool:
    """Return whether a class is a plugin itself and not a base class of plugins."""
    return not inspect.isabstract(found) and not found.__name__.startswith("_")


def _point_faults(points: Mapping[str, tuple[str, ...]]) -> list[Fault]:
    faults = []
    if len(points["queueSort"]) != 1:
        named = ", ".join(points["queueSort"]) or "none"
        faults.append(Fault(("plugins", "queueSort"), None, f"exactly one plugin must sort the queue, not {named}"))
    if not points["bind"]:
        faults.append(Fault(("plugins", "bind"), None, "at least one Bind plugin is needed; enable DefaultBinder"))
    return faults


def _assemble(spec: ProfileSpec, plugins: Plugins, points: Mapping[str, tuple[Plugin, ...]]) -> Profile:
    """Return the profile; `expand` has ensured that each plugin has the class of its point."""
    scores = cast("tuple[ScorePlugin[Any], ...]", points["score"])
    return Profile(
        name=spec.scheduler_name,
        queue_sort=cast("QueueSortPlugin", points["queueSort"][0]),
        pre_enqueue=cast("tuple[PreEnqueuePlugin, ...]", points["preEnqueue"]),
        pre_filter=cast("tuple[PreFilterPlugin[Any], ...]", points["preFilter"]),
        filter=cast("tuple[FilterPlugin[Any], ...]", points["filter"]),
        post_filter=cast("tuple[PostFilterPlugin, ...]", points["postFilter"]),
        pre_score=cast("tuple[ScorePlugin[Any], ...]", points["preScore"]),
        score=tuple(
            WeightedScore(plugin, plugin_sets.weight_of(plugin.name, plugins, _default_weight(plugin)))
            for plugin in scores
        ),
        reserve=cast("tuple[ReservePlugin, ...]", points["reserve"]),
        bind=cast("tuple[BindPlugin, ...]", points["bind"]),
        settings=spec.settings,
        policy=spec.policy,
        spec=spec,
        warning_plugins=tuple(
            dict.fromkeys(
                plugin
                for run in points.values()
                for plugin in run
                if type(plugin).pod_warnings is not Plugin.pod_warnings
            )
        ),
    )


def _default_weight(plugin: Plugin) -> int:
    """Return the weight that replaces a weight of 0. For all plugins of kube-scheduler, it is 1."""
    return 1 if plugin.name in DEFAULT_PLUGINS else plugin.default_weight

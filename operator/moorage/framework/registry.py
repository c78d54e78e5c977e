"""Finds the plugins, and builds profiles of them.

Plugins are the classes in the modules of `moorage.plugins`, and those that other distributions offer through the entry
point group `moorage.plugins`. The layers above build one registry when the process starts; it never changes.
"""

import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Self, cast

from pydantic import ValidationError

from moorage.api.plugin_config import PluginConfig, PluginEntry, Plugins, PluginSet
from moorage.errors import ConfigurationError, Fault, UnknownPlugin
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
from moorage.framework.profile import Profile, ProfileSpec, WeightedScore

ENTRY_POINT_GROUP = "moorage.plugins"
PLUGIN_PACKAGE = "moorage.plugins"


class Registry:
    """All plugin classes by name, and the feature gates that are in force."""

    def __init__(self, classes: Mapping[str, type[Plugin]], gates: Mapping[str, bool] | None = None) -> None:
        """Hold classes; `gates` change the defaults of kube-scheduler 1.36."""
        self.classes = classes
        self.gates = {**DEFAULT_GATES, **(gates or {})}

    @classmethod
    def discover(cls, gates: Mapping[str, bool] | None = None) -> Self:
        """Import the modules of `moorage.plugins` and what the entry points offer. Two of one name are an error."""
        classes: dict[str, type[Plugin]] = {}
        for found in (*_own_plugins(), *_foreign_plugins()):
            if classes.setdefault(found.__name__, found) is not found:
                fault = Fault(
                    (f"{found.__module__}.{found.__qualname__}",), None, "there is another plugin of that name"
                )
                raise ConfigurationError([fault])
        return cls(classes, gates)

    def find(self, name: str) -> type[Plugin]:
        """Return the class of a name; UnknownPlugin where there is none."""
        if name not in self.classes:
            raise UnknownPlugin(name, self.classes)
        return self.classes[name]

    def default_plugins(self) -> Plugins:
        """Return what runs where nothing else is said."""
        entries = [
            PluginEntry(name=name, weight=weight)
            for name, weight in DEFAULT_PLUGINS.items()
            if self.gates.get(GATED_PLUGINS.get(name, ""), True)
        ]
        return Plugins(multi_point=PluginSet(enabled=tuple(entries)))

    def build_profile(self, spec: ProfileSpec) -> Profile:
        """Build all that a profile asks for; UnknownPlugin, or ConfigurationError with every other fault in it."""
        plugins = plugin_sets.merge(self.default_plugins(), spec.plugins)
        self._refuse_unknown(plugins, spec.plugin_config)
        faults = plugin_sets.faults_of(plugins, self.classes)
        points = plugin_sets.expand(plugins, self.classes)
        faults += _faults_of_points(points)
        arguments = read_arguments(spec)
        names = (name for point in points.values() for name in point)
        built, refusals = self._build_plugins(names, arguments)
        if faults or arguments.faults or refusals:
            raise ConfigurationError([*faults, *arguments.faults, *refusals])
        ordered = {point: tuple(built[name] for name in order) for point, order in points.items()}
        return _assemble(spec, plugins, ordered)

    def _refuse_unknown(self, plugins: Plugins, configs: Iterable[PluginConfig]) -> None:
        for _, wanted in plugins.points():
            for entry in wanted.enabled:
                self.find(entry.name)
            for entry in wanted.disabled:
                if entry.name != plugin_sets.ALL:
                    self.find(entry.name)
        for config in configs:
            self.find(config.name)

    def _build_plugins(
        self, names: Iterable[str], arguments: ProfileArguments
    ) -> tuple[dict[str, Plugin], list[Fault]]:
        """Build every plugin once; arguments of plugins that run nowhere are checked, too."""
        built: dict[str, Plugin] = {}
        faults: list[Fault] = []
        for name in dict.fromkeys([*names, *arguments.values]):
            try:
                built[name] = build_plugin(self.classes[name], arguments.values.get(name, {}), self.gates)
            except ValidationError as refusal:
                faults += arguments.faults_of(self.classes[name], refusal)
        return built, faults


def _own_plugins() -> Iterator[type[Plugin]]:
    package = import_module(PLUGIN_PACKAGE)
    for module in pkgutil.walk_packages(package.__path__, f"{PLUGIN_PACKAGE}."):
        for _, found in inspect.getmembers(import_module(module.name), inspect.isclass):
            if issubclass(found, Plugin) and found.__module__ == module.name and _is_whole(found):
                yield found


def _foreign_plugins() -> Iterator[type[Plugin]]:
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        found = entry.load()
        if not (inspect.isclass(found) and issubclass(found, Plugin)):
            raise ConfigurationError([Fault((entry.value,), None, "the entry point is no plugin class")])
        yield found


def _is_whole(found: type[Plugin]) -> bool:
    """Whether a class is a plugin itself, and not what plugins share."""
    return not inspect.isabstract(found) and not found.__name__.startswith("_")


def _faults_of_points(points: Mapping[str, tuple[str, ...]]) -> list[Fault]:
    faults = []
    if len(points["queueSort"]) != 1:
        named = ", ".join(points["queueSort"]) or "none"
        faults.append(Fault(("plugins", "queueSort"), None, f"exactly one plugin sorts the queue, not {named}"))
    if not points["bind"]:
        faults.append(Fault(("plugins", "bind"), None, "at least one Bind plugin is needed; enable DefaultBinder"))
    return faults


def _assemble(spec: ProfileSpec, plugins: Plugins, points: Mapping[str, tuple[Plugin, ...]]) -> Profile:
    """Put the built plugins into their points; `expand` has seen to it that each has the class of its point."""
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
        warning_plugins=tuple(
            dict.fromkeys(
                plugin
                for run in points.values()
                for plugin in run
                if type(plugin).pod_warnings is not Plugin.pod_warnings
            )
        ),
    )


def _may_warn(plugin: Plugin) -> bool:
    return type(plugin).pod_warnings is not Plugin.pod_warnings


def _default_weight(plugin: Plugin) -> int:
    """Return what weight 0 stands for: 1 for kube-scheduler's plugins, even where their default weight is another."""
    return 1 if plugin.name in DEFAULT_PLUGINS else plugin.default_weight

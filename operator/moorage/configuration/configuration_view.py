"""Renders the configuration in force as an equivalent file, for `moorage config view`. Does no I/O.

Each profile lists the plugins that run. The defaults, multiPoint and all `disabled` lists are already applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moorage.api.plugin_config import Plugins
from moorage.configuration.loading import KubeSchedulerConfiguration, KubeSchedulerProfile
from moorage.framework import plugin_sets
from moorage.framework.profile import Profile
from moorage.framework.registry import Registry

Manifest = dict[str, Any]

_WITHOUT_EFFECT: dict[str, Any] = {
    "healthz_bind_address": True,
    "metrics_bind_address": True,
    "enable_profiling": True,
    "enable_contention_profiling": True,
    "delay_cache_until_active": True,
    "client_connection": {"accept_content_types", "content_type"},
}
"""Fields without effect, which moorage accepts for compatibility."""


def view_of(configuration: KubeSchedulerConfiguration, profiles: tuple[Profile, ...], registry: Registry) -> Manifest:
    """Return the configuration with its built profiles, in the same order."""
    view = configuration.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={**_WITHOUT_EFFECT, "profiles": True, "extenders": True}
    )
    if not configuration.client_connection.kubeconfig:
        del view["clientConnection"]["kubeconfig"]
    view["profiles"] = [
        _profile(asked, built, registry) for asked, built in zip(configuration.profiles, profiles, strict=True)
    ]
    if configuration.extenders:
        view["extenders"] = [
            extender.model_dump(mode="json", by_alias=True, exclude_none=True) for extender in configuration.extenders
        ]
    return view


def _profile(asked: KubeSchedulerProfile, built: Profile, registry: Registry) -> Manifest:
    nothing_else: Manifest = {"multiPoint": {"disabled": [{"name": plugin_sets.ALL}]}}
    view: Manifest = {
        "schedulerName": built.name,
        "percentageOfNodesToScore": built.settings.percentage_of_nodes_to_score,
        "plugins": nothing_else | dict(_points(asked.plugins, built, registry)),
    }
    if asked.plugin_config:
        view["pluginConfig"] = [config.model_dump(mode="json", by_alias=True) for config in asked.plugin_config]
    return view


def _points(asked: Plugins, built: Profile, registry: Registry) -> Iterator[tuple[str, Manifest]]:
    weights = {score.plugin.name: score.weight for score in built.score}
    merged = plugin_sets.merge(registry.default_plugins(), asked)
    for point, names in plugin_sets.expand(merged, registry.classes).items():
        if names:
            yield point, {"enabled": [_entry(name, weights if point == "score" else {}) for name in names]}


def _entry(name: str, weights: dict[str, int]) -> Manifest:
    return {"name": name, "weight": weights[name]} if name in weights else {"name": name}

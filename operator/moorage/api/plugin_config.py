"""kube-scheduler's `Plugins` and `PluginConfig`, for profiles of the configuration file and for policies.

Arguments stay mappings here. Each plugin validates its own arguments when a profile is built.
Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types.go.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from moorage.api.base import ApiModel, ListOf, PluginName, list_type

INT32_MAX = 2**31 - 1
PLUGINS_PER_POINT = 64
"""The maximum number of plugins in a list. kube-scheduler has less than a third of this number."""


class PluginEntry(ApiModel):
    """A plugin at an extension point."""

    name: PluginName
    """Name of the plugin. In `disabled`, `*` means all default plugins."""
    weight: Annotated[int, Field(ge=0, le=INT32_MAX, json_schema_extra={"format": "int32"})] = 0
    """Weight of the plugin's score. Only for Score plugins. For kube-scheduler's plugins, 0 means 1. For other plugins,
    0 means the default weight."""


PluginList = Annotated[
    tuple[PluginEntry, ...], ListOf, Field(max_length=PLUGINS_PER_POINT, json_schema_extra=list_type("atomic"))
]


class PluginSet(ApiModel):
    """Plugins to enable and to disable at an extension point."""

    enabled: PluginList = ()
    """Plugins to run after the default plugins, in this order. To reorder default plugins, also list them in
    `disabled`."""
    disabled: PluginList = ()
    """Default plugins that do not run."""


class Plugins(ApiModel):
    """Plugins to enable and to disable at each extension point."""

    pre_enqueue: PluginSet = PluginSet()
    """Plugins that can keep a pod out of the active queue."""
    queue_sort: PluginSet = PluginSet()
    """The plugin that sorts the queue. All profiles must have the same plugin here."""
    pre_filter: PluginSet = PluginSet()
    """Plugins that prepare filtering, or reject the pod before any node is filtered."""
    filter: PluginSet = PluginSet()
    """Plugins that filter out nodes that cannot run the pod."""
    post_filter: PluginSet = PluginSet()
    """Plugins that run if no node fits, for example to make room by preemption."""
    pre_score: PluginSet = PluginSet()
    """Plugins that prepare scoring."""
    score: PluginSet = PluginSet()
    """Plugins that score the nodes that fit."""
    reserve: PluginSet = PluginSet()
    """Plugins that reserve resources of the pod on the chosen node, and release them if binding fails."""
    permit: PluginSet = PluginSet()
    """Plugins that can delay or refuse the binding. No plugin of moorage has this point."""
    pre_bind: PluginSet = PluginSet()
    """Plugins that act before the pod is bound, for example to bind its volumes."""
    bind: PluginSet = PluginSet()
    """Plugins that bind the pod, in this order until one has bound it."""
    post_bind: PluginSet = PluginSet()
    """Plugins that act after the pod is bound. No plugin of moorage has this point."""
    placement_generate: PluginSet = PluginSet()
    """Plugins that propose placements for a pod group as a whole. No plugin of moorage has this point."""
    placement_score: PluginSet = PluginSet()
    """Plugins that score placements of a pod group. No plugin of moorage has this point."""
    multi_point: PluginSet = PluginSet()
    """Plugins to enable or to disable at all their extension points. The field of a single extension point takes
    precedence."""

    def points(self) -> Iterator[tuple[str, PluginSet]]:
        """Yield the camelCase name of each extension point with its plugins."""
        for name, field in type(self).model_fields.items():
            yield field.alias or name, getattr(self, name)


class PluginConfig(ApiModel):
    """Arguments of a plugin."""

    name: PluginName
    """Name of the plugin."""
    args: dict[str, Any] = Field(default_factory=dict, json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})
    """Arguments of the plugin, as in a KubeSchedulerConfiguration. They may contain apiVersion and kind."""

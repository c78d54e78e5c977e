"""kube-scheduler's `Plugins` and `PluginConfig`, as profiles of the configuration file and policies both have them.

Arguments stay a mapping here: each plugin validates its own, when a profile is built.
Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types.go.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from moorage.api.base import ApiModel, ListOf, PluginName, list_type

INT32_MAX = 2**31 - 1
PLUGINS_PER_POINT = 64
"""More than three times the plugins that kube-scheduler has."""


class PluginEntry(ApiModel):
    """One plugin at one extension point."""

    name: PluginName
    """The plugin's name; in `disabled`, `*` stands for all default plugins."""
    weight: Annotated[int, Field(ge=0, le=INT32_MAX, json_schema_extra={"format": "int32"})] = 0
    """The weight of the plugin's score. 0 means 1, as in kube-scheduler. Only Score plugins have one."""


PluginList = Annotated[
    tuple[PluginEntry, ...], ListOf, Field(max_length=PLUGINS_PER_POINT, json_schema_extra=list_type("atomic"))
]


class PluginSet(ApiModel):
    """What is added to, and taken from, the default plugins of one extension point."""

    enabled: PluginList = ()
    """Plugins that run after the default ones, in this order; a default plugin is moved by disabling it too."""
    disabled: PluginList = ()
    """Default plugins that do not run."""


class Plugins(ApiModel):
    """Which plugins run at which extension point."""

    pre_enqueue: PluginSet = PluginSet()
    """May hold a pod back before it enters the active queue."""
    queue_sort: PluginSet = PluginSet()
    """Orders the queue; exactly one plugin, the same in all profiles."""
    pre_filter: PluginSet = PluginSet()
    """Looks at the pod before any node is filtered."""
    filter: PluginSet = PluginSet()
    """Rules nodes out."""
    post_filter: PluginSet = PluginSet()
    """Runs when no node is left, to make room."""
    pre_score: PluginSet = PluginSet()
    """Prepares what scoring needs."""
    score: PluginSet = PluginSet()
    """Ranks the nodes that are left."""
    reserve: PluginSet = PluginSet()
    """Reserves what the pod will use on the chosen node, and gives it back when binding fails."""
    permit: PluginSet = PluginSet()
    """May delay or refuse the binding."""
    pre_bind: PluginSet = PluginSet()
    """Does what must be done before the pod is bound, such as binding its volumes."""
    bind: PluginSet = PluginSet()
    """Binds the pod; the first plugin that handles it ends the round."""
    post_bind: PluginSet = PluginSet()
    """Is told that the pod is bound."""
    multi_point: PluginSet = PluginSet()
    """Enables or disables plugins at all their extension points at once; a more specific extension point wins."""

    def points(self) -> Iterator[tuple[str, PluginSet]]:
        """Yield each extension point's name, as it is written, with its plugins."""
        for name, field in type(self).model_fields.items():
            yield field.alias or name, getattr(self, name)


class PluginConfig(ApiModel):
    """The arguments of one plugin."""

    name: PluginName
    """The plugin whose arguments these are."""
    args: dict[str, Any] = Field(default_factory=dict, json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})
    """The plugin's arguments, as in a KubeSchedulerConfiguration, where they may also hold apiVersion and kind."""

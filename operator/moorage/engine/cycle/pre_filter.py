"""PreFilter: every plugin looks at the pod and the whole cluster once, and may reject the pod or narrow the nodes.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins).
"""

from typing import Any

from msgspec import Struct, field

from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.plan import NOTHING, Plan, plan_for
from moorage.framework.extension_points import FilterPlugin, Plugin, PreFilterPlugin
from moorage.framework.profile import Profile
from moorage.framework.status import SUCCESS, Code, Status, error, unresolvable
from moorage.model.pods.pod import Pod

States = dict[Plugin, object]
"""What PreFilter plugins found out, for the later points of the cycle."""


class PreFiltered(Struct):
    """What PreFilter makes of a pod, and what Filter goes on with."""

    pod: Pod
    status: Status = SUCCESS
    """Success, or why the cycle ends here."""
    states: States = field(default_factory=dict)
    extensions: tuple[PreFilterPlugin[Any], ...] = ()
    """The plugins that keep a state, which pods that are added or removed in thought change."""
    filters: tuple[FilterPlugin[Any], ...] = ()
    """The Filter plugins that are left."""
    node_names: frozenset[str] | None = None
    """The only nodes worth a look; None: all."""
    narrowed_by: tuple[str, ...] = ()
    """The plugins that said so, sorted."""
    plan: Plan = NOTHING
    unreached: tuple[PreFilterPlugin[Any], ...] = ()
    """The plugins that were not asked because an earlier one ended it."""

    @property
    def elsewhere(self) -> Status:
        """The status of the nodes that were left out."""
        return unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(self.narrowed_by)}]")

    @property
    def rejectors(self) -> frozenset[str]:
        """The plugins that turned the pod away, or narrowed the nodes to those that others turn down."""
        if self.status.plugin and self.status.code is not Code.UNSCHEDULABLE:
            return frozenset({self.status.plugin})
        return frozenset({*self.narrowed_by, self.status.plugin} - {""})


def run_pre_filter(profile: Profile, pod: Pod, snapshot: Snapshot) -> PreFiltered:
    """Ask all PreFilter plugins; UNSCHEDULABLE_AND_UNRESOLVABLE and errors end it at once."""
    plan = plan_for(profile, pod.shape, snapshot)
    found = PreFiltered(pod, plan=plan)
    skipped: set[Plugin] = set()
    for plugin in plan.pre_filter:
        result = plugin.pre_filter(pod, snapshot)
        code = result.status.code
        if code is Code.SKIP:
            skipped.add(plugin)
            continue
        found.states[plugin] = result.state
        found.extensions += (plugin,)
        if code is Code.SUCCESS:
            if result.node_names is not None and not _narrow(found, plugin.name, result.node_names):
                found.unreached = _behind(plugin, profile)
                break
            continue
        found.status = _attributed(plugin, result.status)
        if code is not Code.UNSCHEDULABLE:
            found.unreached = _behind(plugin, profile)
            break
    found.filters = tuple(plugin for plugin in plan.filter if plugin not in skipped)
    return found


def _behind(plugin: PreFilterPlugin[Any], profile: Profile) -> tuple[PreFilterPlugin[Any], ...]:
    return profile.pre_filter[profile.pre_filter.index(plugin) + 1 :]


def _narrow(found: PreFiltered, plugin: str, names: frozenset[str]) -> bool:
    """Keep only these nodes, too; False when none is left."""
    found.node_names = names if found.node_names is None else found.node_names & names
    found.narrowed_by = tuple(sorted({*found.narrowed_by, plugin}))
    if found.node_names:
        return True
    plugins = found.narrowed_by
    together = f"plugin(s) [{' '.join(plugins)}] simultaneously" if len(plugins) > 1 else f"plugin {plugins[0]}"
    found.status = unresolvable(f"node(s) didn't satisfy {together}")
    return False


def _attributed(plugin: Plugin, status: Status) -> Status:
    if status.code.rejects:
        return Status(status.code, status.reasons, plugin.name)
    failure = error(f'running PreFilter plugin "{plugin.name}": {status.message}')
    return Status(failure.code, failure.reasons, plugin.name)

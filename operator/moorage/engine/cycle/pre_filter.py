"""PreFilter: each plugin reads the pod and the whole cluster once. A plugin may reject the pod or restrict its nodes.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins).
"""

from typing import Any

from msgspec import Struct, field

from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.plan import NOTHING, Plan, plan_for
from moorage.engine.recorder import NO_RECORDER, PRE_FILTER, Recorder
from moorage.framework.extension_points import FilterPlugin, Plugin, PreFilterPlugin
from moorage.framework.profile import Profile
from moorage.framework.status import SUCCESS, Code, Status, error, unresolvable
from moorage.model.pods.large_shape import MAX_SHAPE_BYTES
from moorage.model.pods.pod import Pod

States = dict[Plugin, object]
"""The states of PreFilter plugins, for the later extension points of the cycle."""
TOO_LARGE = unresolvable(
    "the pod's labels, containers, volumes, affinity, tolerations and topology spread constraints together are larger "
    f"than {MAX_SHAPE_BYTES} bytes"
)


class PreFiltered(Struct):
    """The result of all PreFilter plugins."""

    pod: Pod
    status: Status = SUCCESS
    """Success, or the rejection or error that ends the cycle."""
    states: States = field(default_factory=dict)
    extensions: tuple[PreFilterPlugin[Any], ...] = ()
    """The plugins with a state. Each updates its state when preemption adds or removes a pod on a node."""
    filters: tuple[FilterPlugin[Any], ...] = ()
    """The Filter plugins to run: those whose PreFilter did not return Skip."""
    node_names: frozenset[str] | None = None
    """The only nodes to filter; None for all nodes."""
    narrowed_by: tuple[str, ...] = ()
    """The names of the plugins that restricted the nodes, sorted."""
    plan: Plan = NOTHING
    unreached: tuple[PreFilterPlugin[Any], ...] = ()
    """The plugins that did not run because an earlier one ended PreFilter."""
    recorder: Recorder = NO_RECORDER
    """The recorder of the cycle."""

    @property
    def elsewhere(self) -> Status:
        """The status of the nodes that are not in `node_names`."""
        return unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(self.narrowed_by)}]")

    @property
    def unschedulable_plugins(self) -> frozenset[str]:
        """The plugins that rejected the pod or restricted its nodes."""
        if self.status.plugin and self.status.code is not Code.UNSCHEDULABLE:
            return frozenset({self.status.plugin})
        return frozenset({*self.narrowed_by, self.status.plugin} - {""})


def run_pre_filter(profile: Profile, pod: Pod, snapshot: Snapshot, recorder: Recorder = NO_RECORDER) -> PreFiltered:
    """Run the PreFilter plugins. UNSCHEDULABLE_AND_UNRESOLVABLE and errors end PreFilter at once.

    Reject a pod that is too large without running a plugin.
    """
    if pod.shape.is_too_large:
        return PreFiltered(pod, TOO_LARGE)
    plan = plan_for(profile, pod.shape, snapshot)
    result = PreFiltered(pod, plan=plan, recorder=recorder)
    skipped: list[Plugin] = []
    for plugin in plan.pre_filter:
        started = recorder.now() if recorder.samples_plugins else 0.0
        answer = plugin.pre_filter(pod, snapshot)
        code = answer.status.code
        if recorder.samples_plugins:
            recorder.observe_plugin(plugin.name, PRE_FILTER, code, started)
        if code is Code.SKIP:
            skipped.append(plugin)
            continue
        result.states[plugin] = answer.state
        if code is Code.SUCCESS:
            if answer.node_names is not None and not _narrow(result, plugin.name, answer.node_names):
                result.unreached = _plugins_after(plugin, profile)
                break
            continue
        result.status = _with_plugin_name(plugin, answer.status)
        if code is not Code.UNSCHEDULABLE:
            result.unreached = _plugins_after(plugin, profile)
            break
    left = plan.without(skipped)
    result.filters = left.filter
    result.extensions = left.pre_filter[: len(result.states)]  # only plugins that ran: a rejection may end PreFilter
    return result


def _plugins_after(plugin: PreFilterPlugin[Any], profile: Profile) -> tuple[PreFilterPlugin[Any], ...]:
    return profile.pre_filter[profile.pre_filter.index(plugin) + 1 :]


def _narrow(result: PreFiltered, plugin: str, names: frozenset[str]) -> bool:
    """Restrict the allowed nodes further, to `names`. If no node is left, reject the pod and return False."""
    result.node_names = names if result.node_names is None else result.node_names & names
    result.narrowed_by = tuple(sorted({*result.narrowed_by, plugin}))
    if result.node_names:
        return True
    plugins = result.narrowed_by
    together = f"plugin(s) [{' '.join(plugins)}] simultaneously" if len(plugins) > 1 else f"plugin {plugins[0]}"
    result.status = unresolvable(f"node(s) didn't satisfy {together}")
    return False


def _with_plugin_name(plugin: Plugin, status: Status) -> Status:
    if status.code.rejects:
        return Status(status.code, status.reasons, plugin.name)
    failure = error(f'running PreFilter plugin "{plugin.name}": {status.message}')
    return Status(failure.code, failure.reasons, plugin.name)

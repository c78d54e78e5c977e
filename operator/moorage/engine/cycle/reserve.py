"""Reserve: the plugins return the writes (intents) that PreBind makes before the pod is bound.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunReservePluginsReserve).
"""

import numpy as np

from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.scheduling_cycle import ScheduleResult
from moorage.engine.recorder import RESERVE
from moorage.framework.profile import Profile
from moorage.framework.status import Code


def run_reserve(profile: Profile, result: ScheduleResult, snapshot: Snapshot) -> tuple[object, ...]:
    """Return the intents of all Reserve plugins for the chosen node; skip plugins whose PreFilter returned Skip."""
    recorder = result.pre_filtered.recorder
    started = recorder.now()
    intents = _reserve(profile, result, snapshot)
    recorder.observe_point(RESERVE, Code.SUCCESS, profile.name, started)
    return intents


def _reserve(profile: Profile, result: ScheduleResult, snapshot: Snapshot) -> tuple[object, ...]:
    pod, states = result.pre_filtered.pod, result.pre_filtered.states
    plugins = [plugin for plugin in profile.reserve if plugin in states or plugin not in profile.pre_filter]
    if not plugins:
        return ()
    position = snapshot.position(result.node_name)
    node = NodesView(snapshot, np.array([position], np.int64))
    return tuple(intent for plugin in plugins for intent in plugin.reserve(states.get(plugin), pod, node))

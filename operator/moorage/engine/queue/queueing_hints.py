"""Queueing hints: the plugins that rejected a pod decide whether an event is worth another attempt.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go (isPodWorthRequeuing).
"""

from collections.abc import Mapping
from enum import IntEnum

from moorage.engine.cycle.diagnosis import EXTENDER
from moorage.engine.queue.queued_pod_info import QueuedPodInfo
from moorage.engine.recorder import Recorder
from moorage.framework.cluster_events import ClusterEvent
from moorage.framework.extension_points import Plugin
from moorage.framework.profile import Profile


class QueueingStrategy(IntEnum):
    """The next step for an unschedulable pod after an event. If plugins differ, the largest value applies."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class QueueingHints:
    """The queueing hints of all profiles. Plugins are looked up by name once for each profile."""

    def __init__(self, profiles: Mapping[str, Profile], recorder: Recorder) -> None:
        """Read the plugins from `profiles`, a live mapping."""
        self._profiles = profiles
        self._recorder = recorder
        self._plugins: dict[str, tuple[Profile, dict[str, Plugin]]] = {}

    def strategy_for(self, queued: QueuedPodInfo, event: ClusterEvent) -> QueueingStrategy:
        """Return the strategy for a pod after an event; AFTER_BACKOFF for a pod that no plugin rejected."""
        if not queued.unschedulable_plugins:
            return QueueingStrategy.AFTER_BACKOFF
        plugins = self._plugins_of(queued.pod.scheduler_name)
        strategy = QueueingStrategy.SKIP
        for name in queued.unschedulable_plugins:
            if not self._is_interested(name, plugins.get(name), queued, event):
                continue
            if name in queued.pending_plugins:
                return QueueingStrategy.IMMEDIATELY
            strategy = QueueingStrategy.AFTER_BACKOFF
            if not queued.pending_plugins:
                break
        return strategy

    def _is_interested(self, name: str, plugin: Plugin | None, queued: QueuedPodInfo, event: ClusterEvent) -> bool:
        """Return whether the event may change the plugin's rejection of the pod.

        Always true for extenders, which have no queueing hints, and for a plugin that the profile no longer has.
        """
        if name == EXTENDER or plugin is None:
            return True
        if event.kind not in plugin.interests:
            return False
        started = self._recorder.now()
        queues = plugin.queueing_hint(queued.pod, event)
        self._recorder.observe_hint(name, event, started, queues=queues)
        return queues

    def _plugins_of(self, scheduler_name: str) -> dict[str, Plugin]:
        profile = self._profiles.get(scheduler_name)
        if profile is None:
            return {}
        known = self._plugins.get(scheduler_name)
        if known is None or known[0] is not profile:
            known = (profile, {plugin.name: plugin for plugin in profile.plugins})
            self._plugins[scheduler_name] = known
        return known[1]

"""Is an event worth another attempt? The plugins that turned the pod away decide.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go (isPodWorthRequeuing).
"""

from collections.abc import Mapping
from enum import IntEnum

from moorage.engine.cycle.decision import EXTENDER
from moorage.engine.queue.queued_pod_info import QueuedPodInfo
from moorage.framework.cluster_events import ClusterEvent
from moorage.framework.extension_points import Plugin
from moorage.framework.profile import Profile


class QueueingStrategy(IntEnum):
    """What an event makes of a parked pod; the larger one wins."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class QueueingHints:
    """Asks plugins about events. Which plugin a name stands for is looked up once a profile."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        """Watch `profiles`, a live mapping."""
        self._profiles = profiles
        self._plugins: dict[str, tuple[Profile, dict[str, Plugin]]] = {}

    def judge(self, queued: QueuedPodInfo, event: ClusterEvent) -> QueueingStrategy:
        """Say what the event makes of the pod. A pod that nobody turned away is always worth another attempt."""
        if not queued.rejectors:
            return QueueingStrategy.AFTER_BACKOFF
        plugins = self._plugins_of(queued.pod.scheduler_name)
        verdict = QueueingStrategy.SKIP
        for name in queued.rejectors:
            if not _wants(name, plugins.get(name), queued, event):
                continue
            if name in queued.pending:
                return QueueingStrategy.IMMEDIATELY
            verdict = QueueingStrategy.AFTER_BACKOFF
            if not queued.pending:
                break
        return verdict

    def _plugins_of(self, scheduler_name: str) -> dict[str, Plugin]:
        profile = self._profiles.get(scheduler_name)
        if profile is None:
            return {}
        known = self._plugins.get(scheduler_name)
        if known is None or known[0] is not profile:
            known = (profile, {plugin.name: plugin for plugin in profile.plugins})
            self._plugins[scheduler_name] = known
        return known[1]


def _wants(name: str, plugin: Plugin | None, queued: QueuedPodInfo, event: ClusterEvent) -> bool:
    """Whether a rejecter is interested; one that the profile no longer has cannot reject again."""
    if name == EXTENDER or plugin is None:
        return True
    return event.kind in plugin.interests and plugin.queueing_hint(queued.pod, event)

"""What the process answers about itself: alive, ready, how it is configured, what it knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from moorage.engine.scheduler import Scheduler
from moorage.runtime.clock import Clock
from moorage.runtime.informers.informer import Informer
from moorage.runtime.metrics.process_metrics import Metrics
from moorage.runtime.scheduling_loop import SchedulingLoop
from moorage.runtime.serving.health_server import Endpoints
from moorage.settings import Settings

STUCK_SECONDS = 60.0
"""A scheduling loop that has not come round for this long is stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """Where the answers come from."""

    settings: Settings
    scheduler: Scheduler
    loop: SchedulingLoop
    informers: Sequence[Informer]
    policies_known: Callable[[], bool]
    lease_fault: Callable[[], str]
    """Why leader election is unhealthy; empty if it is not."""
    metrics: Metrics
    clock: Clock


def endpoints(vitals: Vitals) -> Endpoints:
    """Describe what is served."""
    return Endpoints(
        livez={
            "ping": lambda: "",
            "scheduling-loop": lambda: _loop_fault(vitals),
            "leader-election": vitals.lease_fault,
        },
        readyz={
            "informers": lambda: _informers_fault(vitals.informers),
            "policies": lambda: "" if vitals.policies_known() else "SchedulingPolicies are not listed yet",
        },
        metrics=vitals.metrics.render,
        configz=lambda: {"settings": asdict(vitals.settings), "profiles": _profiles(vitals.scheduler)},
        debug_cache=lambda: _cache(vitals),
    )


def _loop_fault(vitals: Vitals) -> str:
    silent = vitals.clock.monotonic() - vitals.loop.last_turn
    return f"no turn for {silent:.0f} s" if silent > STUCK_SECONDS else ""


def _informers_fault(informers: Sequence[Informer]) -> str:
    waiting = [informer.kind for informer in informers if not informer.has_synced]
    return f"not synced: {', '.join(waiting)}" if waiting else ""


def _profiles(scheduler: Scheduler) -> dict[str, Any]:
    return {
        name: {
            "policy": asdict(profile.policy) if profile.policy else None,
            "plugins": [plugin.name for plugin in profile.plugins],
            "weights": {score.plugin.name: score.weight for score in profile.score},
            "percentageOfNodesToScore": profile.settings.percentage_of_nodes_to_score,
            "paused": profile.settings.paused,
        }
        for name, profile in scheduler.profiles.items()
    }


def _cache(vitals: Vitals) -> dict[str, Any]:
    """Show what is known by kind, how fresh it is, and where pods wait."""
    now = vitals.clock.monotonic()
    return {
        "objects": {informer.kind: len(informer.objects) for informer in vitals.informers},
        "secondsSinceHeard": {informer.kind: round(now - informer.last_heard, 3) for informer in vitals.informers},
        "pendingPods": dict(vitals.scheduler.statistics.pending_pods()),
        "profiles": sorted(vitals.scheduler.profiles),
    }

"""The sources of the HTTP endpoints' answers: liveness, readiness, configuration, metrics and the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from moorage.engine.scheduler import Scheduler
from moorage.runtime.clock import Clock
from moorage.runtime.informers.informer import Informer
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.scheduling_loop import SchedulingLoop
from moorage.runtime.serving.health_server import EndpointSources
from moorage.settings import Settings

STUCK_SECONDS = 60.0
"""A scheduling loop without a turn for this long is stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointParts:
    """The parts of the process that the endpoints report on."""

    settings: Settings
    scheduler: Scheduler
    loop: SchedulingLoop
    informers: Sequence[Informer]
    policies_known: Callable[[], bool]
    lease_fault: Callable[[], str]
    """Returns why leader election is unhealthy; empty if it is healthy."""
    metrics: ProcessMetrics
    clock: Clock


def endpoint_sources(parts: EndpointParts) -> EndpointSources:
    """Return the sources of all endpoints."""
    return EndpointSources(
        livez={
            "ping": lambda: "",
            "scheduling-loop": lambda: _loop_fault(parts),
            "leader-election": parts.lease_fault,
        },
        readyz={
            "informers": lambda: _informers_fault(parts.informers),
            "policies": lambda: "" if parts.policies_known() else "SchedulingPolicies are not listed yet",
        },
        metrics=parts.metrics.render,
        configz=lambda: {"settings": asdict(parts.settings), "profiles": _profiles(parts.scheduler)},
        debug_cache=lambda: _cache(parts),
    )


def _loop_fault(parts: EndpointParts) -> str:
    silent = parts.clock.monotonic() - parts.loop.last_turn
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


def _cache(parts: EndpointParts) -> dict[str, Any]:
    """Return the number of known objects by kind, the age of the watches, and where pods wait."""
    now = parts.clock.monotonic()
    return {
        "objects": {informer.kind: len(informer.objects) for informer in parts.informers},
        "secondsSinceHeard": {informer.kind: round(now - informer.last_heard, 3) for informer in parts.informers},
        "pendingPods": dict(parts.scheduler.statistics.pending_pods()),
        "profiles": sorted(parts.scheduler.profiles),
    }

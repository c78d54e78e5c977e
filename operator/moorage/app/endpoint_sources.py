"""The sources of the HTTP endpoints' answers: liveness, readiness, configuration, metrics and the cache."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from socket import gethostname
from typing import Any

from moorage.app.election import Election
from moorage.app.pod_explainer import PodExplainer
from moorage.app.process import Process
from moorage.engine.scheduler import Scheduler
from moorage.model.pods.pod import Pod
from moorage.runtime.informers.informer import Informer
from moorage.runtime.serving.health_server import EndpointSources
from moorage.runtime.serving.recording_endpoint import RecordingSwitch
from moorage.settings import Settings

STUCK_SECONDS = 60.0
"""The scheduling loop counts as stuck if its last turn began this long ago."""


def endpoint_sources(process: Process, settings: Settings, election: Election | None) -> EndpointSources:
    """Return the sources of all endpoints; `election` is None if this is the only replica."""
    explainer = PodExplainer(
        scheduler=process.scheduler,
        pods=process.informers["Pod"].objects,
        clock=process.environment.clock,
        operator=election.elector.identity if election else gethostname(),
    )
    return EndpointSources(
        livez={
            "ping": lambda: "",
            "scheduling-loop": lambda: _check_loop(process),
            "leader-election": election.fault if election else lambda: "",
        },
        readyz={
            "api-server": process.environment.api_server_fault,
            "rights": process.environment.rights.fault,
            "informers": lambda: _check_informers(process.informers.values()),
            "policies": lambda: "" if process.policy_controller.has_synced else "SchedulingPolicies are not listed yet",
        },
        details={"leader-election": election.elector.describe} if election else {},
        metrics=process.environment.metrics.render,
        pods=lambda: _pods_of_leader(process),
        clock=process.environment.clock,
        started_at=process.environment.clock.time(),
        configz=lambda: {"settings": asdict(settings), "profiles": _describe_profiles(process.scheduler)},
        debug_cache=lambda: _describe_cache(process),
        explain=explainer.explain,
        search_changes=explainer.change_search,
        recording=RecordingSwitch(
            describe=process.recordings.describe, start=process.recordings.start, stop=process.recordings.stop
        ),
    )


def _pods_of_leader(process: Process) -> Iterable[Pod]:
    """Return all pods; empty on a standby replica, because otherwise each replica would report each pod."""
    return process.informers["Pod"].objects.values() if process.environment.may_write() else ()


def _check_loop(process: Process) -> str:
    silent = process.environment.clock.monotonic() - process.loop.last_turn
    return f"no turn for {silent:.0f} s" if silent > STUCK_SECONDS else ""


def _check_informers(informers: Iterable[Informer]) -> str:
    return "; ".join(fault for informer in informers if (fault := informer.readability.fault()))


def _describe_profiles(scheduler: Scheduler) -> dict[str, Any]:
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


def _describe_cache(process: Process) -> dict[str, Any]:
    """Return the number of known objects by kind, the age of the watches, and where pods wait."""
    now = process.environment.clock.monotonic()
    informers = process.informers.values()
    return {
        "objects": {informer.kind: len(informer.objects) for informer in informers},
        "secondsSinceHeard": {informer.kind: round(now - informer.last_received, 3) for informer in informers},
        "pendingPods": dict(process.scheduler.statistics.pending_pods()),
        "profiles": sorted(process.scheduler.profiles),
    }

"""The recorder of durations and counts in the engine, for metrics.

The engine has no clock, so the runtime's recorder reads the time. The recorder here is the default and records nothing.
Upstream: pkg/scheduler/metrics/metrics.go.
"""

from collections.abc import Sequence

from moorage.framework.cluster_events import ClusterEvent
from moorage.framework.extension_points import Plugin
from moorage.framework.status import Code

PRE_ENQUEUE = "PreEnqueue"
PRE_FILTER = "PreFilter"
FILTER = "Filter"
POST_FILTER = "PostFilter"
PRE_SCORE = "PreScore"
SCORE = "Score"
RESERVE = "Reserve"
PERMIT = "Permit"
PRE_BIND = "PreBind"
BIND = "Bind"
POST_BIND = "PostBind"

SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF_QUEUE = "PopFromBackoffQ"
FORCE_ACTIVATE = "ForceActivate"
UNSCHEDULABLE_TIMEOUT = "UnschedulableTimeout"
"""Upstream's names of the reasons why a pod enters a queue, besides cluster events (framework/events.go)."""


class Recorder:
    """A recorder that records nothing."""

    samples_plugins = False
    """Whether the current cycle records each call of a plugin. Upstream records these calls in 10 % of the cycles."""
    durations: Sequence[tuple[str, float]] = ()
    """The extension points that ran since `start_cycle`, in order, with their durations in seconds."""

    shadow_answers: list[bool] | None = None
    """The list that receives the answers of `may_shadow` while the engine is recorded; otherwise None."""

    def start_cycle(self) -> None:
        """Forget `durations`. Decide whether the next cycle records each call of a plugin (`samples_plugins`)."""

    def now(self) -> float:
        """Return the current time, to pass as `started` later."""
        return 0.0

    def observe_point(
        self, point: str, code: Code, profile: str, started: float, evaluated: Sequence[Plugin] = ()
    ) -> float:
        """Record a run of all plugins of an extension point, and an attempt of each plugin in `evaluated`.

        Return the current time.
        """
        del point, code, profile, started, evaluated
        return 0.0

    def observe_plugin(self, plugin: str, point: str, code: Code, started: float) -> None:
        """Record one call of a plugin."""

    def may_shadow(self) -> bool:
        """Return whether a shadow may decide now. It may if shadows have used less than their share of the time."""
        return True

    def observe_shadow(self, started: float) -> None:
        """Record the time that a shadow has used since `started`."""

    def count_incoming(self, queue: str, event: str) -> None:
        """Count a pod that enters a queue: `active`, `backoff` or `unschedulable`."""

    def observe_hint(self, plugin: str, event: ClusterEvent, started: float, *, queues: bool) -> None:
        """Record a call of a queueing hint; `queues` is the result of the hint."""


NO_RECORDER = Recorder()

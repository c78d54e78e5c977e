"""Numbers about the scheduler's state, for metrics, the status of policies and the watchdog."""

from collections.abc import Mapping
from dataclasses import dataclass

from moorage.engine.binding_pods import BindingPods
from moorage.engine.cache import Cache
from moorage.engine.disallowed_pods import DisallowedPods
from moorage.engine.held_pods import HeldPods
from moorage.engine.queue.scheduling_queue import SchedulingQueue
from moorage.engine.shadows import Shadows


@dataclass(frozen=True, slots=True)
class SchedulerStatistics:
    """Numbers that are computed on request from the scheduler's state. This class never changes the state."""

    cache: Cache
    queue: SchedulingQueue
    binding: BindingPods
    held: HeldPods
    disallowed: DisallowedPods
    shadows: Shadows

    def pending_pods(self) -> Mapping[str, int]:
        """Return the number of pods without a node: active, backoff, unschedulable, gated, inFlight and binding."""
        return {**self.queue.counts(), "binding": sum(self.binding.counts().values())}

    def pending_pods_by_profile(self) -> Mapping[str, Mapping[str, int]]:
        """Return the numbers of `pending_pods` and of held pods by schedulerName. A number that is 0 may be absent.

        `notAllowed` counts the pods in namespaces that their policy does not allow, `held` all other held pods.
        """
        counts: dict[str, dict[str, int]] = {
            name: dict(queues) for name, queues in self.queue.counts_by_profile().items()
        }
        others = {
            "binding": self.binding.counts(),
            "held": self.held.counts(),
            "notAllowed": self.disallowed.counts(),
        }
        for key, by_name in others.items():
            for name, count in by_name.items():
                counts.setdefault(name, {})[key] = count
        return counts

    def unschedulable_pods(self) -> Mapping[tuple[str, str], int]:
        """Return the number of unschedulable pods by plugin and schedulerName.

        A pod counts once for each plugin that rejected it.
        """
        return self.queue.unschedulable_counts()

    def skipped_by_shadows(self) -> Mapping[str, int]:
        """Return the number of decisions that each policy in mode Shadow left out for lack of time."""
        return self.shadows.skipped

    def stuck_pods(self, now: float, seconds: float) -> Mapping[str, float]:
        """Return the pods that have been active for over `seconds`: the time of each in seconds, by namespace/name."""
        stuck = self.queue.active_since_before(now - seconds)
        return {queued.pod.key: now - queued.ready_at for queued in stuck}

    def cache_size(self) -> Mapping[str, int]:
        """Return the numbers of nodes, pods and assumed pods in the cache."""
        cache = self.cache
        return {"nodes": cache.snapshot.size, "pods": cache.pod_count, "assumed_pods": cache.assumed_count}

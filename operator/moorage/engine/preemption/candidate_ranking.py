"""The order of victims by importance, and of candidates by the cost of their victims.

Upstream: pkg/scheduler/framework/preemption/preemption.go (pickOneNodeForPreemption), pkg/scheduler/util/utils.go
(MoreImportantPod).
"""

from collections.abc import Collection
from math import inf

from moorage.engine.candidate import Candidate
from moorage.model.pods.pod import Pod

PRIORITY_OFFSET = 2**31
"""The number that is added to each priority in a sum, so that all terms are positive. Otherwise an additional victim
with a negative priority would lower the sum."""


def importance(pod: Pod) -> tuple[float, float]:
    """Return a sort key, most important pod first: by higher priority, then by earlier start."""
    return -pod.priority, _start(pod)


def best_candidates(candidates: Collection[Candidate]) -> list[Candidate]:
    """Return the candidates with the lowest cost, sorted by node name."""
    costs = [candidate_cost(candidate) for candidate in candidates]
    lowest = min(costs)
    tied = (candidate for candidate, cost in zip(candidates, costs, strict=True) if cost == lowest)
    return sorted(tied, key=lambda candidate: candidate.node_name)


def candidate_cost(candidate: Candidate) -> tuple[float, ...]:
    """Return a candidate's cost as a tuple; tuples compare by their first different part.

    The parts are the number of violations, the highest priority, the sum of priorities, the number of victims, and the
    earliest start of the victims with the highest priority. The cost of a later start is lower.
    """
    highest = candidate.victims[0].priority
    earliest = min(_start(pod) for pod in candidate.victims if pod.priority == highest)
    total = sum(pod.priority + PRIORITY_OFFSET for pod in candidate.victims)
    return candidate.violations, highest, total, len(candidate.victims), -earliest


def _start(pod: Pod) -> float:
    """Return when the pod started, in seconds. A pod that has not started comes after all other pods."""
    return inf if pod.start_time is None else pod.start_time

"""Preemption: which pods would have to go, and on which node, so that a pod of higher priority fits.

This is the dry run: nothing is evicted here. On each node that evictions could help, all pods of lower priority are
taken away in thought; if the pod fits then, as many as possible come back, the most important first, and first of all
those whose disruption budget does not allow another disruption.

Upstream: pkg/scheduler/framework/preemption/preemption.go, pkg/scheduler/framework/plugins/defaultpreemption.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from moorage.cluster.arrays import IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.what_if import NodeWhatIf
from moorage.engine.candidate import Candidate
from moorage.engine.cycle.filtering import add_pod, filter_one, fits, remove_pod
from moorage.engine.cycle.pre_filter import PreFiltered, States
from moorage.framework.status import Code, Status, error, unschedulable
from moorage.model.pods.pod import Pod
from moorage.model.workloads.workload_objects import PodDisruptionBudget

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
WOULD_VIOLATE = "Preemption would violate a PodDisruptionBudget"
"""A reason of our own: only where a policy is strict are such nodes no candidates."""
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
PREEMPTED = "PreemptionByScheduler"
"""Reason of the DisruptionTarget condition of a pod that a scheduler has preempted."""
PRIORITY_OFFSET = 2**31
"""Lifts every priority above 0, so that in a sum many negative ones do not look better than few."""


@dataclass(slots=True)
class DryRun:
    """What the search for victims has found."""

    candidates: list[Candidate] = field(default_factory=list)
    statuses: dict[str, Status] = field(default_factory=dict)
    """Why the other nodes that were tried are no candidates."""
    without_victims: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Positions of the nodes that have no pod of lower priority; their number may be large, so they are not tried."""

    def reasons(self, total_nodes: int) -> dict[str, int]:
        """Count why evictions help on no node."""
        reasons = Counter(reason for status in self.statuses.values() for reason in status.reasons)
        reasons[NO_VICTIMS] += len(self.without_victims)
        reasons[NOT_HELPFUL] += total_nodes - len(self.statuses) - len(self.without_victims)
        return {reason: count for reason, count in reasons.items() if count}

    @property
    def is_up_to_budgets(self) -> bool:
        """Whether on some node it is only for a budget that evictions do not help."""
        return any(WOULD_VIOLATE in status.reasons for status in self.statuses.values())

    @property
    def failure(self) -> str:
        """What failed in the search, in the words of upstream's aggregated errors; empty for nothing."""
        failed = (status for status in self.statuses.values() if status.code is Code.ERROR)
        failures = list(dict.fromkeys(status.message for status in failed))
        return f"[{', '.join(failures)}]" if len(failures) > 1 else "".join(failures)


@dataclass(frozen=True, slots=True)
class Search:
    """What all nodes of one search have in common."""

    found: PreFiltered
    budgets: Sequence[PodDisruptionBudget]
    strict: bool = False
    """Whether nodes are no candidates where a budget would be violated."""


def ineligible(pod: Pod, snapshot: Snapshot, *, nominated_node_is_hopeless: bool) -> str:
    """Say why a pod may not preempt; empty where it may."""
    if pod.preemption_policy == "Never":
        return NEVER
    position = snapshot.position(pod.nominated_node_name) if pod.nominated_node_name else None
    if position is None or nominated_node_is_hopeless:
        return ""
    making_room = any(
        other.priority < pod.priority and other.terminating and other.disruption_target == PREEMPTED
        for other in snapshot.pods_on(position)
    )
    return TERMINATING if making_room else ""


def dry_run(search: Search, snapshot: Snapshot, positions: IntArray, wanted: int) -> DryRun:
    """Try nodes in the given order until `wanted` candidates are found and one of them violates no budget."""
    has_lower = (snapshot.pod_count > 0) & (snapshot.lowest_priority < search.found.pod.priority)
    promising = has_lower[positions]
    result = DryRun(without_victims=positions[~promising])
    violating: list[Candidate] = []
    for position in positions[promising].tolist():
        node = NodeWhatIf(snapshot, position)
        candidate = select_victims(search, node)
        if isinstance(candidate, Status):
            result.statuses[node.names[0]] = candidate
            continue
        (violating if candidate.violations else result.candidates).append(candidate)
        if result.candidates and len(result.candidates) + len(violating) >= wanted:
            break
    result.candidates += violating
    return result


def select_victims(search: Search, node: NodeWhatIf) -> Candidate | Status:
    """Find the pods to evict from one node that has some of lower priority, or why that does not help."""
    found = search.found
    lower = [other for other in node.pods_on(0) if other.priority < found.pod.priority]
    states = found.states
    for other in lower:
        states = remove_pod(found, states, other, node)
    status = filter_one(found, states, node)
    if not status.is_success:
        return status
    violating, others = split_by_budgets(sorted(lower, key=importance), search.budgets)
    states, evicted_violating = _reprieve(search, node, states, violating)
    _, evicted_others = _reprieve(search, node, states, others)
    victims = tuple(sorted([*evicted_violating, *evicted_others], key=importance))
    if not victims:
        return error(f'expected at least one victim pod on node "{node.names[0]}"')
    if not search.strict:
        return Candidate(node.names[0], victims, len(evicted_violating))
    # Here only those count that go: one that was held to violate may be within its budget as others have stayed.
    if split_by_budgets([victim for victim in victims if not victim.terminating], search.budgets)[0]:
        return unschedulable(WOULD_VIOLATE)
    return Candidate(node.names[0], victims, 0)


def _reprieve(search: Search, node: NodeWhatIf, states: States, pods: Sequence[Pod]) -> tuple[States, list[Pod]]:
    """Bring pods back one by one as long as the pod still fits; return those that cannot stay."""
    evicted: list[Pod] = []
    for other in pods:
        back = add_pod(search.found, states, other, node)
        if fits(search.found, back, node):
            states = back
        else:
            states = remove_pod(search.found, back, other, node)
            evicted.append(other)
    return states, evicted


def importance(pod: Pod) -> tuple[float, float]:
    """Return a sort key, most important first: higher priority, then the earlier start. Not started counts as now."""
    return -pod.priority, _start(pod)


def split_by_budgets(pods: Sequence[Pod], budgets: Sequence[PodDisruptionBudget]) -> tuple[list[Pod], list[Pod]]:
    """Split pods into those whose eviction violates a budget, were all before them evicted, and the others."""
    left = [budget.disruptions_allowed for budget in budgets]
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        is_violating = False
        for index, budget in enumerate(budgets):
            if _covers(budget, pod):
                left[index] -= 1
                is_violating = is_violating or left[index] < 0
        (violating if is_violating else others).append(pod)
    return violating, others


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Whether a pod's eviction counts against a budget; one that has been approved already does not count twice."""
    selector = budget.selector
    if not pod.labels or budget.namespace != pod.namespace or selector is None or selector.is_empty:
        return False
    return selector.matches(pod.labels) and pod.name not in budget.disrupted_pods


def covered_first(pods: Sequence[Pod], budgets: Collection[PodDisruptionBudget]) -> tuple[Pod, ...]:
    """Put the pods first that a budget covers: where one may not go after all, no other has gone in vain."""
    return tuple(sorted(pods, key=lambda pod: not any(_covers(budget, pod) for budget in budgets)))


def best_candidates(candidates: Collection[Candidate]) -> list[Candidate]:
    """Return the candidates that tie for the best, sorted by name."""
    costs = [_cost(candidate) for candidate in candidates]
    best = min(costs)
    tying = (candidate for candidate, cost in zip(candidates, costs, strict=True) if cost == best)
    return sorted(tying, key=lambda candidate: candidate.node_name)


def _cost(candidate: Candidate) -> tuple[float, ...]:
    """Fewest violations, lowest highest priority, smallest sum, fewest victims, latest start of the most important."""
    highest = candidate.victims[0].priority
    earliest = min(_start(pod) for pod in candidate.victims if pod.priority == highest)
    total = sum(pod.priority + PRIORITY_OFFSET for pod in candidate.victims)
    return candidate.violations, highest, total, len(candidate.victims), -earliest


def _start(pod: Pod) -> float:
    return inf if pod.start_time is None else pod.start_time

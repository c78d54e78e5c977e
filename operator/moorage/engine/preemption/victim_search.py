"""The dry run of preemption: it finds nodes, and pods to evict from them, so that a pod of higher priority fits.

The dry run evicts nothing. On each node where preemption may help, it removes all pods of lower priority from a copy of
the node. If the pod then fits, the dry run puts back as many removed pods as possible: first the pods whose
PodDisruptionBudget does not allow their eviction, then all others. In each group, the most important pod comes first.

Upstream: pkg/scheduler/framework/preemption/preemption.go, pkg/scheduler/framework/plugins/defaultpreemption.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from moorage.cluster.arrays import IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.what_if import NodeWhatIf
from moorage.engine.candidate import Candidate
from moorage.engine.cycle.filtering import add_pod, filter_one, fits, remove_pod
from moorage.engine.cycle.pre_filter import PreFiltered, States
from moorage.engine.preemption.candidate_ranking import importance
from moorage.engine.preemption.disruption_budgets import is_protected, split_by_budgets
from moorage.framework.status import Code, Status, error, unschedulable
from moorage.model.pods.pod import Pod
from moorage.model.workloads.workload_objects import PodDisruptionBudget

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
WOULD_VIOLATE = "Preemption would violate a PodDisruptionBudget"
"""Upstream has no such reason, because only moorage's strict profiles reject these nodes."""
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
PREEMPTED = "PreemptionByScheduler"
"""The reason of the DisruptionTarget condition of a victim."""


@dataclass(slots=True)
class DryRun:
    """The result of the search for victims."""

    candidates: list[Candidate] = field(default_factory=list)
    statuses: dict[str, Status] = field(default_factory=dict)
    """The statuses of the tried nodes that are not candidates, by node name."""
    without_victims: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """The positions of the nodes without pods of lower priority. The search does not try these nodes.

    There may be many of them, so none gets a Status.
    """

    def reasons(self, total_nodes: int) -> dict[str, int]:
        """Return the reasons why preemption does not help, each with its number of nodes."""
        reasons = Counter(reason for status in self.statuses.values() for reason in status.reasons)
        reasons[NO_VICTIMS] += len(self.without_victims)
        reasons[NOT_HELPFUL] += total_nodes - len(self.statuses) - len(self.without_victims)
        return {reason: count for reason, count in reasons.items() if count}

    @property
    def depends_on_budgets(self) -> bool:
        """Whether a budget is the only obstacle on some node."""
        return any(WOULD_VIOLATE in status.reasons for status in self.statuses.values())

    @property
    def failure(self) -> str:
        """The errors of the search in the format of upstream's aggregated errors; empty for none."""
        failed = (status for status in self.statuses.values() if status.code is Code.ERROR)
        failures = list(dict.fromkeys(status.message for status in failed))
        return f"[{', '.join(failures)}]" if len(failures) > 1 else "".join(failures)


@dataclass(frozen=True, slots=True)
class Search:
    """The input of the search that is the same for all nodes."""

    pre_filtered: PreFiltered
    budgets: Sequence[PodDisruptionBudget]
    strict: bool = False
    """Whether to reject nodes on which the evictions would violate a budget."""


def ineligibility(pod: Pod, snapshot: Snapshot, *, is_nominated_node_hopeless: bool) -> str:
    """Return why the pod may not preempt others; empty if it may (PodEligibleToPreemptOthers).

    `is_nominated_node_hopeless` means that preemption cannot help on the pod's nominated node.
    """
    if pod.preemption_policy == "Never":
        return NEVER
    position = snapshot.position(pod.nominated_node_name) if pod.nominated_node_name else None
    if position is None or is_nominated_node_hopeless:
        return ""
    has_terminating_victim = any(
        other.priority < pod.priority and other.terminating and other.disruption_target == PREEMPTED
        for other in snapshot.pods_on(position)
    )
    return TERMINATING if has_terminating_victim else ""


def dry_run(search: Search, snapshot: Snapshot, positions: IntArray, wanted: int) -> DryRun:
    """Try nodes in the given order until there are `wanted` candidates and at least one violates no budget."""
    has_lower = (snapshot.pod_count > 0) & (snapshot.lowest_priority < search.pre_filtered.pod.priority)
    has_victims = has_lower[positions]
    result = DryRun(without_victims=positions[~has_victims])
    violating: list[Candidate] = []
    for position in positions[has_victims].tolist():
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
    """Return the candidate for a node that has pods of lower priority, or why preemption does not help there."""
    pre_filtered = search.pre_filtered
    lower = [other for other in node.pods_on(0) if other.priority < pre_filtered.pod.priority]
    states = pre_filtered.states
    for other in lower:
        states = remove_pod(pre_filtered, states, other, node)
    status = filter_one(pre_filtered, states, node)
    if not status.is_success:
        return status
    violating, others = split_by_budgets(sorted(lower, key=importance), search.budgets)
    states, evicted_violating = _put_back_pods(search, node, states, violating)
    _, evicted_others = _put_back_pods(search, node, states, others)
    victims = tuple(sorted([*evicted_violating, *evicted_others], key=importance))
    if not victims:
        return error(f'expected at least one victim pod on node "{node.names[0]}"')
    if not search.strict:
        return Candidate(node.names[0], victims, len(evicted_violating))
    # Check the budgets again for the victims only. The first check also counted pods that were put back, so a budget
    # may now allow all evictions.
    if is_protected(victims, search.budgets):
        return unschedulable(WOULD_VIOLATE)
    return Candidate(node.names[0], victims, 0)


def _put_back_pods(search: Search, node: NodeWhatIf, states: States, pods: Sequence[Pod]) -> tuple[States, list[Pod]]:
    """Put back each pod with which the incoming pod still fits. Return the states, and the other pods as victims."""
    evicted: list[Pod] = []
    for other in pods:
        with_other = add_pod(search.pre_filtered, states, other, node)
        if fits(search.pre_filtered, with_other, node):
            states = with_other
        else:
            states = remove_pod(search.pre_filtered, with_other, other, node)
            evicted.append(other)
    return states, evicted

"""PodDisruptionBudgets in the search for victims.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation).
"""

from collections.abc import Collection, Sequence

from moorage.cluster.snapshot import Snapshot
from moorage.model.pods.pod import Pod
from moorage.model.workloads.workload_objects import PodDisruptionBudget

BUDGET_KIND = "PodDisruptionBudget"


def budgets_of(snapshot: Snapshot) -> tuple[PodDisruptionBudget, ...]:
    """Return all budgets of the cluster."""
    return tuple(snapshot.objects(BUDGET_KIND).values())


def split_by_budgets(pods: Sequence[Pod], budgets: Sequence[PodDisruptionBudget]) -> tuple[list[Pod], list[Pod]]:
    """Return the pods whose eviction violates a budget, and the other pods. All are evicted in the given order."""
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


def is_protected(pods: Sequence[Pod], budgets: Sequence[PodDisruptionBudget]) -> bool:
    """Return whether the eviction of these pods, in this order, violates a budget. Terminating pods do not count."""
    return bool(split_by_budgets([pod for pod in pods if not pod.terminating], budgets)[0])


def covered_first(pods: Sequence[Pod], budgets: Collection[PodDisruptionBudget]) -> tuple[Pod, ...]:
    """Return the pods in a new order: first the pods that a budget covers, then all others.

    The API server may refuse the eviction of a covered pod. Covered pods are evicted first, so that after a refusal no
    other pod has been evicted for nothing.
    """
    return tuple(sorted(pods, key=lambda pod: not any(_covers(budget, pod) for budget in budgets)))


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Return whether the pod's eviction would reduce the budget. Evictions in `disrupted_pods` have already done so."""
    selector = budget.selector
    if not pod.labels or budget.namespace != pod.namespace or selector is None or selector.is_empty:
        return False
    return selector.matches(pod.labels) and pod.name not in budget.disrupted_pods

"""The search for changes that would let a waiting pod fit, and their ranking."""

from collections.abc import Callable, Iterable, Iterator

from moorage.engine.cache import Cache
from moorage.engine.counterfactuals.cluster_changes import new_nodes, node_labels, victims
from moorage.engine.counterfactuals.counterfactual import ChangeKind, Counterfactual, change_to, fitting_nodes
from moorage.engine.counterfactuals.pod_changes import pod_changes
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod

MAX_CHANGES = 10
_KIND_RANK = {kind: rank for rank, kind in enumerate(ChangeKind)}


def always() -> bool:
    """Return True: the search has no time limit."""
    return True


def find_changes(
    profile: Profile, pod: Pod, cache: Cache, others: Iterable[Profile] = (), goes_on: Callable[[], bool] = always
) -> list[Counterfactual]:
    """Return at most MAX_CHANGES single changes after which the pod fits on a node, best first.

    `cache` must be a private copy, because some changes are tried on it. `others` are the other live profiles.
    The result is empty if the pod fits already. The best change of each kind comes before the second best of any kind.
    When `goes_on` returns False, the search ends, and the result has the changes that were found so far.
    """
    if fitting_nodes(profile, pod, cache.snapshot):
        return []
    return rank(all_changes(profile, pod, cache, others, goes_on))


def rank(changes: Iterable[Counterfactual]) -> list[Counterfactual]:
    """Return the best changes, best first."""
    by_kind: dict[ChangeKind, list[Counterfactual]] = {}
    for change in changes:
        by_kind.setdefault(change.kind, []).append(change)
    ranked = [
        (place, _KIND_RANK[kind], change)
        for kind, of_kind in by_kind.items()
        for place, change in enumerate(sorted(of_kind, key=lambda change: (change.size, change.text)))
    ]
    return [change for *_, change in sorted(ranked, key=lambda each: each[:2])][:MAX_CHANGES]


def all_changes(
    profile: Profile, pod: Pod, cache: Cache, others: Iterable[Profile], goes_on: Callable[[], bool] = always
) -> Iterator[Counterfactual]:
    """Yield every change that the search finds, for a pod that does not fit."""
    yield from pod_changes(profile, pod, cache.snapshot, goes_on)
    searches: tuple[Callable[[], Iterator[Counterfactual]], ...] = (
        lambda: _other_policies(pod, cache, others),
        lambda: node_labels(profile, pod, cache),
        lambda: victims(profile, pod, cache.snapshot),
        lambda: new_nodes(profile, pod, cache),
    )
    for search in searches:
        if goes_on():
            yield from search()


def _other_policies(pod: Pod, cache: Cache, others: Iterable[Profile]) -> Iterator[Counterfactual]:
    """Yield the other live profiles with which the pod fits."""
    for other in others:
        names = fitting_nodes(other, pod, cache.snapshot)
        if names:
            yield change_to(ChangeKind.POLICY, f"schedulerName {other.name}", names)

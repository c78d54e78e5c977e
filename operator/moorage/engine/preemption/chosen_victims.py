"""Checks the victims that an extender chooses: each must be a pod that the engine itself could have chosen.

An extender may be outside the cluster's control. kube-scheduler accepts victims of any priority from it, and its
NumPDBViolations. moorage checks the victims against the cluster, and counts the violations again.

Upstream: pkg/scheduler/extender.go (convertToVictims), which these checks replace.
"""

from collections.abc import Iterable

from moorage.cluster.snapshot import Snapshot
from moorage.cluster.what_if import NodeWhatIf
from moorage.engine.candidate import Candidate
from moorage.engine.cycle.filtering import filter_one, remove_pod
from moorage.engine.preemption.candidate_ranking import importance
from moorage.engine.preemption.disruption_budgets import budgets_of, is_protected, split_by_budgets
from moorage.engine.preemption.victim_search import NEVER, Search
from moorage.model.pods.pod import Pod


def candidate_of(preemptor: Pod, node_name: str, uids: Iterable[str], snapshot: Snapshot) -> Candidate:
    """Return the candidate with these victims, the most important first. Ignore repeated uids.

    Raise ValueError if the preemptor must not preempt, or if a victim is not on the node, or if a victim's priority is
    not lower than the preemptor's. The error message has uids but no names of victims, because another tenant may read
    the message in the preemptor's events.
    """
    if preemptor.preemption_policy == "Never":
        raise ValueError(f"names victims for pod {preemptor.key}, which is {NEVER.rstrip('.')}")
    position = snapshot.position(node_name)
    placed = {} if position is None else {pod.uid: pod for pod in snapshot.pods_on(position)}
    victims: dict[str, Pod] = {}
    for uid in uids:
        victim = placed.get(uid)
        if victim is None:
            raise ValueError(f"names a victim with the uid {uid!r}, but node {node_name} has no such pod")
        if victim.priority >= preemptor.priority:
            raise ValueError(
                f"names a victim with the uid {uid!r}, whose priority {victim.priority} is not lower than "
                f"the priority {preemptor.priority} of pod {preemptor.key}"
            )
        victims[uid] = victim
    lower = sorted((pod for pod in placed.values() if pod.priority < preemptor.priority), key=importance)
    violating = {pod.uid for pod in split_by_budgets(lower, budgets_of(snapshot))[0]}
    in_order = tuple(sorted(victims.values(), key=importance))
    return Candidate(node_name, in_order, len(victims.keys() & violating))


def check_candidate(candidate: Candidate, search: Search, snapshot: Snapshot) -> Candidate | None:
    """Return the candidate with its current victims; None if their evictions are no longer allowed or do not help.

    Evictions do not help if the preemptor does not fit even after them.
    """
    pre_filtered = search.pre_filtered
    uids = [victim.uid for victim in candidate.victims]
    try:
        current = candidate_of(pre_filtered.pod, candidate.node_name, uids, snapshot)
    except ValueError:
        return None
    position = snapshot.position(candidate.node_name)
    if position is None or not current.victims or (search.strict and is_protected(current.victims, search.budgets)):
        return None
    node, states = NodeWhatIf(snapshot, position), pre_filtered.states
    for victim in current.victims:
        states = remove_pod(pre_filtered, states, victim, node)
    return current if filter_one(pre_filtered, states, node).is_success else None

"""The record of a search for pods to evict."""

from collections.abc import Iterable, Sequence

from moorage.engine.candidate import Candidate
from moorage.engine.preemption.candidate_ranking import candidate_cost
from moorage.engine.preemption.post_filter import PostFilterResult
from moorage.engine.preemption.victim_search import NO_VICTIMS, NOT_HELPFUL, DryRun
from moorage.engine.records.decision_record import (
    MAX_EXAMPLES,
    MAX_NODES,
    ConsideredNode,
    NodeCount,
    PodName,
    Preemption,
)
from moorage.engine.records.rejected_nodes import status_counts
from moorage.model.pods.pod import Pod

MAX_PODS = 10
"""The number of victims that a record names for each node."""
RULES = (
    "it violates the fewest PodDisruptionBudgets",
    "its most important victim has the lowest priority",
    "the priorities of its victims have the lowest sum",
    "it has the fewest victims",
    "its most important victim started last",
)
"""The rules that rank candidates, in the order of `candidate_cost`."""


def preemption_record(
    post: PostFilterResult, candidates: Sequence[Candidate], displaced: Sequence[Pod], names: Sequence[str]
) -> Preemption | None:
    """Return the record of PostFilter; None if no plugin searched for pods to evict.

    `candidates` are the candidates that extenders kept, if extenders were asked. `names` are the names of nodes by
    position.
    """
    found = [*candidates] or (post.search.candidates if post.search else [])
    if post.search is None and not found and not post.message:
        return None
    node = post.nominated_node_name or ""
    ranked = sorted(found, key=lambda each: (each.node_name != node, candidate_cost(each)))
    return Preemption(
        node=node,
        reason=_rule(ranked) if node else post.message.rpartition("preemption: ")[2],
        candidates=len(found),
        considered=tuple(map(_considered, ranked[:MAX_NODES])),
        rejected=_rejected(post.search, names) if post.search else (),
        displaced=pod_names(displaced[:MAX_PODS]),
    )


def pod_names(pods: Iterable[Pod]) -> tuple[PodName, ...]:
    """Return the names of pods."""
    return tuple(PodName(pod.namespace, pod.name, pod.priority) for pod in pods)


def _considered(candidate: Candidate) -> ConsideredNode:
    return ConsideredNode(
        node=candidate.node_name,
        victims=len(candidate.victims),
        highest_priority=max(pod.priority for pod in candidate.victims),
        violations=candidate.violations,
        pods=pod_names(candidate.victims[:MAX_PODS]),
    )


def _rule(ranked: Sequence[Candidate]) -> str:
    """Return the rule by which the first candidate is better than the second."""
    if len(ranked) == 1:
        return "it is the only node on which evictions help"
    first, second = map(candidate_cost, ranked[:2])
    rule = next((rule for rule, a, b in zip(RULES, first, second, strict=True) if a != b), "")
    return rule or "several nodes are equally good; the seed decided"


def _rejected(search: DryRun, names: Sequence[str]) -> tuple[NodeCount, ...]:
    without = search.without_victims.tolist()
    counts = list(status_counts(search.statuses.items()))
    if without:
        examples = tuple(names[position] for position in without[:MAX_EXAMPLES])
        counts.append(NodeCount("", NO_VICTIMS, len(without), examples))
    hopeless = 0 if search.candidates else search.reasons(len(names)).get(NOT_HELPFUL, 0)
    if hopeless:  # only without candidates, because the search for candidates may leave out nodes
        counts.append(NodeCount("", NOT_HELPFUL, hopeless))
    return tuple(counts)

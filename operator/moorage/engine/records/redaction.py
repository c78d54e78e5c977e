"""Removes the names of pods that the reader of an explanation may not read."""

from collections.abc import Collection

from msgspec.structs import replace

from moorage.engine.counterfactuals.counterfactual import Counterfactual
from moorage.engine.records.decision_record import ConsideredNode, DecisionRecord, PodName, Preemption
from moorage.engine.records.explanation import Explanation


def namespaces_in(explanation: Explanation) -> set[str]:
    """Return the namespaces of all other pods that the explanation names."""
    preemptions = [record.preemption for record in _records(explanation) if record.preemption]
    displaced = {pod.namespace for preemption in preemptions for pod in _pods(preemption)}
    return displaced | {change.victim_namespace for change in explanation.changes if change.victim_namespace}


def redact(explanation: Explanation, readable: Collection[str]) -> Explanation:
    """Replace the names of pods outside the `readable` namespaces by the number of these pods."""
    now = explanation.now
    return replace(
        explanation,
        records=tuple(_redact_record(record, readable) for record in explanation.records),
        now=_redact_record(now, readable) if now else None,
        changes=tuple(_redact_change(change, readable) for change in explanation.changes),
    )


def _records(explanation: Explanation) -> list[DecisionRecord]:
    return [*explanation.records, *([explanation.now] if explanation.now else [])]


def _pods(preemption: Preemption) -> list[PodName]:
    return [*preemption.displaced, *(pod for node in preemption.considered for pod in node.pods)]


def _redact_record(record: DecisionRecord, readable: Collection[str]) -> DecisionRecord:
    preemption = record.preemption
    if preemption is None:
        return record
    displaced = _readable(preemption.displaced, readable)
    redacted = replace(
        preemption,
        considered=tuple(_redact_node(node, readable) for node in preemption.considered),
        displaced=displaced,
        hidden_displaced=len(preemption.displaced) - len(displaced),
    )
    return replace(record, preemption=redacted)


def _redact_change(change: Counterfactual, readable: Collection[str]) -> Counterfactual:
    if not change.victim_namespace or change.victim_namespace in readable:
        return change
    text = f"without a pod of priority {change.size:.0f} in a namespace that you may not read"
    return replace(change, text=text, victim_namespace="")


def _redact_node(node: ConsideredNode, readable: Collection[str]) -> ConsideredNode:
    pods = _readable(node.pods, readable)
    return replace(node, pods=pods, hidden_pods=len(node.pods) - len(pods))


def _readable(pods: tuple[PodName, ...], readable: Collection[str]) -> tuple[PodName, ...]:
    return tuple(pod for pod in pods if pod.namespace in readable)

"""The FitError message. Users and autoscalers read it, so it must equal kube-scheduler's message in every character.

Upstream: pkg/scheduler/framework/types.go (FitError.Error).
"""

from collections.abc import Mapping

from moorage.engine.cycle.diagnosis import Diagnosis

NO_NODES = "no nodes available to schedule pods"
"""Upstream: ErrNoNodesAvailable."""


def fit_error_message(diagnosis: Diagnosis) -> str:
    """Return the message for a diagnosis, including PostFilter's message."""
    if not diagnosis.total_nodes:
        return NO_NODES
    parts = [f"0/{diagnosis.total_nodes} nodes are available:"]
    body = diagnosis.pre_filter.message or histogram(diagnosis.reasons)
    if body:
        parts.append(f"{body}.")
    if diagnosis.post_filter_message:
        parts.append(diagnosis.post_filter_message)
    return " ".join(parts)


def histogram(reasons: Mapping[str, int]) -> str:
    """Join the reasons with their numbers of nodes, sorted as strings: `10 x` comes before `2 y`."""
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))

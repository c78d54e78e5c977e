"""The diagnosis of a pod that fits on no node, as a value for outcomes and messages."""

from collections.abc import Mapping

from msgspec import Struct, field

from moorage.framework.status import SUCCESS, Status

EXTENDER = "Extender"
"""The name in `unschedulable_plugins` that stands for all extenders."""


class Diagnosis(Struct, frozen=True):
    """The reasons why a pod fits on no node (upstream: Diagnosis in pkg/scheduler/framework/types.go)."""

    total_nodes: int
    reasons: Mapping[str, int]
    """The number of nodes with each reason; empty if PreFilter rejected the pod for all nodes."""
    pre_filter: Status = SUCCESS
    """PreFilter's rejection, or success."""
    unschedulable_plugins: frozenset[str] = frozenset()
    """The plugins that rejected the pod. An event that interests one of these plugins requeues the pod."""
    pending_plugins: frozenset[str] = frozenset()
    """The unschedulable plugins that answered Pending. An event that interests one of these requeues the pod without
    backoff."""
    post_filter_message: str = ""
    causes: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """The number of nodes with each reason and cause (`Rejection.cause`)."""

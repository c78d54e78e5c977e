"""The explanation of a pod: its place in the scheduler, its past attempts, and the decision on the present cluster."""

from enum import Enum

from msgspec import Struct

from moorage.engine.counterfactuals.counterfactual import Counterfactual
from moorage.engine.records.decision_record import DecisionRecord, NodeScore


class Standing(Enum):
    """The place of a pod in the scheduler; the values are shown to users."""

    UNKNOWN = "Unknown"
    """The scheduler's queue cannot be read, or does not have the pod yet."""
    OTHER_SCHEDULER = "OtherScheduler"
    BOUND = "Bound"
    BINDING = "Binding"
    ACTIVE = "Active"
    BACKOFF = "Backoff"
    UNSCHEDULABLE = "Unschedulable"
    GATED = "Gated"
    IN_FLIGHT = "InFlight"
    WAITS_FOR_EXTENDERS = "WaitsForExtenders"
    HELD = "Held"


class PluginRejection(Struct, frozen=True, rename="camel"):
    """The rejection of a node by one plugin."""

    plugin: str
    reasons: tuple[str, ...]
    preemption_may_help: bool


class NodeVerdict(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The reason why the scheduler would not place a pod on a certain node now."""

    node: str
    exists: bool = True
    rejections: tuple[PluginRejection, ...] = ()
    """The rejections by all plugins, in the order of the plugins. Empty if the pod fits."""
    score: NodeScore | None = None
    """The scores of the node, if the pod fits there and several nodes fit."""
    best: NodeScore | None = None
    """The scores of the node with the highest total."""


class Explanation(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The explanation of one pod."""

    namespace: str
    name: str
    uid: str
    scheduler_name: str
    node: str = ""
    """The node that the pod is bound to or assumed on."""
    standing: Standing = Standing.UNKNOWN
    detail: str = ""
    """Why the pod is held, when it is tried again, or which plugins it waits for."""
    at: float = 0.0
    """The time of the explanation, in seconds since the epoch. `at` of the records has the same unit."""
    operator: str = ""
    """The operator that answered; empty if the command computed the decision without an operator."""
    records: tuple[DecisionRecord, ...] = ()
    """The last attempts, the latest first."""
    earlier_uid: str = ""
    """The uid of an earlier pod with the same name, if `records` are about that pod."""
    now: DecisionRecord | None = None
    """The decision that the present cluster would lead to; None if no profile has the schedulerName."""
    shadows: tuple[DecisionRecord, ...] = ()
    """The decisions on the present cluster by policies in mode Shadow for the pod's schedulerName."""
    verdict: NodeVerdict | None = None
    """The answer about the node that the user asked for."""
    changes: tuple[Counterfactual, ...] = ()
    """If the pod fits on no node now, single changes after which it would fit, the best first."""

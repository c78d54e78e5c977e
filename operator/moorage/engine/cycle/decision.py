"""What a scheduling cycle found out, as values: who fits, who is best, and why nobody fits."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from moorage.cluster.arrays import IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.framework.profile import Profile
from moorage.framework.status import SUCCESS, Status

EXTENDER = "Extender"
"""The name of all extenders among the unschedulable plugins."""


class CycleError(Exception):
    """A cycle cannot go on: a plugin or an extender failed. It never leaves the engine."""


class PluginScores(Struct, frozen=True):
    """What one Score plugin gave the nodes that fit, in the order of `ScoreTable.node_names`."""

    plugin: str
    weight: int
    raw: IntArray | int
    """A plain number where all nodes have the same; so it is with `normalized`."""
    normalized: IntArray | int

    @property
    def weighted(self) -> IntArray | int:
        """The part of the total."""
        return self.normalized if self.weight == 1 else self.normalized * self.weight


class ScoreTable(Struct, frozen=True):
    """All scores of a cycle: what a decision is explained with."""

    profile: Profile
    nodes: Snapshot
    """The nodes that fit, as they were in the cycle: a view that is valid until something is written."""
    found: Sequence[PluginScores]
    total: IntArray
    kept: Callable[[], Sequence[PluginScores]] = tuple
    """The scores that were not found in the cycle, but kept from earlier ones."""

    @property
    def plugins(self) -> Sequence[PluginScores]:
        """All scores."""
        return [*self.kept(), *self.found]

    @property
    def skipped(self) -> Sequence[str]:
        """Score plugins that PreScore left out."""
        scored = {score.plugin for score in self.plugins}
        return [entry.plugin.name for entry in self.profile.score if entry.plugin.name not in scored]

    @property
    def node_names(self) -> Sequence[str]:
        """The nodes' names, in the order of all arrays here."""
        return self.nodes.names


class Decision(Struct, frozen=True):
    """The node that was chosen, and out of how many."""

    node_name: str
    evaluated_nodes: int
    """Nodes that were judged before the search ended."""
    feasible_nodes: int
    cycle: int
    """The number of the cycle; with the scheduler's seed it makes the choice among equals repeatable."""
    scores: ScoreTable | None = None
    """Kept only where an explanation was asked for."""


class Diagnosis(Struct, frozen=True):
    """Why a pod fits nowhere."""

    total_nodes: int
    reasons: Mapping[str, int]
    """How many nodes gave each reason; empty where PreFilter rejected the pod as a whole."""
    pre_filter: Status = SUCCESS
    """PreFilter's rejection, or success."""
    unschedulable_plugins: frozenset[str] = frozenset()
    """The plugins that turned the pod away: the pod comes back when an event interests one of them."""
    pending_plugins: frozenset[str] = frozenset()
    """Those of them that only asked the pod to wait; their events do without backoff."""
    node_statuses: Mapping[str, Status] = field(default_factory=dict)
    """Every node's first rejection; filled only where an explanation was asked for."""
    post_filter_message: str = ""

"""The results of a scheduling cycle as values: the scores, the decision, and why a pod fits on no node."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from moorage.cluster.arrays import IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.framework.profile import Profile
from moorage.framework.status import SUCCESS, Status

EXTENDER = "Extender"
"""The name of all extenders among the unschedulable plugins."""


class CycleError(Exception):
    """The cycle ends because a plugin or an extender has failed. Never leaves the engine."""


class PluginScores(Struct, frozen=True):
    """The scores of one Score plugin for the nodes that fit, in the order of `ScoreTable.node_names`."""

    plugin: str
    weight: int
    raw: IntArray | int
    """A plain number if all nodes have the same score."""
    normalized: IntArray | int
    """A plain number if all nodes have the same score."""

    @property
    def weighted(self) -> IntArray | int:
        """The normalized scores times the weight."""
        return self.normalized if self.weight == 1 else self.normalized * self.weight


class ScoreTable(Struct, frozen=True):
    """All scores of a cycle, which explain its decision."""

    profile: Profile
    nodes: Snapshot
    """The nodes that fit: a live view, valid until the next write to the cluster."""
    computed: Sequence[PluginScores]
    """The scores computed in this cycle."""
    total: IntArray
    """The sum of all weighted scores by node."""
    kept: Callable[[], Sequence[PluginScores]] = tuple
    """Returns the scores kept from earlier cycles (`moorage.engine.cycle.kept_scores`)."""

    @property
    def plugins(self) -> Sequence[PluginScores]:
        """The scores of all plugins."""
        return [*self.kept(), *self.computed]

    @property
    def skipped(self) -> Sequence[str]:
        """The names of the Score plugins whose PreScore returned Skip."""
        scored = {score.plugin for score in self.plugins}
        return [entry.plugin.name for entry in self.profile.score if entry.plugin.name not in scored]

    @property
    def node_names(self) -> Sequence[str]:
        """The nodes' names, in the order of all arrays of the table."""
        return self.nodes.names


class Decision(Struct, frozen=True):
    """The chosen node, and how many nodes it was chosen from."""

    node_name: str
    evaluated_nodes: int
    """The number of nodes that were filtered before the search ended."""
    feasible_nodes: int
    cycle: int
    """The number of the cycle. With the scheduler's seed, it reproduces the choice between nodes with equal scores."""
    scores: ScoreTable | None = None
    """Present only if the caller asked for an explanation."""


class Diagnosis(Struct, frozen=True):
    """Why a pod fits on no node (upstream: Diagnosis in pkg/scheduler/framework/types.go)."""

    total_nodes: int
    reasons: Mapping[str, int]
    """The number of nodes with each reason; empty if PreFilter rejected the pod for all nodes."""
    pre_filter: Status = SUCCESS
    """PreFilter's rejection, or success."""
    unschedulable_plugins: frozenset[str] = frozenset()
    """The plugins that rejected the pod: an event that interests one of them requeues the pod."""
    pending_plugins: frozenset[str] = frozenset()
    """The unschedulable plugins that answered Pending: their events skip the backoff."""
    node_statuses: Mapping[str, Status] = field(default_factory=dict)
    """Every node's first rejection; present only if the caller asked for an explanation."""
    post_filter_message: str = ""

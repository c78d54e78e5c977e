"""The scores of a scheduling cycle."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from moorage.cluster.arrays import IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.framework.profile import Profile


class PluginScores(Struct, frozen=True):
    """The scores of one Score plugin for the nodes that fit, in the order of `ScoreTable.node_names`."""

    plugin: str
    weight: int
    raw: IntArray | int
    """An array, or a plain number if all nodes have the same score."""
    normalized: IntArray | int
    """An array, or a plain number if all nodes have the same score."""

    @property
    def weighted(self) -> IntArray | int:
        """The normalized scores times the weight."""
        return self.normalized if self.weight == 1 else self.normalized * self.weight


class ScoreTable(Struct, frozen=True):
    """The scores of all plugins, and their sum."""

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

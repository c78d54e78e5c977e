"""The scores of a scheduling cycle."""

from collections.abc import Sequence

from msgspec import Struct

from moorage.cluster.arrays import IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.framework.profile import Profile, WeightedScore


class PluginScores(Struct, frozen=True, gc=False):
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


class KeptPart(Struct, frozen=True, eq=False, gc=False):
    """Scores that were kept from earlier cycles (`moorage.engine.cycle.kept_scores`). The arrays are read-only."""

    entries: Sequence[WeightedScore]
    raws: Sequence[IntArray]
    """The scores of each entry; raw and normalized scores are equal."""
    by_slot: bool
    """True if the arrays have an entry for each node of the cluster, False if only for the nodes of the view."""

    def scores(self, nodes: Snapshot) -> Sequence[PluginScores]:
        """Return the scores of a view."""
        raws = [nodes.gather(raw) for raw in self.raws] if self.by_slot else self.raws
        return [
            PluginScores(entry.plugin.name, entry.weight, raw, raw)
            for entry, raw in zip(self.entries, raws, strict=True)
        ]


class ScoreTable(Struct, frozen=True):
    """The scores of all plugins, and their sum."""

    profile: Profile
    nodes: Snapshot
    """The nodes that fit: a live view, valid until the next write to the cluster."""
    computed: Sequence[PluginScores]
    """The scores computed in this cycle."""
    total: IntArray
    """The sum of all weighted scores by node."""
    kept: KeptPart | None = None

    @property
    def plugins(self) -> Sequence[PluginScores]:
        """The scores of all plugins."""
        kept = self.kept.scores(self.nodes) if self.kept else ()
        return [*kept, *self.computed]

    @property
    def skipped(self) -> Sequence[str]:
        """The names of the Score plugins whose PreScore returned Skip."""
        scored = {score.plugin for score in self.plugins}
        return [entry.plugin.name for entry in self.profile.score if entry.plugin.name not in scored]

    @property
    def node_names(self) -> Sequence[str]:
        """The nodes' names, in the order of all arrays of the table."""
        return self.nodes.names

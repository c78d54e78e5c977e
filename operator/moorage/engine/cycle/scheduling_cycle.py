"""One scheduling cycle: from a pod and a snapshot to a node, or to a FitError.

The cycle is a pure function: it changes neither the pod nor the cluster. It caches results only for equal inputs.

Upstream: pkg/scheduler/schedule_one.go (schedulePod).
"""

import numpy as np
from msgspec import Struct

from moorage.cluster.arrays import BoolArray, IntArray
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.cycle_error import CycleError
from moorage.engine.cycle.filtering import FilteredNodes, run_filters
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.kept_failure import kept_failure
from moorage.engine.cycle.pre_filter import PreFiltered, run_pre_filter
from moorage.engine.cycle.sampling import Sample, nodes_to_find, sample
from moorage.engine.cycle.score_table import ScoreTable
from moorage.engine.cycle.scoring import add_extender_scores, run_scores, select_host
from moorage.engine.messages import ExtendersAnswered
from moorage.engine.recorder import FILTER, NO_RECORDER, PRE_FILTER, Recorder
from moorage.framework.profile import Profile
from moorage.framework.status import Code, Status, unresolvable, unschedulable
from moorage.model.pods.pod import Pod

ONLY_RESTING_NODES = (
    "the pod fits only on nodes that get no pods for up to a minute, "
    "because their kubelets refused pods for lack of room"
)


class CycleInput(Struct, frozen=True, kw_only=True):
    """The input of a cycle."""

    profile: Profile
    pod: Pod
    snapshot: Snapshot
    seed: int
    cycle: int
    """The number of the cycle."""
    start: int = 0
    """The index, in the order of nodes, at which the search starts (upstream: nextStartNodeIndex)."""
    asks_extenders: bool = False
    """Whether extenders filter or score nodes for this pod."""
    answer: ExtendersAnswered | None = None
    """The extenders' answer; None if they have not been asked yet."""
    resting: frozenset[str] = frozenset()
    """Nodes that rest (`moorage.engine.refusing_nodes`); the cycle does not choose them."""
    recorder: Recorder = NO_RECORDER


class ScheduleResult(Struct, frozen=True):
    """The result of a cycle that found a node."""

    node_name: str
    evaluated_nodes: int
    """The number of nodes that the search went through; 0 if the pod fits on its nominated node."""
    pre_filtered: PreFiltered
    """The result of PreFilter, for Reserve."""
    filtered: FilteredNodes
    """The result of Filter, for the record of the decision."""
    fitting_nodes: int
    """The number of nodes among which the cycle chose."""
    table: ScoreTable | None = None
    """The scores, for the record of the decision; None if the cycle did not score."""
    chosen: int = 0
    """The position of the node in `table`."""


class AskExtenders(Struct, frozen=True):
    """The nodes that passed all Filter plugins; the caller must ask the extenders about them."""

    node_names: tuple[str, ...]


CycleResult = ScheduleResult | FitError | AskExtenders


def run_cycle(cycle: CycleInput) -> CycleResult:
    """Find a node for the pod; raise CycleError if a plugin or an extender fails.

    If the cluster has no nodes, run no plugin.
    """
    if not cycle.snapshot.size:
        return FitError(cycle.snapshot, PreFiltered(cycle.pod))
    if cycle.asks_extenders or cycle.resting:
        return _run(cycle)
    kept = kept_failure(cycle.profile, cycle.pod, cycle.snapshot)
    if kept is None:
        return _run(cycle)
    if failure := kept.of(cycle.pod, cycle.snapshot):
        return _observed(cycle, failure)
    result = _run(cycle)
    if isinstance(result, FitError) and not cycle.snapshot.nominated_nodes:
        kept.keep(result, cycle.snapshot)
    return result


def _observed(cycle: CycleInput, failure: FitError) -> FitError:
    """Record the extension points of a failure that was kept from an equal pod, and return the failure."""
    started = cycle.recorder.now()
    code = failure.pre_filtered.status.code
    started = cycle.recorder.observe_point(PRE_FILTER, code, cycle.profile.name, started)
    if failure.filtered is not None:
        cycle.recorder.observe_point(FILTER, Code.SUCCESS, cycle.profile.name, started)
    return failure


def _run(cycle: CycleInput) -> CycleResult:
    """Run the plugins until one ends the cycle."""
    started = cycle.recorder.now()
    pre_filtered = run_pre_filter(cycle.profile, cycle.pod, cycle.snapshot, cycle.recorder)
    code, plugins = pre_filtered.status.code, pre_filtered.extensions
    cycle.recorder.observe_point(PRE_FILTER, code, cycle.profile.name, started, plugins)
    if not pre_filtered.status.is_success:
        if not pre_filtered.status.code.rejects:
            raise CycleError(pre_filtered.status.message)
        return FitError(cycle.snapshot, pre_filtered)
    nominated = _filter_nominated_node(cycle, pre_filtered)
    if nominated is not None and nominated.feasible.any() and cycle.pod.nominated_node_name not in cycle.resting:
        return _choose(cycle, pre_filtered, nominated, Sample(np.zeros(1, np.int64), 0))
    filtered = _filter(cycle, pre_filtered, nodes_to_filter(pre_filtered, cycle.snapshot))
    if pre_filtered.plan.unprepared and (fault := filtered.fault()):
        raise CycleError(fault)
    fitting = _sample(cycle, filtered)
    if not len(fitting.positions):
        if cycle.resting and filtered.feasible.any():
            raise CycleError(ONLY_RESTING_NODES)
        is_extra = nominated is not None and filtered.nodes.position(nominated.nodes.names[0]) is None
        return FitError(cycle.snapshot, pre_filtered, filtered, nominated if is_extra else None)
    return _choose(cycle, pre_filtered, filtered, fitting)


def nodes_to_filter(pre_filtered: PreFiltered, snapshot: Snapshot) -> Snapshot:
    """Return the nodes that PreFilter allows."""
    if pre_filtered.node_names is None:
        return snapshot
    positions = (snapshot.position(name) for name in sorted(pre_filtered.node_names))
    return NodesView(snapshot, np.array([position for position in positions if position is not None], np.int64))


def _filter_nominated_node(cycle: CycleInput, pre_filtered: PreFiltered) -> FilteredNodes | None:
    """Filter the pod's nominated node before all others, because preemption has made room there.

    Return None if the pod has no nominated node or if extenders are asked. Extenders are asked only once, about all
    nodes; `_choose` then prefers the nominated node.
    """
    name = cycle.pod.nominated_node_name
    position = cycle.snapshot.position(name) if name and not cycle.asks_extenders else None
    if position is None:
        return None
    return _filter(cycle, pre_filtered, NodesView(cycle.snapshot, np.array([position], np.int64)))


def _filter(cycle: CycleInput, pre_filtered: PreFiltered, nodes: Snapshot) -> FilteredNodes:
    recorder = cycle.recorder
    started = recorder.now()
    filtered = run_filters(pre_filtered, nodes)
    recorder.observe_point(FILTER, Code.SUCCESS, cycle.profile.name, started, pre_filtered.filters)
    return filtered


def _sample(cycle: CycleInput, filtered: FilteredNodes) -> Sample:
    """Return the first nodes that fit; only one node if no plugin and no extender scores nodes."""
    nodes = filtered.nodes
    if cycle.profile.score or cycle.asks_extenders:
        wanted = nodes_to_find(nodes.size, cycle.profile.settings.percentage_of_nodes_to_score)
    else:
        wanted = 1
    order = nodes.order if nodes is cycle.snapshot else np.arange(nodes.size, dtype=np.int64)
    return sample(_without_resting(cycle, filtered), order, cycle.start, wanted)


def _without_resting(cycle: CycleInput, filtered: FilteredNodes) -> BoolArray:
    """Return the nodes that fit and do not rest."""
    if not cycle.resting:
        return filtered.feasible
    positions = (filtered.nodes.position(name) for name in cycle.resting)
    awake = filtered.feasible.copy()
    awake[[position for position in positions if position is not None]] = False
    return awake


def _choose(cycle: CycleInput, pre_filtered: PreFiltered, filtered: FilteredNodes, fitting: Sample) -> CycleResult:
    """Choose one of the nodes that passed all Filter plugins and that all extenders keep."""
    positions, nodes = fitting.positions, filtered.nodes
    if cycle.asks_extenders:
        if cycle.answer is None:
            return AskExtenders(tuple(nodes.names[position] for position in positions.tolist()))
        kept = [position for position in positions.tolist() if nodes.names[position] in cycle.answer.node_names]
        if not kept:
            statuses = _extender_statuses(cycle.answer, filtered)
            return FitError(cycle.snapshot, pre_filtered, filtered, extenders=statuses)
        nominated = nodes.position(cycle.pod.nominated_node_name)
        positions = np.array([nominated] if nominated in kept else kept, np.int64)
    table, best = _score(cycle, nodes, positions)
    name = nodes.names[int(positions[best])]
    return ScheduleResult(name, fitting.evaluated, pre_filtered, filtered, len(positions), table, best)


def _score(cycle: CycleInput, nodes: Snapshot, positions: IntArray) -> tuple[ScoreTable | None, int]:
    """Score the nodes; return the scores, and the index in `positions` of a node with the highest score.

    Select a single node without scoring.
    """
    if len(positions) == 1 or (not cycle.profile.score and cycle.answer is None):
        return None, 0
    fitting = NodesView(nodes, positions) if len(positions) < nodes.size else nodes
    table = run_scores(cycle.profile, cycle.pod, fitting, cycle.recorder)
    total = add_extender_scores(table, cycle.answer.scores) if cycle.answer else table.total
    return table, select_host(total, cycle.seed, cycle.cycle)


def _extender_statuses(answer: ExtendersAnswered, filtered: FilteredNodes) -> dict[str, Status]:
    """Return the statuses of the feasible nodes after the extenders have rejected all of them."""
    names = (filtered.nodes.names[position] for position in np.flatnonzero(filtered.feasible).tolist())
    statuses: dict[str, Status] = {}
    for name in names:
        if name in answer.unresolvable:
            statuses[name] = unresolvable(answer.unresolvable[name])
        elif name in answer.failed:
            statuses[name] = unschedulable(answer.failed[name])
        else:
            statuses[name] = unresolvable()
    return statuses

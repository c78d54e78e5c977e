"""One scheduling cycle: from a pod and a snapshot to a node, or to the reasons why there is none.

Nothing is remembered here and nothing is changed. Upstream: pkg/scheduler/schedule_one.go (schedulePod).
"""

import numpy as np
from msgspec import Struct

from moorage.cluster.arrays import IntArray
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.decision import CycleError, Decision
from moorage.engine.cycle.filtering import NodeVerdicts, run_filters
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.pre_filter import PreFiltered, run_pre_filter
from moorage.engine.cycle.sampling import Sample, nodes_to_find, sample
from moorage.engine.cycle.scoring import add_extender_scores, run_scores, select_host
from moorage.engine.messages import ExtendersAnswered
from moorage.framework.profile import Profile
from moorage.framework.status import Status, unresolvable, unschedulable
from moorage.model.pods.pod import Pod


class CycleInput(Struct, frozen=True, kw_only=True):
    """What a cycle is given."""

    profile: Profile
    pod: Pod
    snapshot: Snapshot
    seed: int
    cycle: int
    """The number of the cycle."""
    start: int = 0
    """Where in the order of nodes the search begins."""
    asks_extenders: bool = False
    """Whether extenders have a say about this pod."""
    answer: ExtendersAnswered | None = None
    """What they said, once they were asked."""
    explain: bool = False
    """Whether scores are kept."""


class ScheduleResult(Struct, frozen=True):
    """The pod fits."""

    decision: Decision
    found: PreFiltered
    """What PreFilter found, for Reserve."""
    evaluated: int
    """How many nodes the search went past, where it went through the nodes; 0 where it did not."""


class AskExtenders(Struct, frozen=True):
    """These nodes pass every filter; extenders have to be asked."""

    node_names: tuple[str, ...]


Result = ScheduleResult | FitError | AskExtenders


def run_cycle(attempt: CycleInput) -> Result:
    """Decide; CycleError where a plugin or an extender fails. A cluster without nodes refuses unasked."""
    if not attempt.snapshot.size:
        return FitError(attempt.snapshot, PreFiltered(attempt.pod))
    found = run_pre_filter(attempt.profile, attempt.pod, attempt.snapshot)
    if not found.status.is_success:
        if not found.status.code.rejects:
            raise CycleError(found.status.message)
        return FitError(attempt.snapshot, found)
    nominated = _judge_nominated_node(attempt, found)
    if nominated is not None and nominated.feasible.any():
        return _conclude(attempt, found, nominated, Sample(np.zeros(1, np.int64), 0))
    verdicts = run_filters(found, candidates(found, attempt.snapshot))
    if found.plan.unprepared and (fault := verdicts.fault()):
        raise CycleError(fault)
    fitting = _sample(attempt, verdicts)
    if not len(fitting.positions):
        outside = nominated is not None and verdicts.nodes.position(nominated.nodes.names[0]) is None
        return FitError(attempt.snapshot, found, verdicts, nominated if outside else None)
    return _conclude(attempt, found, verdicts, fitting)


def candidates(found: PreFiltered, snapshot: Snapshot) -> Snapshot:
    """Return the nodes that PreFilter left."""
    if found.node_names is None:
        return snapshot
    positions = (snapshot.position(name) for name in sorted(found.node_names))
    return NodesView(snapshot, np.array([position for position in positions if position is not None], np.int64))


def _judge_nominated_node(attempt: CycleInput, found: PreFiltered) -> NodeVerdicts | None:
    """Try the node that the pod is nominated to before all others: room has been made for it there.

    Where extenders have a say, they are asked once, about all nodes, and the nominated one is preferred afterwards.
    """
    name = attempt.pod.nominated_node_name
    position = attempt.snapshot.position(name) if name and not attempt.asks_extenders else None
    if position is None:
        return None
    return run_filters(found, NodesView(attempt.snapshot, np.array([position], np.int64)))


def _sample(attempt: CycleInput, verdicts: NodeVerdicts) -> Sample:
    """Return enough of the nodes that fit: all of them, unless the profile samples."""
    nodes = verdicts.nodes
    if attempt.profile.score or attempt.asks_extenders:
        wanted = nodes_to_find(nodes.size, attempt.profile.settings.percentage_of_nodes_to_score)
    else:
        wanted = 1
    order = nodes.order if nodes is attempt.snapshot else np.arange(nodes.size, dtype=np.int64)
    return sample(verdicts.feasible, order, attempt.start, wanted)


def _conclude(attempt: CycleInput, found: PreFiltered, verdicts: NodeVerdicts, fitting: Sample) -> Result:
    """Choose among nodes that pass every filter."""
    positions, nodes = fitting.positions, verdicts.nodes
    if attempt.asks_extenders:
        if attempt.answer is None:
            return AskExtenders(tuple(nodes.names[position] for position in positions.tolist()))
        kept = [position for position in positions.tolist() if nodes.names[position] in attempt.answer.node_names]
        if not kept:
            return FitError(attempt.snapshot, found, verdicts, extenders=_extender_statuses(attempt, verdicts))
        nominated = nodes.position(attempt.pod.nominated_node_name)
        positions = np.array([nominated] if nominated in kept else kept, np.int64)
    evaluated = fitting.evaluated
    decision = _decide(attempt, nodes, positions, evaluated or 1)
    return ScheduleResult(decision, found, evaluated)


def _decide(attempt: CycleInput, nodes: Snapshot, positions: IntArray, evaluated: int) -> Decision:
    """Score the nodes and take one of the best; one alone is taken unseen."""
    if len(positions) == 1 or (not attempt.profile.score and attempt.answer is None):
        return Decision(nodes.names[int(positions[0])], evaluated, len(positions), attempt.cycle)
    fitting = NodesView(nodes, positions) if len(positions) < nodes.size else nodes
    table = run_scores(attempt.profile, attempt.pod, fitting)
    total = add_extender_scores(table, attempt.answer.scores) if attempt.answer else table.total
    best = select_host(total, attempt.seed, attempt.cycle)
    host = nodes.names[best if fitting is nodes else int(positions[best])]
    return Decision(host, evaluated, len(positions), attempt.cycle, table if attempt.explain else None)


def _extender_statuses(attempt: CycleInput, verdicts: NodeVerdicts) -> dict[str, Status]:
    """Return what extenders say of the nodes that they did not keep."""
    answer = attempt.answer
    assert answer is not None, "only an answer can turn a node down"
    names = (verdicts.nodes.names[position] for position in np.flatnonzero(verdicts.feasible).tolist())
    statuses: dict[str, Status] = {}
    for name in names:
        if name in answer.unresolvable:
            statuses[name] = unresolvable(answer.unresolvable[name])
        elif name in answer.failed:
            statuses[name] = unschedulable(answer.failed[name])
        else:
            statuses[name] = unresolvable()
    return statuses

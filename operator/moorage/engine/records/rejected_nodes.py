"""The numbers of nodes that plugins reject, by plugin and reason, with the names of some of the nodes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from moorage.cluster.arrays import BoolArray, IntArray
from moorage.engine.cycle.diagnosis import EXTENDER
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.pre_filter import PreFiltered
from moorage.engine.records.decision_record import MAX_EXAMPLES, NodeCount
from moorage.framework.status import Status


def counts_by_reason(fit_error: FitError, names: Sequence[str]) -> Iterator[NodeCount]:
    """Yield the number of rejected nodes for each plugin and reason.

    `names` are the names of all nodes by slot when the attempt failed. The caller must have read `FitError.rejections`
    before the cluster changed.
    """
    pre_filtered, total_nodes = fit_error.pre_filtered, len(names)
    if fit_error.filtered is None:
        status = pre_filtered.status
        yield from (NodeCount(status.plugin, reason, total_nodes) for reason in status.reasons)
        return
    for result, rejections in fit_error.rejections:
        slots = result.nodes.slots
        for rejected in rejections:
            for reason in rejected.reasons:
                nodes = reason.nodes & rejected.nodes
                if nodes.any():
                    yield count_nodes(rejected.plugin, reason.reason, nodes, names, slots)
        yield from counts_with_nominated(result.with_nominated, names, slots)
    yield from _counts_by_status((name, _named(status, EXTENDER)) for name, status in fit_error.extenders.items())
    filtered_nodes = sum(result.feasible.size for result, _ in fit_error.rejections)
    yield from counts_left_out(pre_filtered, total_nodes - filtered_nodes)


def counts_with_nominated(
    statuses: Mapping[int, Status], names: Sequence[str], slots: IntArray | None
) -> Iterator[NodeCount]:
    """Yield the numbers of nodes that are rejected because of their nominated pods.

    `statuses` are the statuses of these nodes by position. `names` and `slots` are explained at `count_nodes`.
    """
    return _counts_by_status(
        (names[position if slots is None else int(slots[position])], status) for position, status in statuses.items()
    )


def counts_left_out(pre_filtered: PreFiltered, nodes: int) -> Iterator[NodeCount]:
    """Yield the number of nodes that PreFilter left out."""
    if nodes:
        yield from (
            NodeCount(", ".join(pre_filtered.narrowed_by), reason, nodes) for reason in pre_filtered.elsewhere.reasons
        )


def status_counts(statuses: Iterable[tuple[str, Status]]) -> tuple[NodeCount, ...]:
    """Return the number of nodes for each plugin and reason, the largest number first."""
    return tuple(sorted(_counts_by_status(statuses), key=lambda count: -count.nodes))


def _counts_by_status(statuses: Iterable[tuple[str, Status]]) -> Iterator[NodeCount]:
    nodes: dict[tuple[str, str], list[str]] = {}
    for name, status in statuses:
        for reason in status.reasons:
            nodes.setdefault((status.plugin, reason), []).append(name)
    for (plugin, reason), found in nodes.items():
        yield NodeCount(plugin, reason, len(found), tuple(found[:MAX_EXAMPLES]))


def _named(status: Status, plugin: str) -> Status:
    return Status(status.code, status.reasons, plugin)


def count_nodes(
    plugin: str, reason: str, rejected: BoolArray, names: Sequence[str], slots: IntArray | None
) -> NodeCount:
    """Return the number of nodes that `rejected` marks, with the names of some of them.

    `rejected` has one entry for each node of a view. `slots` are the slots of the view's nodes; None if the view is the
    whole cluster. `names` are the names of all nodes of the cluster by slot.
    """
    (found,) = rejected.nonzero()
    first = found[:MAX_EXAMPLES] if slots is None else slots[found[:MAX_EXAMPLES]]
    return NodeCount(plugin, reason, len(found), tuple([names[slot] for slot in first.tolist()]))

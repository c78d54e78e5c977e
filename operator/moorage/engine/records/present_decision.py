"""The decision about a pod on the present cluster. Computing the decision changes nothing."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from moorage.cluster.cluster_without_pod import cluster_without
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.cycle_error import CycleError
from moorage.engine.cycle.filtering import FilteredNodes, run_filters, status_at
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.fit_error_message import fit_error_message
from moorage.engine.cycle.pre_filter import PreFiltered, run_pre_filter
from moorage.engine.cycle.scheduling_cycle import nodes_to_filter
from moorage.engine.cycle.scoring import draw, run_scores, select_host
from moorage.engine.preemption.post_filter import make_room
from moorage.engine.records.decision_record import DecisionOutcome, DecisionRecord, NodeScore
from moorage.engine.records.explanation import NodeVerdict, PluginRejection
from moorage.engine.records.preemption_record import preemption_record
from moorage.engine.records.rejected_nodes import counts_by_reason
from moorage.engine.records.score_rows import CapturedScores
from moorage.engine.records.stored_record import Moment, record_of
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin
from moorage.framework.profile import Profile
from moorage.framework.status import SUCCESS, Code, Status, error
from moorage.model.pods.pod import Pod


class PresentDecision:
    """The decision about a pod on the present cluster, over all nodes and without extenders.

    If the pod already has a node, it is first removed from this view of the cluster. The snapshot must not change while
    this object is used.
    """

    def __init__(self, profile: Profile, pod: Pod, snapshot: Snapshot, moment: Moment) -> None:
        """Run PreFilter and Filter."""
        self._profile = profile
        self._moment = moment
        self._snapshot = _without(pod, snapshot)
        required = "" if pod.node_name else pod.required_node_name  # the binding sets spec.nodeName
        self._pod = replace(pod, node_name="", nominated_node_name="", required_node_name=required)
        self._pre_filtered = PreFiltered(self._pod)
        self._filtered: FilteredNodes | None = None
        if snapshot.size:
            self._pre_filtered = run_pre_filter(profile, self._pod, self._snapshot)
            if self._pre_filtered.status.is_success:
                nodes = nodes_to_filter(self._pre_filtered, self._snapshot)
                self._filtered = run_filters(self._pre_filtered, nodes)
        self._fit_error = FitError(self._snapshot, self._pre_filtered, self._filtered)

    def record(self, *, preempts: bool = False) -> DecisionRecord:
        """Return the decision. If no node fits and `preempts` is True, search for pods to evict."""
        try:
            return self._record(preempts=preempts)
        except CycleError as fault:
            return replace(self._start(DecisionOutcome.ERROR), message=str(fault))

    def verdict(self, node: str) -> NodeVerdict:
        """Return all rejections of a node. If there are none, return the scores of this node and of the best node."""
        position = self._snapshot.position(node)
        if position is None:
            return NodeVerdict(node, exists=False)
        rejections = tuple(self._rejections(position))
        scores = None if rejections else self._scores()
        if scores is None:
            return NodeVerdict(node, rejections=rejections)
        fitting = self._fitting
        at = fitting.position(node)
        score = None if at is None else _row(replace(scores, chosen=at), self._profile, self._snapshot)
        return NodeVerdict(node, score=score, best=_row(scores, self._profile, self._snapshot))

    @property
    def _fitting(self) -> Snapshot:
        """The nodes that fit."""
        filtered = self._filtered
        if filtered is None:
            return NodesView(self._snapshot, np.zeros(0, np.int64))
        return NodesView(filtered.nodes, np.flatnonzero(filtered.feasible))

    def _start(self, outcome: DecisionOutcome) -> DecisionRecord:
        return record_of(self._pod, self._profile, self._moment, outcome)

    def _record(self, *, preempts: bool) -> DecisionRecord:
        fault = self._pre_filtered.status
        if not fault.is_success and not fault.code.rejects:
            raise CycleError(fault.message)
        fitting, size = self._fitting, self._snapshot.size
        if not fitting.size:
            return self._rejection(preempts=preempts)
        scores = self._scores()
        return replace(
            self._start(DecisionOutcome.BOUND),
            node=fitting.names[scores.chosen if scores else 0],
            total_nodes=size,
            evaluated_nodes=size,
            fitting_nodes=fitting.size,
            filters=tuple(counts_by_reason(self._fit_error, self._snapshot.names)),
            scores=scores.rows(self._profile, self._snapshot.names).scores() if scores else None,
        )

    def _rejection(self, *, preempts: bool) -> DecisionRecord:
        size = self._snapshot.size
        chance = draw(self._moment.seed, self._moment.cycle)
        post = make_room(self._profile, self._fit_error, chance) if preempts else None
        diagnosis = replace(self._fit_error.diagnose(), post_filter_message=post.message if post else "")
        return replace(
            self._start(DecisionOutcome.UNSCHEDULABLE),
            message=fit_error_message(diagnosis),
            node=(post.nominated_node_name or "") if post else "",
            total_nodes=size,
            evaluated_nodes=size,
            filters=tuple(counts_by_reason(self._fit_error, self._snapshot.names)) if size else (),
            preemption=preemption_record(post, (), (), self._snapshot.names) if post else None,
        )

    def _scores(self) -> CapturedScores | None:
        """Return the scores of the nodes that fit; None if fewer than two fit, or if no plugin scores nodes."""
        fitting = self._fitting
        if fitting.size < 2 or not self._profile.score:  # noqa: PLR2004 - one node has no rival
            return None
        table = run_scores(self._profile, self._pod, fitting)
        chosen = select_host(table.total, self._moment.seed, self._moment.cycle)
        return CapturedScores(table.total, table.kept, table.computed, fitting.slots, chosen)

    def _rejections(self, position: int) -> Iterator[PluginRejection]:
        """Yield the rejections of one node by each plugin, in the order of the plugins."""
        allowed = self._pre_filtered.node_names
        name = self._snapshot.names[position]
        if not self._pre_filtered.status.is_success:
            yield _rejection(self._pre_filtered.status)
        elif allowed is not None and name not in allowed:
            elsewhere = self._pre_filtered.elsewhere
            yield _rejection(Status(elsewhere.code, elsewhere.reasons, ", ".join(self._pre_filtered.narrowed_by)))
        node = NodesView(self._snapshot, np.array([position], np.int64))
        for plugin in self._profile.filter:
            status = self._status_of(plugin, node)
            if not status.is_success:
                yield _rejection(Status(status.code, status.reasons, plugin.name))
        at = self._filtered.nodes.position(name) if self._filtered else None
        with_nominated = self._filtered.with_nominated.get(at) if self._filtered and at is not None else None
        if with_nominated is not None:
            reasons = tuple(f"{reason} (together with pods nominated to the node)" for reason in with_nominated.reasons)
            yield _rejection(Status(with_nominated.code, reasons, with_nominated.plugin))

    def _status_of(self, plugin: FilterPlugin[Any], node: Snapshot) -> Status:
        state = None
        if plugin.without_pre_filter and plugin not in self._profile.pre_filter:
            return error(plugin.without_pre_filter)
        if plugin in self._profile.pre_filter and isinstance(plugin, PreFilterPlugin):
            prepared = plugin.pre_filter(self._pod, self._snapshot)
            if not prepared.status.is_success:  # SKIP, or a rejection for all nodes, which is reported once
                return SUCCESS
            state = prepared.state
        result = plugin.filter(state, self._pod, node)
        return SUCCESS if result.passed[0] else status_at("", result.rejections(), 0)


def _without(pod: Pod, snapshot: Snapshot) -> Snapshot:
    """Return the cluster without the pod, if the pod is placed."""
    position = snapshot.position(pod.node_name) if pod.node_name else None
    if position is None:
        return snapshot
    placed = next((each for each in snapshot.pods_on(position) if each.uid == pod.uid), None)
    return snapshot if placed is None else cluster_without(snapshot, placed, position)


def _row(scores: CapturedScores, profile: Profile, snapshot: Snapshot) -> NodeScore:
    """Return the row of the chosen node."""
    return scores.rows(profile, snapshot.names).scores().nodes[0]


def _rejection(status: Status) -> PluginRejection:
    return PluginRejection(status.plugin, status.reasons, status.code is Code.UNSCHEDULABLE)

"""Renders every step of one scheduling decision as JSON, in the format of a case's `expect`.

A scheduling cycle stops at the first step that fails, and skips scores that it does not need. This module computes all
steps, so that each step can be compared with kube-scheduler's.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.cycle_error import CycleError
from moorage.engine.cycle.filtering import FilteredNodes, run_filters, status_at
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.fit_error_message import NO_NODES, fit_error_message
from moorage.engine.cycle.pre_filter import run_pre_filter
from moorage.engine.cycle.scheduling_cycle import nodes_to_filter
from moorage.engine.cycle.score_table import ScoreTable
from moorage.engine.cycle.scoring import run_scores
from moorage.engine.preemption.candidate_ranking import best_candidates
from moorage.engine.preemption.post_filter import PostFilterResult, run_post_filter
from moorage.engine.preemption.victim_search import NO_VICTIMS
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin
from moorage.framework.profile import Profile
from moorage.framework.status import Status, error, unresolvable
from moorage.model.pods.pod import Pod

Json = dict[str, Any]


class CaseDecision:
    """The decision for one pod, in one cluster, with one profile."""

    def __init__(self, profile: Profile, pod: Pod, snapshot: Snapshot) -> None:
        """Run PreFilter and Filter on all nodes."""
        self._profile = profile
        self._pod = pod
        self._snapshot = snapshot
        self._found = run_pre_filter(profile, pod, snapshot)
        self._verdicts: FilteredNodes | None = None
        if self._found.status.is_success:
            self._verdicts = run_filters(self._found, nodes_to_filter(self._found, snapshot))
        self._refusal = FitError(snapshot, self._found, self._verdicts)

    def as_json(self) -> Json:
        """Return all non-empty parts of the decision, and the part `feasible` in any case.

        Names and reasons are sorted.
        """
        feasible = self._feasible()
        parts: Json = {
            "preEnqueue": self._pre_enqueue(),
            "prefilter": self._pre_filter_alone(),
            "prefilterResult": self._pre_filter_result(),
            "filter": self._filter(),
            "filterAll": self._filter_all(),
        }
        fault = self._verdicts.fault() if self._verdicts is not None else ""
        if feasible is not None and feasible.size:
            parts |= self._score(feasible)
            if fault and not parts["nominatedOnly"]:
                parts["scheduleError"] = fault
        elif fault:
            parts["scheduleError"] = fault
        elif self._snapshot.size:
            parts |= self._refuse()
        else:
            parts["scheduleError"] = NO_NODES
        names = sorted(feasible.names) if feasible is not None else []
        return {name: part for name, part in parts.items() if part} | {"feasible": names}

    def _feasible(self) -> Snapshot | None:
        if self._verdicts is None:
            return None
        return NodesView(self._verdicts.nodes, np.flatnonzero(self._verdicts.feasible))

    def _pre_enqueue(self) -> Json:
        statuses = {plugin.name: plugin.pre_enqueue(self._pod) for plugin in self._profile.pre_enqueue}
        return {name: status_json(status) for name, status in statuses.items() if not status.is_success}

    def _pre_filter_alone(self) -> Json:
        return {plugin.name: self._one_pre_filter(plugin) for plugin in self._profile.pre_filter}

    def _one_pre_filter(self, plugin: PreFilterPlugin[Any]) -> Json:
        result = plugin.pre_filter(self._pod, self._snapshot)
        nodes = {} if result.node_names is None else {"nodes": sorted(result.node_names)}
        return status_json(result.status) | nodes

    def _pre_filter_result(self) -> Json:
        found = self._found
        nodes = {} if found.node_names is None else {"nodes": sorted(found.node_names)}
        plugins = {"nodesPlugins": list(found.narrowed_by)} if found.narrowed_by else {}
        return status_json(found.status) | {name: part for name, part in (nodes | plugins).items() if part}

    def _filter(self) -> Json:
        statuses = self._refusal.statuses()
        return {name: status_json(statuses[name]) if name in statuses else "ok" for name in self._snapshot.names}

    def _filter_all(self) -> Json:
        """Return the rejections of all Filter plugins, for the nodes that two or more plugins reject."""
        names = self._snapshot.names
        rejections: dict[str, Json] = {name: {} for name in names}
        for plugin in self._profile.filter:
            for position, status in self._one_filter(plugin).items():
                rejections[names[position]][plugin.name] = status_json(status)
        return {name: plugins for name, plugins in rejections.items() if len(plugins) > 1}

    def _one_filter(self, plugin: FilterPlugin[Any]) -> dict[int, Status]:
        """Return the rejections of one Filter plugin by node position; none if its PreFilter does not succeed."""
        state = None
        if plugin.without_pre_filter and plugin not in self._profile.pre_filter:
            fault = error(plugin.without_pre_filter)
            return dict.fromkeys(range(self._snapshot.size), fault)
        if plugin in self._profile.pre_filter and isinstance(plugin, PreFilterPlugin):
            result = plugin.pre_filter(self._pod, self._snapshot)
            if not result.status.is_success:
                return {}
            state = result.state
        verdict = plugin.filter(state, self._pod, self._snapshot)
        positions = np.flatnonzero(~verdict.passed).tolist()
        reasons = verdict.rejections() if positions else ()
        return {position: status_at("", reasons, position) for position in positions}

    def _score(self, feasible: Snapshot) -> Json:
        """Score the nodes that fit. A single node is scored too, although a scheduling cycle would not score it."""
        parts: Json = {
            "notScored": feasible.size == 1 or not self._profile.score,
            "nominatedOnly": self._nominated_only(feasible),
        }
        try:
            table = run_scores(self._profile, self._pod, feasible)
        except CycleError as error:
            parts["scoreError"] = str(error)
            if not parts["notScored"] and not parts["nominatedOnly"]:
                parts["scheduleError"] = str(error)
            return parts
        return parts | scores_json(self._profile, table)

    def _nominated_only(self, feasible: Snapshot) -> str:
        """Return the pod's nominated node if it fits and other nodes fit too; otherwise return an empty string."""
        name = self._pod.nominated_node_name
        return name if feasible.size > 1 and name in feasible.names else ""

    def _refuse(self) -> Json:
        diagnosis = self._refusal.diagnose()
        message = fit_error_message(diagnosis)
        parts: Json = {
            "fitErrorMessage": message,
            "unschedulablePlugins": sorted(diagnosis.unschedulable_plugins),
        }
        if self._pod.node_name:
            return parts | {"preemption": {"skipped": "spec.nodeName is set"}}
        post = run_post_filter(self._profile, self._refusal, chance=0)
        if post is None:
            return parts | {"preemption": {"skipped": "no PostFilter plugin"}}
        full = f"{message} {post.message}" if post.message else ""
        return parts | {"fitErrorMessageFull": full, "preemption": preemption_json(post, self._snapshot)}


def status_json(status: Status) -> Json:
    """Render a status."""
    parts: Json = {"code": status.code.value, "plugin": status.plugin, "reasons": sorted(status.reasons)}
    return {name: part for name, part in parts.items() if part}


def scores_json(profile: Profile, table: ScoreTable) -> Json:
    """Render scores, totals and the nodes with the best total."""
    names = table.node_names
    scores: Mapping[str, Json] = {
        entry.plugin: {
            name: {"raw": int(raw), "normalized": int(normalized), "weighted": int(weighted)}
            for name, raw, normalized, weighted in zip(
                names, *np.broadcast_arrays(entry.raw, entry.normalized, entry.weighted, table.total)[:3], strict=True
            )
        }
        for entry in table.plugins
    }
    best = table.total.max()
    return {
        "skippedScore": sorted(table.skipped),
        "weights": {entry.plugin.name: entry.weight for entry in profile.score},
        "scores": dict(scores),
        "total": {name: int(total) for name, total in zip(names, table.total, strict=True)},
        "best": sorted(name for name, total in zip(names, table.total, strict=True) if total == best),
    }


def preemption_json(post: PostFilterResult, snapshot: Snapshot) -> Json:
    """Render the result of PostFilter."""
    parts: Json = {"code": post.code.value, "message": post.message}
    if post.search is not None:
        found = post.search.candidates
        parts["candidates"] = {
            candidate.node_name: {
                "pods": [pod.key for pod in candidate.victims],
                "numPDBViolations": candidate.violations,
            }
            for candidate in found
        }
        without_victims = {
            snapshot.names[position]: unresolvable(NO_VICTIMS) for position in post.search.without_victims.tolist()
        }
        statuses = without_victims | post.search.statuses
        parts["nodeStatuses"] = {name: status_json(status) for name, status in statuses.items()}
        best = best_candidates(found) if found else []
        parts["best"] = [candidate.node_name for candidate in best]
        if len(best) == 1:
            parts["nominatedNode"] = best[0].node_name
            parts["victims"] = [pod.key for pod in best[0].victims]
    return {name: part for name, part in parts.items() if part}

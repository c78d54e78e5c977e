"""PostFilter: the plugins that may help a pod that fits on no node, above all preemption.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPostFilterPlugins), pkg/scheduler/framework/preemption.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from moorage.cluster.arrays import IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.engine.candidate import Candidate
from moorage.engine.cycle.diagnosis import Diagnosis
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.fit_error_message import fit_error_message
from moorage.engine.preemption.candidate_ranking import best_candidates
from moorage.engine.preemption.chosen_victims import check_candidate
from moorage.engine.preemption.disruption_budgets import budgets_of, covered_first
from moorage.engine.preemption.victim_search import DryRun, Search, dry_run, ineligibility
from moorage.engine.recorder import POST_FILTER
from moorage.framework.extension_points import PostFilterPlugin, PreemptionPlugin, PreFilterPlugin
from moorage.framework.profile import Profile
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod

STATE_NOT_FOUND = "not found"
"""The error of a plugin whose PreFilter did not run, as in kube-scheduler's events (upstream: fwk.ErrNotFound)."""
NO_CANDIDATE = "no candidate node for preemption"
"""Upstream's message if extenders keep no candidate."""


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """The result of all PostFilter plugins."""

    code: Code
    message: str = ""
    nominated_node_name: str | None = None
    """The node to nominate the pod to. An empty name clears the nomination; None keeps the nomination."""
    victims: tuple[Pod, ...] = ()
    search: DryRun | None = None
    """The search for victims, if there was one."""
    unschedulable_plugins: frozenset[str] = frozenset()
    """The PostFilter plugins whose events requeue the pod."""


def make_room(
    profile: Profile, fit_error: FitError, chance: int, kept: Sequence[Candidate] | None = None
) -> PostFilterResult:
    """Run PostFilter. If extenders have answered, only choose one of the candidates that the extenders `kept`.

    If the cluster has no nodes, run no plugin.
    """
    if not fit_error.snapshot.size:
        return PostFilterResult(Code.UNSCHEDULABLE)
    if kept is not None:
        return choose_candidate(kept, fit_error, chance, strict=profile.settings.strict_preemption)
    return run_post_filter(profile, fit_error, chance) or PostFilterResult(Code.UNSCHEDULABLE)


def run_post_filter(profile: Profile, fit_error: FitError, chance: int) -> PostFilterResult | None:
    """Run the PostFilter plugins until one succeeds or fails; return None if the profile has none.

    `chance` selects the node at which the search for victims starts, among the nodes where preemption may help.
    """
    if not profile.post_filter:
        return None
    recorder = fit_error.pre_filtered.recorder
    started = recorder.now()
    result = _run_all(profile, fit_error, chance)
    recorder.observe_point(POST_FILTER, result.code, profile.name, started)
    return result


def _run_all(profile: Profile, fit_error: FitError, chance: int) -> PostFilterResult:
    reasons: list[str] = []
    last = PostFilterResult(Code.UNSCHEDULABLE)
    for plugin in profile.post_filter:
        if isinstance(plugin, PreFilterPlugin) and not _has_run(plugin, profile, fit_error):
            return PostFilterResult(Code.ERROR, STATE_NOT_FOUND)
        result = _run_sampled(plugin, profile, fit_error, chance)
        if result.code is not Code.UNSCHEDULABLE:
            return result
        reasons += [result.message] if result.message else []
        if result.nominated_node_name is not None or result.search is not None:
            last = result
    return replace(last, message=", ".join(reasons))


def _has_run(plugin: PreFilterPlugin[Any], profile: Profile, fit_error: FitError) -> bool:
    """Return whether the plugin's PreFilter has run: it must be enabled, and no earlier plugin must have ended it."""
    return plugin in profile.pre_filter and plugin not in fit_error.pre_filtered.unreached


def _run_sampled(plugin: PostFilterPlugin, profile: Profile, fit_error: FitError, chance: int) -> PostFilterResult:
    """Run a plugin, and record the call if the cycle records calls of plugins."""
    recorder = fit_error.pre_filtered.recorder
    started = recorder.now()
    result = _run_one(plugin, profile, fit_error, chance)
    if recorder.samples_plugins:
        recorder.observe_plugin(plugin.name, POST_FILTER, result.code, started)
    return result


def _run_one(plugin: PostFilterPlugin, profile: Profile, fit_error: FitError, chance: int) -> PostFilterResult:
    if isinstance(plugin, PreemptionPlugin):
        return preempt(plugin, fit_error, chance, strict=profile.settings.strict_preemption)
    status = plugin.post_filter(fit_error.pre_filtered.states.get(plugin), fit_error.pre_filtered.pod)
    return PostFilterResult(status.code, status.message)


def preempt(plugin: PreemptionPlugin, fit_error: FitError, chance: int, *, strict: bool = False) -> PostFilterResult:
    """Find the pods to evict; if `strict`, evict only pods that no budget protects."""
    known: PostFilterResult | None = fit_error.searches.get((plugin, strict))
    if known is not None:
        return known
    result = _search(plugin, fit_error, chance, strict=strict)
    if not result.victims and result.code is Code.UNSCHEDULABLE:
        fit_error.searches[plugin, strict] = result
    return result


def _search(plugin: PreemptionPlugin, fit_error: FitError, chance: int, *, strict: bool) -> PostFilterResult:
    snapshot, potential = fit_error.snapshot, fit_error.potential_nodes()
    reason = _ineligibility(fit_error, potential)
    if reason:
        return PostFilterResult(Code.UNSCHEDULABLE, f"preemption: {reason}")
    start = chance % len(potential) if len(potential) else 0
    search = Search(fit_error.pre_filtered, budgets_of(snapshot), strict)
    result = dry_run(search, snapshot, np.roll(potential, -start), plugin.candidate_count(len(potential)))
    if result.candidates:
        return replace(_select_candidate(result.candidates, snapshot, chance, strict=strict), search=result)
    if result.failure:
        return PostFilterResult(Code.ERROR, f"preemption: {result.failure}", search=result)
    message = fit_error_message(Diagnosis(total_nodes=snapshot.size, reasons=result.reasons(snapshot.size)))
    return PostFilterResult(
        Code.UNSCHEDULABLE,
        f"preemption: {message}",
        nominated_node_name="",
        search=result,
        unschedulable_plugins=frozenset({plugin.name} if result.depends_on_budgets else ()),
    )


def choose_candidate(
    candidates: Sequence[Candidate], fit_error: FitError, chance: int, *, strict: bool = False
) -> PostFilterResult:
    """Select one of the candidates that the extenders keep and that `check_candidate` accepts."""
    snapshot, potential = fit_error.snapshot, fit_error.potential_nodes()
    reason = _ineligibility(fit_error, potential)
    if reason:
        return PostFilterResult(Code.UNSCHEDULABLE, f"preemption: {reason}")
    search = Search(fit_error.pre_filtered, budgets_of(snapshot), strict)
    helpful = (candidate for candidate in candidates if snapshot.position(candidate.node_name) in potential)
    checked = [check_candidate(candidate, search, snapshot) for candidate in helpful]
    allowed = [candidate for candidate in checked if candidate is not None]
    if not allowed:
        return PostFilterResult(Code.UNSCHEDULABLE, f"preemption: {NO_CANDIDATE}", "")
    return _select_candidate(allowed, snapshot, chance, strict=strict)


def _ineligibility(fit_error: FitError, potential: IntArray) -> str:
    """Return why the pod may not preempt others; `potential` are the positions where preemption may help."""
    pod, snapshot = fit_error.pre_filtered.pod, fit_error.snapshot
    nominated = snapshot.position(pod.nominated_node_name)
    is_hopeless = nominated is not None and nominated not in potential
    return ineligibility(pod, snapshot, is_nominated_node_hopeless=is_hopeless)


def _select_candidate(
    candidates: Sequence[Candidate], snapshot: Snapshot, chance: int, *, strict: bool
) -> PostFilterResult:
    tied = best_candidates(candidates)
    best = tied[chance % len(tied)]
    victims = covered_first(best.victims, budgets_of(snapshot)) if strict else best.victims
    return PostFilterResult(Code.SUCCESS, "", best.node_name, victims)

"""PostFilter: what could be done for a pod that fits nowhere.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPostFilterPlugins), pkg/scheduler/framework/preemption.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from moorage.cluster.snapshot import Snapshot
from moorage.engine.candidate import Candidate
from moorage.engine.cycle.decision import Diagnosis
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.fit_error_message import fit_error_message
from moorage.engine.preemption.victim_search import (
    DryRun,
    Search,
    best_candidates,
    covered_first,
    dry_run,
    ineligible,
)
from moorage.framework.extension_points import PostFilterPlugin, PreemptionPlugin, PreFilterPlugin
from moorage.framework.profile import Profile
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod
from moorage.model.workloads.workload_objects import PodDisruptionBudget

STATE_NOT_FOUND = "not found"
"""Upstream's error of a plugin whose PreFilter did not run (fwk.ErrNotFound); public event logs show it."""
NO_CANDIDATE = "no candidate node for preemption"
"""Upstream's words where extenders have left no candidate."""
BUDGET_KIND = "PodDisruptionBudget"


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What PostFilter came to."""

    code: Code
    message: str = ""
    nominated_node_name: str | None = None
    """The node to nominate; empty: none, and an old nomination is void; None: leave it as it is."""
    victims: tuple[Pod, ...] = ()
    search: DryRun | None = None
    """The search for victims, if there was one."""
    rejectors: frozenset[str] = frozenset()
    """The PostFilter plugins that turned the pod away for something that may change."""


def run_post_filter(profile: Profile, refusal: FitError, chance: int) -> PostFilterResult | None:
    """Ask the PostFilter plugins in turn, until one succeeds or fails; None where the profile has none.

    `chance` is where, among the nodes that evictions could help, the search for victims begins.
    """
    if not profile.post_filter:
        return None
    reasons: list[str] = []
    last = PostFilterResult(Code.UNSCHEDULABLE)
    for plugin in profile.post_filter:
        if isinstance(plugin, PreFilterPlugin) and not _is_prepared(plugin, profile, refusal):
            return PostFilterResult(Code.ERROR, STATE_NOT_FOUND)
        answer = _ask(plugin, profile, refusal, chance)
        if answer.code is not Code.UNSCHEDULABLE:
            return answer
        reasons += [answer.message] if answer.message else []
        if answer.nominated_node_name is not None or answer.search is not None:
            last = answer
    return replace(last, message=", ".join(reasons))


def _is_prepared(plugin: PreFilterPlugin[Any], profile: Profile, refusal: FitError) -> bool:
    """Whether the plugin's PreFilter has run: it is not disabled, and no earlier one has ended the cycle."""
    return plugin in profile.pre_filter and plugin not in refusal.found.unreached


def _ask(plugin: PostFilterPlugin, profile: Profile, refusal: FitError, chance: int) -> PostFilterResult:
    if isinstance(plugin, PreemptionPlugin):
        return preempt(plugin, refusal, chance, strict=profile.settings.strict_preemption)
    status = plugin.post_filter(refusal.found.states.get(plugin), refusal.found.pod)
    return PostFilterResult(status.code, status.message)


def preempt(plugin: PreemptionPlugin, refusal: FitError, chance: int, *, strict: bool = False) -> PostFilterResult:
    """Look for pods to evict; where `strict`, only such as no budget protects."""
    pod, snapshot = refusal.found.pod, refusal.snapshot
    hopeful = refusal.hopeful()
    nominated = snapshot.position(pod.nominated_node_name)
    reason = ineligible(pod, snapshot, nominated_node_is_hopeless=nominated is not None and nominated not in hopeful)
    if reason:
        return PostFilterResult(Code.UNSCHEDULABLE, f"preemption: {reason}")
    search = Search(refusal.found, _budgets(snapshot), strict)
    start = chance % len(hopeful) if len(hopeful) else 0
    tried = dry_run(search, snapshot, np.roll(hopeful, -start), plugin.candidate_count(len(hopeful)))
    if not tried.candidates and tried.failure:
        return PostFilterResult(Code.ERROR, f"preemption: {tried.failure}", search=tried)
    if not tried.candidates:
        message = fit_error_message(Diagnosis(total_nodes=snapshot.size, reasons=tried.reasons(snapshot.size)))
        rejectors = frozenset({plugin.name} if tried.is_up_to_budgets else ())
        return PostFilterResult(Code.UNSCHEDULABLE, f"preemption: {message}", "", search=tried, rejectors=rejectors)
    return replace(_chosen(tried.candidates, snapshot, chance, strict=strict), search=tried)


def choose_among(
    left: Sequence[Candidate], refusal: FitError, chance: int, *, strict: bool = False
) -> PostFilterResult:
    """Choose among the candidates that extenders have left; those whose victims have moved on meanwhile are none."""
    snapshot = refusal.snapshot
    allowed = (candidate for candidate in left if not (strict and candidate.violations))
    lasting = [candidate for candidate in allowed if _is_up_to_date(candidate, snapshot)]
    if not lasting:
        return PostFilterResult(Code.UNSCHEDULABLE, f"preemption: {NO_CANDIDATE}", "")
    return _chosen(lasting, snapshot, chance, strict=strict)


def _is_up_to_date(candidate: Candidate, snapshot: Snapshot) -> bool:
    position = snapshot.position(candidate.node_name)
    if position is None:
        return False
    there = {pod.uid for pod in snapshot.pods_on(position)}
    return all(victim.uid in there for victim in candidate.victims)


def _chosen(candidates: Sequence[Candidate], snapshot: Snapshot, chance: int, *, strict: bool) -> PostFilterResult:
    equals = best_candidates(candidates)
    best = equals[chance % len(equals)]
    victims = covered_first(best.victims, _budgets(snapshot)) if strict else best.victims
    return PostFilterResult(Code.SUCCESS, "", best.node_name, victims)


def _budgets(snapshot: Snapshot) -> tuple[PodDisruptionBudget, ...]:
    return tuple(snapshot.objects(BUDGET_KIND).values())

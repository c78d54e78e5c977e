"""PostFilter: what could be done for a pod that fits nowhere.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPostFilterPlugins), pkg/scheduler/framework/preemption.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from moorage.engine.decision import Diagnosis
from moorage.engine.fit_error import fit_error
from moorage.engine.preemption import (
    Candidate,
    DryRun,
    Search,
    best_candidates,
    dry_run,
    ineligible,
)
from moorage.engine.refusal import Refusal
from moorage.framework.interface import PostFilterPlugin, PreemptionPlugin, PreFilterPlugin
from moorage.framework.profile import Profile
from moorage.framework.snapshot import Snapshot
from moorage.framework.status import Code
from moorage.model.pod import Pod

STATE_NOT_FOUND = "not found"
"""Upstream's error of a plugin whose PreFilter did not run (fwk.ErrNotFound); public event logs show it."""
NO_CANDIDATE = "no candidate node for preemption"
"""Upstream's words where extenders have left no candidate."""
BUDGET_KIND = "PodDisruptionBudget"


@dataclass(frozen=True, slots=True)
class PostFiltered:
    """What PostFilter came to."""

    code: Code
    message: str = ""
    nominated_node_name: str | None = None
    """The node to nominate; empty: none, and an old nomination is void; None: leave it as it is."""
    victims: tuple[Pod, ...] = ()
    search: DryRun | None = None
    """The search for victims, if there was one."""


def run_post_filter(profile: Profile, refusal: Refusal, chance: int) -> PostFiltered | None:
    """Ask the PostFilter plugins in turn, until one succeeds or fails; None where the profile has none.

    `chance` is where, among the nodes that evictions could help, the search for victims begins.
    """
    if not profile.post_filter:
        return None
    reasons: list[str] = []
    last = PostFiltered(Code.UNSCHEDULABLE)
    for plugin in profile.post_filter:
        if isinstance(plugin, PreFilterPlugin) and not _is_prepared(plugin, profile, refusal):
            return PostFiltered(Code.ERROR, STATE_NOT_FOUND)
        answer = _ask(plugin, refusal, chance)
        if answer.code is not Code.UNSCHEDULABLE:
            return answer
        reasons += [answer.message] if answer.message else []
        if answer.nominated_node_name is not None or answer.search is not None:
            last = answer
    return PostFiltered(Code.UNSCHEDULABLE, ", ".join(reasons), last.nominated_node_name, search=last.search)


def _is_prepared(plugin: PreFilterPlugin[Any], profile: Profile, refusal: Refusal) -> bool:
    """Whether the plugin's PreFilter has run: it is not disabled, and no earlier one has ended the cycle."""
    return plugin in profile.pre_filter and plugin not in refusal.found.unreached


def _ask(plugin: PostFilterPlugin, refusal: Refusal, chance: int) -> PostFiltered:
    if isinstance(plugin, PreemptionPlugin):
        return preempt(plugin, refusal, chance)
    status = plugin.post_filter(refusal.found.states.get(plugin), refusal.found.pod)
    return PostFiltered(status.code, status.message)


def preempt(plugin: PreemptionPlugin, refusal: Refusal, chance: int) -> PostFiltered:
    """Look for pods to evict."""
    pod, snapshot = refusal.found.pod, refusal.snapshot
    hopeful = refusal.hopeful()
    nominated = snapshot.position(pod.nominated_node_name)
    reason = ineligible(pod, snapshot, nominated_node_is_hopeless=nominated is not None and nominated not in hopeful)
    if reason:
        return PostFiltered(Code.UNSCHEDULABLE, f"preemption: {reason}")
    search = Search(refusal.found, tuple(snapshot.objects(BUDGET_KIND).values()))
    start = chance % len(hopeful) if len(hopeful) else 0
    tried = dry_run(search, snapshot, np.roll(hopeful, -start), plugin.candidate_count(len(hopeful)))
    if not tried.candidates and tried.failure:
        return PostFiltered(Code.ERROR, f"preemption: {tried.failure}", search=tried)
    if not tried.candidates:
        message = fit_error(Diagnosis(total_nodes=snapshot.size, reasons=tried.reasons(snapshot.size)))
        return PostFiltered(Code.UNSCHEDULABLE, f"preemption: {message}", "", search=tried)
    best = _choose(best_candidates(tried.candidates), chance)
    return PostFiltered(Code.SUCCESS, "", best.node_name, best.victims, tried)


def choose_among(left: Sequence[Candidate], refusal: Refusal, chance: int) -> PostFiltered:
    """Choose among the candidates that extenders have left; those whose victims have moved on meanwhile are none."""
    snapshot = refusal.snapshot
    lasting = [candidate for candidate in left if _is_up_to_date(candidate, snapshot)]
    if not lasting:
        return PostFiltered(Code.UNSCHEDULABLE, f"preemption: {NO_CANDIDATE}", "")
    best = _choose(best_candidates(lasting), chance)
    return PostFiltered(Code.SUCCESS, "", best.node_name, best.victims)


def _is_up_to_date(candidate: Candidate, snapshot: Snapshot) -> bool:
    position = snapshot.position(candidate.node_name)
    if position is None:
        return False
    there = {pod.uid for pod in snapshot.pods_on(position)}
    return all(victim.uid in there for victim in candidate.victims)


def _choose(equals: Sequence[Candidate], chance: int) -> Candidate:
    return equals[chance % len(equals)]

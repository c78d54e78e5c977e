"""Counts the decisions of one policy in mode Shadow; the policy's status shows the numbers."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.engine.outcomes import ShadowDecision, ShadowVerdict


@dataclass(slots=True)
class ShadowTally:
    """The numbers of one shadow (a policy in mode Shadow)."""

    verdicts: Counter[ShadowVerdict] = field(default_factory=Counter)
    zones: Counter[str] = field(default_factory=Counter)
    """The number of compared pods that the shadow would have placed in each zone."""
    actual_zones: Counter[str] = field(default_factory=Counter)
    """The number of compared pods that were really placed in each zone."""
    last_difference: str = ""
    """A description of the last difference between a decision of the shadow and the real decision, without the pod's
    name."""

    def count(self, decision: ShadowDecision) -> None:
        """Count a decision."""
        self.verdicts[decision.verdict] += 1
        if decision.zone:
            self.zones[decision.zone] += 1
        if decision.actual_zone:
            self.actual_zones[decision.actual_zone] += 1
        if decision.verdict not in {ShadowVerdict.SAME, ShadowVerdict.TIE}:
            self.last_difference = difference(decision, "a pod")  # the policy's author may not know all pods


def difference(decision: ShadowDecision, pod: str) -> str:
    """Return a sentence that describes how a shadow's decision differs from the real decision; `pod` names the pod."""
    match decision.verdict:
        case ShadowVerdict.FITS_NOWHERE:
            return f"{pod} is on {decision.actual_node_name}, but this policy finds no node for it: {decision.message}"
        case ShadowVerdict.FITS:
            return f"{pod} fits on no node, but this policy would place it on {decision.node_name}"
        case ShadowVerdict.FAILED:
            return f"{pod} cannot be compared: {decision.message}"
        case _:
            where = f"{pod} is on {decision.actual_node_name}; this policy would place it on {decision.node_name}"
            return f"{where}: {decision.message}"


def skew(zones: Mapping[str, int], others: Mapping[str, int]) -> int:
    """Return the largest minus the smallest number in `zones`. A zone that only `others` contains has the number 0."""
    counts = [zones.get(zone, 0) for zone in {*zones, *others}]
    return max(counts, default=0) - min(counts, default=0)

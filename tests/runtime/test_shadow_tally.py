"""The counts of policies in mode Shadow."""

import pytest

from builders import pod
from moorage.engine.outcomes import ShadowDecision, ShadowVerdict
from moorage.runtime.shadow_tally import ShadowTally, difference, skew
from runtime_parts import GOLD


def decision(verdict: ShadowVerdict, **fields: str) -> ShadowDecision:
    return ShadowDecision(pod=pod("p"), profile=GOLD, verdict=verdict, **{"actual_node_name": "n1", **fields})


def test_decisions_are_counted_by_verdict_and_zone() -> None:
    tally = ShadowTally()
    tally.count(decision(ShadowVerdict.SAME, actual_zone="a", zone="a"))
    tally.count(decision(ShadowVerdict.OTHER_NODE, actual_zone="b", zone="a", node_name="n2", message="n2 is better"))
    assert dict(tally.verdicts) == {ShadowVerdict.SAME: 1, ShadowVerdict.OTHER_NODE: 1}
    assert (skew(tally.zones, tally.actual_zones), skew(tally.actual_zones, tally.zones)) == (2, 0)
    assert tally.last_difference == "a pod is on n1; this policy would place it on n2: n2 is better"


@pytest.mark.parametrize(
    ("verdict", "fields", "text"),
    [
        (
            ShadowVerdict.FITS_NOWHERE,
            {"message": "full"},
            "default/p is on n1, but this policy finds no node for it: full",
        ),
        (ShadowVerdict.FITS, {"node_name": "n2"}, "default/p fits on no node, but this policy would place it on n2"),
        (ShadowVerdict.FAILED, {"message": "bug"}, "default/p cannot be compared: bug"),
    ],
)
def test_a_difference_is_one_sentence(verdict: ShadowVerdict, fields: dict[str, str], text: str) -> None:
    assert difference(decision(verdict, **fields), "default/p") == text

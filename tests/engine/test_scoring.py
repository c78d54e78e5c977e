from collections import Counter

import numpy as np
import pytest

from builders import node, pod, snapshot_of
from engine.doubles import NameScore, profile
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.cycle_error import CycleError
from moorage.engine.cycle.scoring import run_scores, select_host
from moorage.framework.extension_points import PreScoreResult
from moorage.framework.profile import WeightedScore
from moorage.framework.status import SKIP, error
from moorage.model.pods.pod import Pod

NODES = snapshot_of([node("n1"), node("n2")])


class Skipper(NameScore):
    """A Score whose PreScore returns Skip."""

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[None]:
        del pod, nodes
        return PreScoreResult(SKIP)


class Failing(NameScore):
    """A Score whose PreScore fails."""

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[None]:
        del pod, nodes
        return PreScoreResult(error("no data"))


def test_total_is_the_weighted_sum() -> None:
    first = NameScore(scores={"n1": 10, "n2": 20})
    second = NameScore(scores={"n1": 100})
    weighted = profile(score=())
    object.__setattr__(weighted, "score", (WeightedScore(first, 3), WeightedScore(second, 1)))
    table = run_scores(weighted, pod(), NODES)
    assert np.array_equal(table.total, [130, 60])
    assert [np.asarray(scores.weighted).tolist() for scores in table.plugins] == [[30, 60], [100, 0]]


def test_skipped_plugin_adds_nothing_to_the_total_and_is_listed_as_skipped() -> None:
    skipper = Skipper(scores={"n1": 100})
    table = run_scores(profile(score=(skipper,), pre_score=(skipper,)), pod(), NODES)
    assert table.total.tolist() == [0, 0]
    assert list(table.skipped) == ["Skipper"]


def test_every_node_has_the_total_1_if_no_plugin_scores() -> None:
    assert run_scores(profile(), pod(), NODES).total.tolist() == [1, 1]


def test_error_of_pre_score_ends_the_cycle_even_if_score_is_disabled() -> None:
    with pytest.raises(CycleError, match='running PreScore plugin "Failing": no data'):
        run_scores(profile(score=(NameScore(),), pre_score=(Failing(),)), pod(), NODES)


@pytest.mark.parametrize("score", [-1, 101])
def test_score_out_of_range_ends_the_cycle(score: int) -> None:
    with pytest.raises(CycleError, match=f"NameScore.*invalid score {score}"):
        run_scores(profile(score=(NameScore(scores={"n2": score}),)), pod(), NODES)


def test_best_nodes_are_chosen_equally_often() -> None:
    total = np.array([5, 9, 9, 1, 9], np.int64)
    chosen = Counter(select_host(total, seed=3, cycle=cycle) for cycle in range(3000))
    assert set(chosen) == {1, 2, 4}
    assert min(chosen.values()) > 900


def test_same_seed_and_cycle_choose_the_same_node() -> None:
    total = np.zeros(50, np.int64)
    assert [select_host(total, 7, cycle) for cycle in range(9)] == [select_host(total, 7, cycle) for cycle in range(9)]
    assert {select_host(total, 7, cycle) for cycle in range(9)} != {select_host(total, 8, cycle) for cycle in range(9)}

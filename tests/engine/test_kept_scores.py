from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from builders import columns_of, node, pod
from moorage.cluster.arrays import IntArray
from moorage.cluster.kept_arrays import FEW_NODES
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.cycle_error import CycleError
from moorage.engine.cycle.kept_scores import KeptScores
from moorage.framework.extension_points import ScorePlugin
from moorage.framework.profile import WeightedScore
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from moorage.plugins.upstream.node_resources_fit import NodeResourcesFit

SIZE = 3 * FEW_NODES
NODES = [node(f"n{index}") for index in range(SIZE)]
INCOMING = pod("p", cpu="100m")


class PodCount(ScorePlugin[None]):
    """A Score that counts the pods of each node, and records the nodes of each call."""

    has_local_score: ClassVar[bool] = True
    asked: list[list[str]] = Field(default_factory=list)

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        del state, pod
        self.asked.append(list(nodes.names))
        return nodes.pod_count * 60


def kept(*plugins: ScorePlugin[None], weight: int = 1) -> KeptScores:
    return KeptScores([WeightedScore(plugin, weight) for plugin in plugins])


def test_plugin_scores_only_nodes_whose_pods_changed() -> None:
    columns = columns_of(NODES)
    cluster, counter = Snapshot(columns), PodCount()
    scores = kept(counter, weight=2)

    first = scores.of(INCOMING, cluster).total
    columns.add_pod(pod("e", node="n7"), "n7")
    second = scores.of(INCOMING, cluster)
    scores.of(INCOMING, cluster)

    assert counter.asked == [list(cluster.names), ["n7"]]
    assert (first[7], second.total[7]) == (0, 120)
    assert second.part.raws[0][7] == 60


def test_changed_node_outside_the_view_is_scored_when_a_later_view_has_it() -> None:
    columns = columns_of(NODES)
    cluster, counter = Snapshot(columns), PodCount()
    scores = kept(counter)
    elsewhere = np.arange(100, SIZE, dtype=np.int64)

    scores.of(INCOMING, cluster)
    for index in (7, 8):
        columns.add_pod(pod(f"e{index}", node=f"n{index}"), f"n{index}")
    scores.of(INCOMING, NodesView(cluster, elsewhere))
    assert counter.asked[1:] == []
    scores.of(INCOMING, cluster)
    assert counter.asked[1:] == [["n7", "n8"]]


def test_all_nodes_are_scored_again_when_many_have_changed() -> None:
    columns = columns_of(NODES)
    cluster, counter = Snapshot(columns), PodCount()
    scores = kept(counter)

    scores.of(INCOMING, cluster)
    for index in range(SIZE // 2):
        columns.add_pod(pod(f"e{index}", node=f"n{index}"), f"n{index}")
    scores.of(INCOMING, cluster)

    assert counter.asked == [list(cluster.names)] * 2


def test_all_nodes_of_a_small_view_are_scored() -> None:
    cluster, counter = Snapshot(columns_of(NODES)), PodCount()

    kept(counter).of(INCOMING, NodesView(cluster, np.array([3, 1])))

    assert counter.asked == [["n3", "n1"]]


def test_score_out_of_range_ends_the_cycle() -> None:
    columns = columns_of(NODES)
    scores = kept(PodCount())
    scores.of(INCOMING, Snapshot(columns))
    for number in range(2):
        columns.add_pod(pod(f"e{number}", node="n7"), "n7")
    with pytest.raises(CycleError, match=r"PodCount.*invalid score 120"):
        scores.of(INCOMING, Snapshot(columns))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sets(st.integers(0, SIZE - 1)), max_size=4), st.sets(st.integers(0, SIZE - 1)))
def test_kept_scores_equal_newly_computed_scores(steps: list[set[int]], unseen: set[int]) -> None:
    columns = columns_of(NODES)
    plugins = NodeResourcesFit(), NodeResourcesBalancedAllocation()
    cluster, scores = Snapshot(columns), kept(*plugins, weight=3)
    view = np.array([slot for slot in range(SIZE) if slot not in unseen], dtype=np.int64)

    for step, slots in enumerate(steps):
        for slot in slots:
            columns.add_pod(pod(f"e{step}-{slot}", cpu="100m", node=f"n{slot}"), f"n{slot}")
        seen = scores.of(INCOMING, NodesView(cluster, view))
        raws = np.array([plugin.score(None, INCOMING, cluster) for plugin in plugins])
        total = 3 * raws.sum(axis=0)
        by_plugin = seen.part.scores(NodesView(cluster, view))
        assert [np.array(score.raw).tolist() for score in by_plugin] == raws[:, view].tolist()
        assert seen.total.tolist() == total[view].tolist()
        assert scores.of(INCOMING, cluster).total.tolist() == total.tolist()

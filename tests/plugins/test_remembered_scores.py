import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import columns_of, node, pod
from moorage.framework.arrays import IntArray
from moorage.framework.snapshot import Snapshot
from moorage.plugins.remembered_scores import FEW_NODES, RememberedScores

SIZE = 3 * FEW_NODES
NODES = [node(f"n{index}") for index in range(SIZE)]


class Recorder:
    """Scores nodes by the cpu in use, and notes which ones it was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def remembered(self) -> RememberedScores:
        return RememberedScores(self.score)

    def score(self, nodes: Snapshot) -> IntArray:
        self.asked.append(list(nodes.names))
        return nodes.requested("cpu") * 2


def test_only_nodes_whose_use_changed_are_scored_again() -> None:
    columns = columns_of(NODES)
    cluster, recorder = Snapshot(columns), Recorder()
    remembered = recorder.remembered()

    first = remembered.of(cluster)
    columns.add_pod(pod("e", cpu="100m", node="n7"), "n7")
    second = remembered.of(cluster)
    remembered.of(cluster)

    assert recorder.asked == [list(cluster.names), ["n7"]]
    assert (first[7], second[7]) == (0, 200)


def test_all_are_scored_again_where_many_changed() -> None:
    columns = columns_of(NODES)
    cluster, recorder = Snapshot(columns), Recorder()
    remembered = recorder.remembered()

    remembered.of(cluster)
    for index in range(SIZE // 2):
        columns.add_pod(pod(f"e{index}", cpu="1", node=f"n{index}"), f"n{index}")
    remembered.of(cluster)

    assert recorder.asked == [list(cluster.names)] * 2


def test_small_views_are_scored_as_they_are() -> None:
    cluster, recorder = Snapshot(columns_of(NODES)), Recorder()

    recorder.remembered().of(cluster.take(np.array([3, 1])))

    assert recorder.asked == [["n3", "n1"]]


@settings(max_examples=30)
@given(st.lists(st.sets(st.integers(0, SIZE - 1)), max_size=4), st.sets(st.integers(0, SIZE - 1)))
def test_scores_are_those_of_the_nodes_as_they_are(steps: list[set[int]], unseen: set[int]) -> None:
    columns = columns_of(NODES)
    cluster, remembered = Snapshot(columns), Recorder().remembered()
    view = np.array([slot for slot in range(SIZE) if slot not in unseen], dtype=np.int64)

    for step, slots in enumerate(steps):
        for slot in slots:
            columns.add_pod(pod(f"e{step}-{slot}", cpu="100m", node=f"n{slot}"), f"n{slot}")
        expected = cluster.requested("cpu") * 2
        assert remembered.of(cluster.take(view)).tolist() == expected[view].tolist()
        assert remembered.of(cluster).tolist() == expected.tolist()

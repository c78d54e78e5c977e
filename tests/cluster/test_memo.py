"""The memo computes a value once for each subject, shape and generation."""

from __future__ import annotations

import numpy as np

from builders import node, pod, snapshot_of
from moorage.cluster.memo import Memo
from moorage.cluster.nodes_view import NodesView


def test_memo_computes_once_for_each_subject_shape_and_generation() -> None:
    snapshot = snapshot_of([node("a")])
    shape, other = pod(cpu="1").shape, pod(cpu="2").shape
    made: list[str] = []

    def compute(name: str) -> str:
        made.append(name)
        return name

    view = NodesView(snapshot, np.array([0]))
    assert snapshot.memo("s", shape, 1, lambda: compute("first")) == "first"
    assert view.memo("s", shape, 1, lambda: compute("again")) == "first"
    assert snapshot.memo("t", shape, 1, lambda: compute("other subject")) == "other subject"
    assert snapshot.memo("s", other, 1, lambda: compute("other shape")) == "other shape"
    assert snapshot.memo("s", shape, 2, lambda: compute("next generation")) == "next generation"
    assert made == ["first", "other subject", "other shape", "next generation"]


def test_memo_drops_the_least_recently_used_value() -> None:
    memo = Memo(max_entries=2)
    shape = pod().shape
    for subject in ("a", "b", "a", "c"):
        memo.get(subject, shape, 0, lambda: "old")
    assert [memo.get(subject, shape, 0, lambda: "new") for subject in ("a", "c", "b")] == ["old", "old", "new"]

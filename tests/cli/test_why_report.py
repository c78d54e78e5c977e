"""The text of an explanation: it fits in 80 columns and has no escape sequences from outside."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cli.why_report import print_explanation
from moorage.engine.counterfactuals.counterfactual import ChangeKind, Counterfactual, change_to
from moorage.engine.messages import ExtenderCall
from moorage.engine.records.decision_record import (
    ConsideredNode,
    DecisionOutcome,
    DecisionRecord,
    NodeCount,
    NodeScore,
    PluginScore,
    PodName,
    PointDuration,
    Preemption,
    Scores,
)
from moorage.engine.records.explanation import Explanation, NodeVerdict, PluginRejection, Standing

COLUMNS = 80
TEXTS = st.text(alphabet=st.sampled_from("ab-.\x1b[31m\n\t\u202e\x07é "), max_size=120)
NAMES = st.text(alphabet="abc-.0123", min_size=1, max_size=63)
COUNTS = st.integers(0, 10**6)
SCORES = st.integers(-(2**40), 2**40)


def plugin_scores() -> st.SearchStrategy[tuple[PluginScore, ...]]:
    names = ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "Lifecycle")
    return st.tuples(*(st.builds(PluginScore, st.just(name), st.integers(1, 100), SCORES, COUNTS) for name in names))


def node_scores() -> st.SearchStrategy[NodeScore]:
    return st.builds(NodeScore, NAMES, SCORES, plugin_scores(), COUNTS)


def node_counts() -> st.SearchStrategy[tuple[NodeCount, ...]]:
    return st.lists(st.builds(NodeCount, TEXTS, TEXTS, COUNTS, st.tuples(NAMES, NAMES)), max_size=3).map(tuple)


def preemptions() -> st.SearchStrategy[Preemption]:
    pods = st.lists(st.builds(PodName, NAMES, NAMES, st.integers(-(2**31), 2**31)), max_size=3).map(tuple)
    considered = st.builds(ConsideredNode, NAMES, COUNTS, SCORES, COUNTS, pods, st.integers(0, 3))
    several = st.lists(considered, max_size=3).map(tuple)
    return st.builds(Preemption, NAMES, TEXTS, COUNTS, several, node_counts(), pods, st.integers(0, 3))


def records() -> st.SearchStrategy[DecisionRecord]:
    return st.builds(
        DecisionRecord,
        namespace=NAMES,
        name=NAMES,
        uid=NAMES,
        scheduler_name=NAMES,
        outcome=st.sampled_from(DecisionOutcome),
        node=NAMES,
        message=TEXTS,
        at=st.floats(0, 2e9),
        total_nodes=COUNTS,
        evaluated_nodes=COUNTS,
        fitting_nodes=COUNTS,
        filters=node_counts(),
        scores=st.none()
        | st.builds(Scores, st.lists(node_scores(), min_size=1, max_size=10).map(tuple), COUNTS, COUNTS, st.just(())),
        preemption=st.none() | preemptions(),
        extenders=st.lists(st.builds(ExtenderCall, TEXTS, st.just("filter"), st.floats(0, 60), TEXTS), max_size=2).map(
            tuple
        ),
        durations=st.lists(st.builds(PointDuration, TEXTS, st.floats(0, 100)), max_size=8).map(tuple),
    )


def counterfactuals() -> st.SearchStrategy[Counterfactual]:
    return st.builds(change_to, st.sampled_from(ChangeKind), TEXTS, st.lists(NAMES, min_size=1, max_size=5))


def explanations() -> st.SearchStrategy[Explanation]:
    rejections = st.lists(st.builds(PluginRejection, TEXTS, st.tuples(TEXTS), st.booleans()), max_size=2).map(tuple)
    return st.builds(
        Explanation,
        namespace=NAMES,
        name=NAMES,
        uid=NAMES,
        scheduler_name=NAMES,
        node=NAMES,
        standing=st.sampled_from(Standing),
        detail=TEXTS,
        at=st.floats(0, 2e9),
        operator=TEXTS,
        records=st.lists(records(), max_size=2).map(tuple),
        now=st.none() | records(),
        shadows=st.lists(records(), max_size=2).map(tuple),
        changes=st.lists(
            st.builds(change_to, st.sampled_from(ChangeKind), TEXTS, st.lists(NAMES, min_size=1, max_size=5)),
            max_size=3,
        ).map(tuple),
        verdict=st.none() | st.builds(NodeVerdict, NAMES, st.booleans(), rejections, node_scores(), node_scores()),
    )


def printed_lines(explanation: Explanation) -> list[str]:
    shown = StringIO()
    with redirect_stdout(shown):
        print_explanation(explanation)
    return shown.getvalue().splitlines()


@settings(max_examples=60, deadline=None)
@given(explanations())
def test_any_explanation_fits_80_columns_without_control_characters(explanation: Explanation) -> None:
    lines = printed_lines(explanation)

    assert lines
    assert all(len(line) <= COLUMNS for line in lines)
    assert all(line.isprintable() for line in lines)


def test_durations_are_added_up_by_extension_point() -> None:
    durations = (PointDuration("Filter", 0.0001), PointDuration("Filter", 0.0002), PointDuration("Score", 0.001))
    record = DecisionRecord(
        namespace="shop", name="web", uid="1", scheduler_name="shop", outcome=DecisionOutcome.BOUND, durations=durations
    )
    explanation = Explanation(
        namespace="shop", name="web", uid="1", scheduler_name="shop", standing=Standing.BOUND, records=(record,)
    )
    assert "  Took 1.30 ms: Filter 0.30, Score 1.00" in printed_lines(explanation)

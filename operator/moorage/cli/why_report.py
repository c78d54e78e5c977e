"""Prints an explanation: a text with tables that fit in 80 columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from io import StringIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moorage.cli.why_tables import (
    change_table,
    clean,
    comparison_table,
    considered_table,
    count_table,
    extender_table,
    plugin_table,
    score_table,
    verdict_table,
    without_points,
)
from moorage.engine.records.decision_record import DecisionOutcome, DecisionRecord, PointDuration, Preemption
from moorage.engine.records.explanation import Explanation, NodeVerdict, Standing

WIDTH = 80
"""The width of the text if stdout is not a terminal."""
STANDINGS = {
    Standing.UNKNOWN: "",
    Standing.OTHER_SCHEDULER: "belongs to another scheduler",
    Standing.BOUND: "is bound",
    Standing.BINDING: "is being bound",
    Standing.ACTIVE: "waits for its next attempt",
    Standing.BACKOFF: "waits after a failed attempt",
    Standing.UNSCHEDULABLE: "fits on no node",
    Standing.GATED: "is kept out of the queue",
    Standing.IN_FLIGHT: "is being scheduled now",
    Standing.WAITS_FOR_EXTENDERS: "waits for the answers of extenders",
    Standing.HELD: "is held",
}


def print_explanation(explanation: Explanation) -> None:
    """Print an explanation to stdout."""
    if sys.stdout.isatty():
        console = Console(highlight=False)
        console.print(*_parts(explanation), sep="\n")
        return
    console = Console(highlight=False, width=WIDTH, file=StringIO())
    with console.capture() as captured:
        console.print(*_parts(explanation), sep="\n")
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _parts(explanation: Explanation) -> Iterator[RenderableType]:
    yield from _head(explanation)
    if explanation.earlier_uid:
        yield clean("The attempts below are of an earlier pod with this name. The earlier pod was deleted.")
    records = explanation.records
    for record in records[:1]:
        yield ""
        yield from _decision(_title(record, explanation.at), record)
    for record in records[1:]:
        if record.preemption is not None and record.preemption.node:
            yield ""
            yield from _decision(_title(record, explanation.at), record)
    if len(records) > 1:
        earlier = ", ".join(f"{_short(each)} ({_ago(explanation.at - each.at)})" for each in records[1:])
        yield ""
        yield clean(f"Earlier attempts: {earlier}")
    now = explanation.now
    if now is not None:
        yield ""
        yield from _present(explanation, now)
    for shadow in explanation.shadows:
        yield ""
        yield from _shadow(shadow, explanation.node)
    if explanation.changes:
        yield ""
        yield _heading("Single changes after which the pod would fit, as of now")
        yield _indented(change_table(explanation.changes))
    if explanation.verdict is not None:
        yield ""
        yield from _verdict(explanation.verdict, explanation)


def _head(explanation: Explanation) -> Iterator[RenderableType]:
    pod = f"{explanation.namespace}/{explanation.name}"
    where = f" on {explanation.node}" if explanation.node else ""
    standing = STANDINGS[explanation.standing]
    detail = f": {explanation.detail}" if explanation.detail and standing else explanation.detail
    yield clean(f"Pod {pod} {standing}{where}{detail}".rstrip() if standing else f"Pod {pod} {detail}".rstrip())
    decisions = [*explanation.records, *((explanation.now,) if explanation.now else ())]
    decided = next((record for record in decisions if record.policy), None)
    if decided is not None and decided.policy is not None:
        canary = f", a canary for pods with schedulerName {decided.canary_of}" if decided.canary_of else ""
        yield clean(f"Policy {decided.policy.name}, generation {decided.policy.generation}{canary}")
    elif explanation.standing is not Standing.OTHER_SCHEDULER:
        yield clean(f"schedulerName {explanation.scheduler_name}")
    if explanation.operator:
        yield clean(f"Asked: operator {explanation.operator}")
    else:
        yield clean("Decided now by this command, without the operator")


def _decision(title: str, record: DecisionRecord) -> Iterator[RenderableType]:
    yield _heading(title)
    yield from _details(record)


def _details(record: DecisionRecord) -> Iterator[RenderableType]:
    if record.outcome is not DecisionOutcome.BOUND:
        yield _indented(f"{record.message}")
    elif 0 < record.evaluated_nodes < record.total_nodes:
        yield _indented(f"The search ended after {record.evaluated_nodes} nodes, because enough of them fit.")
    if record.scores is not None:
        yield from _scores(record)
    elif record.outcome is DecisionOutcome.BOUND:
        yield _indented(f"{_why_unscored(record)}")
    if record.filters:
        yield ""
        yield _indented("Nodes that were rejected")
        yield _indented(count_table(record.filters))
    if record.extenders:
        yield ""
        yield _indented(extender_table(record.extenders))
    if record.preemption is not None:
        yield ""
        yield from _preemption(record.preemption)
    if record.durations:
        yield ""
        yield _indented(f"Took {_durations(record.durations)}")


def _durations(durations: Sequence[PointDuration]) -> str:
    """Return the sum of the durations, and the sum for each extension point."""
    milliseconds = dict.fromkeys((each.point for each in durations), 0.0)
    for each in durations:
        milliseconds[each.point] += each.seconds * 1000
    parts = ", ".join(f"{point} {value:.2f}" for point, value in milliseconds.items())
    return f"{sum(milliseconds.values()):.2f} ms: {parts}"


def _title(record: DecisionRecord, at: float) -> str:
    when = _time(record.at)
    nodes = "its nominated node"
    if record.evaluated_nodes:
        nodes = f"{record.fitting_nodes} of {_nodes(record.total_nodes)} fit"
    match record.outcome:
        case DecisionOutcome.BOUND:
            return f"Attempt {record.attempt}, {when} ({_ago(at - record.at)}): {record.node}; {nodes}"
        case DecisionOutcome.ERROR:
            return f"Attempt {record.attempt}, {when} ({_ago(at - record.at)}): error"
        case _:
            return f"Attempt {record.attempt}, {when} ({_ago(at - record.at)}): no node fits"


def _scores(record: DecisionRecord) -> Iterator[RenderableType]:
    scores = record.scores
    assert scores is not None
    if scores.ties > 1:
        yield _indented(f"{_nodes(scores.ties)} have the highest score; the seed {record.seed} chose {record.node}.")
    else:
        yield _indented(f"{record.node} has the highest score, by a margin of {scores.margin}.")
    yield _indented(score_table(scores))
    yield ""
    yield _indented(plugin_table(scores))
    if unused := without_points(scores.nodes):
        yield _indented(f"No points for these nodes: {', '.join(unused)}")
    if scores.skipped:
        yield _indented(f"Do not apply to the pod: {', '.join(scores.skipped)}")


def _why_unscored(record: DecisionRecord) -> str:
    if not record.evaluated_nodes:
        return "Preemption has made room there, and the pod fits. No other node was looked at."
    if record.fitting_nodes == 1:
        return "It is the only node that fits, so nodes were not scored."
    return "The policy scores no nodes, so the first node that fits was chosen."


def _preemption(preemption: Preemption) -> Iterator[RenderableType]:
    if preemption.node:
        yield _indented(f"Preemption makes room on {preemption.node}: {preemption.reason}.")
    else:
        yield _indented(f"Preemption does not help: {preemption.reason}")
    if preemption.considered:
        more = preemption.candidates - len(preemption.considered)
        yield _indented(considered_table(preemption.considered))
        if more:
            yield _indented(f"... and {more} more nodes")
    if preemption.rejected and preemption.considered:
        yield _indented(count_table(preemption.rejected, heading="why evictions do not help"))
    displaced = [f"{pod.namespace}/{pod.name}" for pod in preemption.displaced]
    if preemption.hidden_displaced:
        displaced.append(f"{preemption.hidden_displaced} in namespaces that you may not read")
    if displaced:
        yield _indented(f"Pods that lost their nomination to the node: {', '.join(displaced)}")


def _present(explanation: Explanation, now: DecisionRecord) -> Iterator[RenderableType]:
    """Yield the decision that would be made now. If the last attempt made the same decision, yield only one line."""
    heading = "Decided now, as if the pod were not placed" if explanation.node else "Decided now"
    last = explanation.records[0] if explanation.records else None
    if now.outcome is DecisionOutcome.BOUND:
        again = " (the same node)" if now.node == explanation.node else ""
        yield _heading(f"{heading}: {now.node}{again}; {now.fitting_nodes} of {_nodes(now.total_nodes)} fit")
        is_same = bool(again and last)
    else:
        is_same = last is not None and last.filters == now.filters
        found = "error" if now.outcome is DecisionOutcome.ERROR else "no node fits"
        yield _heading(f"{heading}: {found}{', for the same reasons' if is_same else ''}")
    if not is_same:
        yield from _details(now)


def _shadow(decision: DecisionRecord, node: str) -> Iterator[RenderableType]:
    """Yield what a policy in mode Shadow would decide now."""
    name = decision.policy.name if decision.policy else decision.scheduler_name
    if decision.outcome is DecisionOutcome.BOUND:
        again = " (the same node)" if decision.node == node else ""
        fit = f"{decision.fitting_nodes} of {_nodes(decision.total_nodes)} fit"
        yield _heading(f"The shadow policy {name} would choose {decision.node}{again} now; {fit}")
    else:
        yield _heading(f"The shadow policy {name} would find no node now")
        yield _indented(decision.message)


def _verdict(verdict: NodeVerdict, explanation: Explanation) -> Iterator[RenderableType]:
    node = verdict.node
    if not verdict.exists:
        yield _heading(f"There is no node {node}.")
    elif verdict.rejections:
        first = verdict.rejections[0]
        yield _heading(f"Why not {node}, as of now: {first.plugin or 'PreFilter'} rejects it")
        yield _indented(verdict_table(verdict.rejections))
    elif verdict.score is not None and verdict.best is not None:
        behind = verdict.best.total - verdict.score.total
        words = f"fits, but scores {behind} less than {verdict.best.node}" if behind else "fits and has the best score"
        yield _heading(f"Why not {node}, as of now: it {words}")
        yield _indented(_comparison(verdict))
    else:
        yield _heading(f"Why not {node}, as of now: it fits, and no other node fits")
    if explanation.node == node:
        yield _indented(f"The pod is on {node} already.")


def _comparison(verdict: NodeVerdict) -> Table:
    assert verdict.score is not None
    assert verdict.best is not None
    return comparison_table([verdict.best, verdict.score])


def _short(record: DecisionRecord) -> str:
    return record.node if record.outcome is DecisionOutcome.BOUND else record.outcome.value


def _heading(text: str) -> Text:
    heading = clean(text)
    heading.stylize("bold")
    return heading


def _indented(part: Table | str) -> Padding:
    return Padding(clean(part) if isinstance(part, str) else part, (0, 0, 0, 2))


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count:,} nodes"


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}Z"


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return f"{max(seconds, 0):.0f} s ago"

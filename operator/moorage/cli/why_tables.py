"""The tables of an explanation. Each fits in 80 columns: long names are folded, and bars are short."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from moorage.engine.counterfactuals.counterfactual import Counterfactual
from moorage.engine.messages import ExtenderCall
from moorage.engine.records.decision_record import ConsideredNode, NodeCount, NodeScore, Scores
from moorage.engine.records.explanation import PluginRejection
from moorage.outside_text import one_line

BAR = 24
"""The number of characters of the longest bar."""
SHOWN_NODES = 3
"""The maximum number of nodes in the table of plugins."""
PARTS = " ▏▎▍▌▋▊▉"
SHOWN_VICTIMS = 3
MAX_CHARACTERS = 20_000


def clean(text: str) -> Text:
    """Return text without escape sequences and other control characters, which names and messages may contain."""
    return Text(one_line(text, MAX_CHARACTERS))


def score_table(scores: Scores) -> Table:
    """Return the totals of the best nodes with bars."""
    table = _table()
    table.add_column("node", overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, min_width=BAR)
    highest = max((row.total for row in scores.nodes), default=0)
    for row in scores.nodes:
        table.add_row(clean(row.node), str(row.total), _bar(row.total, highest))
    return table


def plugin_table(scores: Scores) -> Table:
    """Return the scores by plugin of the first node and of the next nodes with other totals."""
    by_total: dict[int, NodeScore] = {}
    for row in scores.nodes:
        by_total.setdefault(row.total, row)
    shown = [*by_total.values()] if len(by_total) > 1 else scores.nodes
    return comparison_table(shown[:SHOWN_NODES])


def without_points(nodes: Sequence[NodeScore]) -> list[str]:
    """Return the plugins that give no points to any of these nodes."""
    return [
        score.plugin
        for index, score in enumerate(nodes[0].plugins)
        if not any(row.plugins[index].weighted for row in nodes)
    ]


def change_table(changes: Sequence[Counterfactual]) -> Table:
    """Return the changes after which a pod would fit, and some of the nodes where it would fit."""
    table = _table()
    table.add_column("change", overflow="fold")
    table.add_column("then fits on", overflow="fold")
    for change in changes:
        more = change.node_count - len(change.node_names)
        nodes = ", ".join(change.node_names) + (f" and {more} more" if more else "")
        table.add_row(clean(change.text), clean(nodes))
    return table


def comparison_table(nodes: Sequence[NodeScore]) -> Table:
    """Return the weighted scores by plugin, one column for each node; the highest contribution comes first.

    Plugins without points for these nodes are left out. A raw score is shown if it differs from the normalized score.
    """
    table = _table()
    table.add_column("plugin", overflow="fold")
    table.add_column("weight", justify="right", no_wrap=True)
    for row in nodes:
        table.add_column(clean(row.node), justify="right", overflow="fold")
    left_out = without_points(nodes)
    plugins = sorted(range(len(nodes[0].plugins)), key=lambda index: -nodes[0].plugins[index].weighted)
    for index in plugins:
        first = nodes[0].plugins[index]
        if first.plugin in left_out:
            continue
        table.add_row(clean(first.plugin), str(first.weight), *[_cell(row, index) for row in nodes])
    if any(row.extenders for row in nodes):
        table.add_row("extenders", "", *[str(row.extenders) for row in nodes])
    table.add_row("sum", "", *[str(row.total) for row in nodes], style="bold")
    return table


def count_table(counts: Sequence[NodeCount], heading: str = "reason") -> Table:
    """Return the numbers of nodes by plugin and reason, the most frequent first."""
    table = _table()
    table.add_column("nodes", justify="right", no_wrap=True)
    has_plugins = any(count.plugin for count in counts)
    if has_plugins:
        table.add_column("plugin", overflow="fold")
    has_reasons = any(count.reason for count in counts)
    if has_reasons:
        table.add_column(heading, overflow="fold")
    table.add_column("such as", overflow="fold")
    for count in sorted(counts, key=lambda each: -each.nodes):
        plugin = [clean(count.plugin)] if has_plugins else []
        reason = [clean(count.reason)] if has_reasons else []
        table.add_row(str(count.nodes), *plugin, *reason, clean(", ".join(count.examples)))
    return table


def considered_table(considered: Sequence[ConsideredNode]) -> Table:
    """Return the nodes on which evictions would help, the best first."""
    table = _table()
    table.add_column("node", overflow="fold")
    table.add_column("victims", justify="right", no_wrap=True)
    table.add_column("highest priority", justify="right")
    table.add_column("budgets violated", justify="right")
    table.add_column("pods", overflow="fold")
    for node in considered:
        table.add_row(
            clean(node.node), str(node.victims), str(node.highest_priority), str(node.violations), clean(_victims(node))
        )
    return table


def extender_table(calls: Sequence[ExtenderCall]) -> Table:
    """Return the calls of extenders."""
    table = _table()
    table.add_column("extender", overflow="fold")
    table.add_column("verb", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    table.add_column("answer", overflow="fold")
    for call in calls:
        table.add_row(clean(call.extender), call.verb, f"{call.seconds * 1000:.0f}", clean(call.answer))
    return table


def verdict_table(rejections: Sequence[PluginRejection]) -> Table:
    """Return the rejections of one node."""
    table = _table()
    table.add_column("plugin", overflow="fold")
    table.add_column("reason", overflow="fold")
    table.add_column("evictions may help")
    for rejection in rejections:
        helps = "yes" if rejection.preemption_may_help else "no"
        table.add_row(clean(rejection.plugin or "PreFilter"), clean(", ".join(rejection.reasons)), helps)
    return table


def _table() -> Table:
    return Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))


def _cell(row: NodeScore, index: int) -> str:
    score = row.plugins[index]
    if score.raw == score.normalized:
        return str(score.weighted)
    return f"{score.weighted} (raw {score.raw})"


def _bar(value: int, highest: int) -> str:
    eighths = round(BAR * 8 * value / highest) if highest > 0 else 0
    full, rest = divmod(eighths, 8)
    return "█" * full + (PARTS[rest] if rest else "")


def _victims(node: ConsideredNode) -> str:
    names = [f"{pod.namespace}/{pod.name}" for pod in node.pods[:SHOWN_VICTIMS]]
    more = node.victims - len(names) - node.hidden_pods
    if more > 0:
        names.append(f"{more} more")
    if node.hidden_pods:
        pods = "1 pod" if node.hidden_pods == 1 else f"{node.hidden_pods} pods"
        names.append(f"{pods} in namespaces that you may not read")
    return ", ".join(names)

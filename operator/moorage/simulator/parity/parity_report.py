"""Renders the result of a parity run, as lines of text or as JSON."""

from typing import Any

from moorage.simulator.parity.parity_run import FIELDS, Mismatch, ParityReport

SHOWN_DIFFERENCES = 12
"""The maximum number of printed differences of one case. One wrong number can cause a hundred differences."""


def report_lines(report: ParityReport, shown_cases: int = 20) -> list[str]:
    """Render the mismatches, the table by group and field, and a last line with the total."""
    lines = [line for mismatch in report.mismatches[:shown_cases] for line in mismatch_lines(mismatch)]
    hidden = len(report.mismatches) - shown_cases
    if hidden > 0:
        lines += [f"... and {hidden} more cases that differ", ""]
    return [*lines, *table_lines(report), f"{report.agreeing} of {report.total} cases agree"]


def mismatch_lines(mismatch: Mismatch) -> list[str]:
    """Render the differences of one case."""
    shown = mismatch.differences[:SHOWN_DIFFERENCES]
    hidden = len(mismatch.differences) - len(shown)
    more = [f"  ... and {hidden} more places"] if hidden else []
    return [mismatch.case.id, *(f"  {difference}" for difference in shown), *more, ""]


def table_lines(report: ParityReport) -> list[str]:
    """Render a line for each group: its cases, its agreeing cases, and the differing fields."""
    width = max((len(group) for group in report.cases), default=0)
    lines = [f"{'group':<{width}}  cases  agree  differing fields"]
    for group, cases in sorted(report.cases.items()):
        differing = sum(mismatch.case.group == group for mismatch in report.mismatches)
        deviating = sum(case_id.partition("/")[0] == group for case_id in report.deviations)
        fields = ", ".join(f"{name} {report.fields[group, name]}" for name in FIELDS if report.fields[group, name])
        note = f" ({deviating} on purpose)" if deviating else ""
        lines.append(f"{group:<{width}}  {cases:>5}  {cases - differing - deviating:>5}  {fields}{note}".rstrip())
    return lines


def report_json(report: ParityReport) -> dict[str, Any]:
    """Render the whole report as JSON data."""
    return {
        "total": report.total,
        "agreeing": report.agreeing,
        "groups": {
            group: {
                "cases": cases,
                "differing": {name: report.fields[group, name] for name in FIELDS if report.fields[group, name]},
            }
            for group, cases in sorted(report.cases.items())
        },
        "deviations": list(report.deviations),
        "mismatches": [
            {
                "id": mismatch.case.id,
                "differences": [
                    {"path": each.path, "expected": each.expected, "actual": each.actual}
                    for each in mismatch.differences
                ],
            }
            for mismatch in report.mismatches
        ],
    }

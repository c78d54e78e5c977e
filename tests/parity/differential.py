"""Compares moorage's decisions about generated cases with the oracle's. The oracle runs kube-scheduler's code.

    PYTHONPATH=tests python tests/parity/differential.py --seed 7 --count 1000

generates cases and prints the differences. With `--keep FILE` it shrinks each differing case and adds it to the file.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from controlplane.build import Binaries
from moorage.simulator.parity.parity_report import report_lines
from moorage.simulator.parity.parity_run import ParityReport, run_parity
from parity.case_mutations import Case
from parity.generate_cases import generate
from parity.shrink import shrink

Decided = dict[str, Any]
"""A line of a vector file: `case` and `expect`."""


def ask_oracle(cases: Iterable[Case]) -> list[Decided]:
    """Return kube-scheduler's decisions. The oracle drops cases that the API server would refuse."""
    text = "".join(f"{json.dumps(case)}\n" for case in cases)
    command = [str(Binaries().path("oracle")), "-validate"]
    answer = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise RuntimeError(f"the oracle failed: {answer.stderr}")
    return [json.loads(line) for line in answer.stdout.splitlines()]


def compare_with_moorage(decided: Iterable[Decided]) -> ParityReport:
    """Decide the same cases with moorage, and return the report of the comparison."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in decided), encoding="utf-8")
        return run_parity([path])


def differing_fields(cases: Iterable[Case]) -> dict[str, frozenset[str]]:
    """Return the ids of the cases with different decisions, each with the differing fields."""
    report = compare_with_moorage(ask_oracle(cases))
    return {
        mismatch.case.id: frozenset(difference.path.partition(".")[0] for difference in mismatch.differences)
        for mismatch in report.mismatches
    }


def main() -> int:
    """Run the comparison; return 1 if decisions differ, else 0."""
    parser = argparse.ArgumentParser(description="Decide generated cases with kube-scheduler's code and with moorage.")
    parser.add_argument("--seed", type=int, default=1, help="generate the cases from this seed")
    parser.add_argument("--count", type=int, default=1000, help="generate this number of cases")
    parser.add_argument("--groups", default="", help="start from vectors whose group matches this pattern")
    parser.add_argument("--keep", type=Path, help="shrink differing cases and add them to this .jsonl file")
    arguments = parser.parse_args()
    report = compare_with_moorage(ask_oracle(generate(arguments.seed, arguments.count, arguments.groups)))
    sys.stdout.write("".join(f"{line}\n" for line in report_lines(report)))
    if arguments.keep is not None:
        small = [shrink(dict(mismatch.case.given), differing_fields) for mismatch in report.mismatches]
        with arguments.keep.open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in ask_oracle(small))
    return 1 if report.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())

"""Snapshots: the node of each pod of a test, in a file beside the tests. `moorage test --update` writes the file."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from moorage.errors import Fault
from moorage.policy_tests.engine_run import PodResult
from moorage.policy_tests.expectation_checks import CheckFailure
from moorage.policy_tests.policy_test_reader import in_file, read_located, read_text

HEAD = "# Written by `moorage test --update`. Review each change.\n"
Placements = dict[str, str]
"""For each pod, its node or `pending: REASON`."""


def snapshot_path(tests: Path) -> Path:
    """Return the path of the snapshots of a test file: `a.snapshot.yaml` for `a.test.yaml`."""
    return tests.with_name(f"{tests.name.removesuffix(tests.suffix).removesuffix('.test')}.snapshot.yaml")


def read_snapshots(tests: Path) -> dict[str, Placements]:
    """Return the placements by test. Empty if there is no file. Raise InvalidInput if the file is not valid."""
    path = snapshot_path(tests)
    if not path.exists() or not read_text(path).strip():
        return {}
    found: dict[str, Any] = {}
    for document in read_located(path):
        found |= document.content if isinstance(document.content, dict) else {}
    for name, placements in found.items():
        if not isinstance(placements, dict) or not all(isinstance(node, str) for node in placements.values()):
            raise in_file(
                path, [Fault((name,), None, "must be a mapping from pods to nodes; run moorage test --update")]
            )
    return found


def placements_of(pods: Iterable[PodResult]) -> Placements:
    """Return the placements of the pods that arrived."""
    return {pod.key: pod.node or f"pending: {pod.message}" for pod in pods if pod.arrives}


def difference(expected: Mapping[str, str] | None, found: Mapping[str, str]) -> CheckFailure | None:
    """Return how the placements differ from the snapshot; None if they are equal."""
    if expected is None:
        return CheckFailure("there is no snapshot of this test; write it with: moorage test --update")
    if dict(expected) == dict(found):
        return None
    lines = difflib.unified_diff(_lines(expected), _lines(found), "snapshot", "now", lineterm="", n=0)
    details = tuple(line for line in lines if not line.startswith(("---", "+++", "@@")))
    return CheckFailure("the placements differ from the snapshot; accept them with: moorage test --update", details)


def write_snapshots(tests: Path, snapshots: Mapping[str, Placements]) -> None:
    """Replace the snapshots of a test file. If there are no snapshots, remove the file."""
    path = snapshot_path(tests)
    if not snapshots:
        path.unlink(missing_ok=True)
        return
    text = HEAD + yaml.safe_dump(dict(snapshots), sort_keys=False, width=1000)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _lines(placements: Mapping[str, str]) -> list[str]:
    return [f"{pod}: {node}" for pod, node in placements.items()]

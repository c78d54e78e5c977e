"""Checks files of policies for the command `moorage lint`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from moorage.app import PIPE_SECONDS, discover_plugins
from moorage.compilation.node_facts import NodeFacts
from moorage.controller.policy_permissions import PolicyPermissions
from moorage.engine.scheduler import Scheduler
from moorage.inventory import Inventory, cluster_events
from moorage.limited_file import read_limited
from moorage.linting import Linter, LintReport
from moorage.linting.linter import MAX_FILE_BYTES
from moorage.linting.policy_checks import PolicyChecks
from moorage.model.decode import Decoder
from moorage.settings import Settings

SUFFIXES = frozenset({".yaml", ".yml", ".json"})


def lint_files(
    files: Iterable[Path], settings: Settings, inventory: Inventory | None, *, each_alone: bool = False
) -> LintReport:
    """Check files as an operator with these settings does. `inventory` contains the cluster's nodes and policies.

    If `each_alone` is True, files are not compared with each other.
    """
    checks = PolicyChecks(
        registry=discover_plugins(),
        permissions=PolicyPermissions.of(settings),
        nodes=_node_facts(inventory) if inventory else None,
    )
    policies = inventory.policies if inventory else ()
    linter = Linter(checks, lambda file: read_limited(file, MAX_FILE_BYTES, PIPE_SECONDS), policies, each_alone)
    return linter.lint(file for path in files for file in _files_in(path))


def _files_in(path: Path) -> Iterator[Path]:
    """Yield a file, or the YAML and JSON files below a directory."""
    if not path.is_dir():
        yield path
        return
    for file in sorted(path.rglob("*")):
        if file.suffix in SUFFIXES and file.is_file():
            yield file


def _node_facts(inventory: Inventory) -> NodeFacts:
    scheduler = Scheduler(0)
    for event in cluster_events(Inventory(objects={"Node": inventory.objects.get("Node", ())}), Decoder()):
        scheduler.apply(event, 0.0)
    return NodeFacts(scheduler.snapshot)

"""The environment of the process: the API server, extenders, time, randomness, metrics and leadership."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from moorage.runtime.client.kube import KubeClient
from moorage.runtime.client.missing_rights import MissingRights
from moorage.runtime.clock import Clock
from moorage.runtime.extenders.extender_context import ExtenderContext
from moorage.runtime.metrics.process_metrics import ProcessMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The parts that connect the process with the outside; tests replace them."""

    client: KubeClient
    extender_context: ExtenderContext
    clock: Clock
    random: Random
    metrics: ProcessMetrics
    may_write: Callable[[], bool]
    """Whether this replica leads."""
    rights: MissingRights = field(default_factory=MissingRights)
    api_server_fault: Callable[[], str] = str
    """Returns the reason why the API server cannot be used; empty if it can be used."""
